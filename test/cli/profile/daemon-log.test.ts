import { mkdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { daemonLogPath, olderLogPath, openDaemonLog } from "../../../cli/profile/daemon-log.ts";
import { skipUnless } from "../../support/skip.ts";
import { temporaryHome } from "../support/run-cli.ts";

const AT = Date.parse("2026-11-20T09:30:00Z");
const ROTATED_BYTES = 16 * 1024 * 1024;

/** A log in a folder of its own. `write` resolves when the line has been written or lost. */
async function openLog(prepare: (path: string) => Promise<void> = async () => undefined) {
  const home = await temporaryHome();
  onTestFinished(() => home[Symbol.asyncDispose]());
  const folder = join(home.path, "state");
  const path = daemonLogPath(folder);
  await mkdir(folder, { recursive: true });
  await prepare(path);
  const errors: string[] = [];
  const stderr = { write: (text: string) => errors.push(text) > 0, isTTY: false };
  const log = await openDaemonLog(folder, stderr as never, () => AT);
  onTestFinished(() => log.close());
  const write = async (line: string) => {
    log.records.write(`${line}\n`);
    await log.close();
  };
  return { path, folder, errors, write };
}

const read = (path: string) => readFile(path, "utf8");

test("a removed, renamed or emptied log is written again with the next line", async () => {
  const { path, folder, errors, write } = await openLog();
  await write("one");
  expect(await read(path)).toBe("one\n");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await rm(path);
  await write("two");
  expect(await read(path)).toBe("two\n");
  await rename(path, `${path}.moved`);
  await write("three");
  expect(await read(path)).toBe("three\n");
  await rm(folder, { recursive: true });
  await write("four");
  expect(await read(path)).toBe("four\n");
  expect(errors).toEqual([]);
});

test("a log that stays open is created again when another program removes it", async () => {
  const { path, folder } = await openLog();
  const log = await openDaemonLog(folder, { write: () => true } as never, () => AT);
  onTestFinished(() => log.close());
  log.records.write("one\n");
  await expect.poll(() => read(path)).toBe("one\n");
  await rm(path);
  log.records.write("two\n");
  await expect.poll(() => read(path).catch(() => "")).toBe("two\n");
});

test("a large log is rotated, and a rotation that fails ends nothing", async () => {
  const { path, errors, write } = await openLog(async (path) => {
    await writeFile(path, "old\n");
    await truncate(path, ROTATED_BYTES + 1);
  });
  await write("one");
  expect(await read(path)).toBe("one\n");
  expect((await stat(olderLogPath(path))).size).toBe(ROTATED_BYTES + 1);
  await rm(olderLogPath(path));
  await mkdir(olderLogPath(path));
  await truncate(path, ROTATED_BYTES + 1);
  await write("two");
  await write("three");
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain(`The log cannot be written to ${path}: `);
  await rm(olderLogPath(path), { recursive: true });
  await write("four");
  expect(await read(path)).toBe(
    `\n{"level":"warn","time":"2026-11-20T09:30:00.000Z","lines":2,"message":"log lines were lost"}\nfour\n`,
  );
});

skipUnless(process.platform === "linux", "/dev/full exists on Linux only")(
  "a full disk is reported once, and the next line that fits tells how many were lost",
  async () => {
    const { path, errors, write } = await openLog((path) => symlink("/dev/full", path));
    await write("one");
    await write("two");
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain("ENOSPC");
    await rm(path);
    await write("three");
    expect((await read(path)).split("\n").slice(1)).toEqual([
      expect.stringContaining('"lines":2,"message":"log lines were lost"'),
      "three",
      "",
    ]);
    await write("four");
    expect(await read(path)).toMatch(/three\nfour\n$/);
  },
);
