import { cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDaemon } from "../../../../daemon/main.ts";
import { testInput } from "../../../support/daemon.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const passphrase = "long passphrase of the backup";
const longName = `${"a".repeat(120)}.bin`;

let source: Awaited<ReturnType<typeof temporaryHome>>;
let archive: string;

const line = (home: string, words: readonly string[], stdin?: string) =>
  runCli(["daemon", ...words, "--json"], {
    home,
    env: { CROFT_KEY_SOURCE: "file" },
    ...(stdin === undefined ? {} : { stdin }),
  });

// One home, backed up while its daemon serves it.
beforeAll(async () => {
  source = await temporaryHome();
  const repository = join(source.path, "repositories", "mira", "notes.git");
  const running = await startDaemon(testInput(source.path, {}, []));
  try {
    await mkdir(join(repository, "refs", "heads"), { recursive: true });
    await writeFile(join(repository, "HEAD"), "ref: refs/heads/main\n");
    await writeFile(join(source.path, "packages", longName), Buffer.alloc(3_000_000, 7));
    await writeFile(join(source.path, "cache", "cached"), "not backed up");
    await writeFile(join(source.path, "config.yaml"), "log_level: warn\n");
    archive = join(source.path, "home.tar");
    const words = ["backup", archive, "--with-keys", "--passphrase-stdin"];
    const ran = await line(source.path, words, passphrase);
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    expect(ran.json()).toMatchObject({ backed_up: true, keys: true, file: archive });
  } finally {
    await running.stop();
  }
}, 120_000);
afterAll(() => source[Symbol.asyncDispose]());

const restore = (home: string, file: string, words: readonly string[] = [], stdin?: string) =>
  line(home, ["restore", file, "--yes", ...words], stdin);

/** A home with something to lose. */
async function otherHome() {
  const home = await temporaryHome();
  await (await startDaemon(testInput(home.path, {}, []))).stop();
  await writeFile(join(home.path, "packages", "mine"), "mine");
  return home;
}

async function contentOf(home: string): Promise<unknown> {
  return {
    database: (await readFile(join(home, "croft.db"))).toString("base64"),
    names: (await readdir(home)).toSorted(),
    mine: await readFile(join(home, "packages", "mine"), "utf8"),
  };
}

describe("daemon backup", () => {
  test("refuses to overwrite a file and to back up what is not a home", async () => {
    expect((await line(source.path, ["backup", archive])).error()).toMatchObject({
      code: "conflict",
    });
    await using empty = await temporaryHome();
    const file = join(empty.path, "a.tar");
    expect((await line(empty.path, ["backup", file])).error()).toMatchObject({ code: "not_found" });
    expect(await readdir(empty.path)).toEqual([]);
  });

  test("leaves nothing temporary behind, and the archive is private", async () => {
    expect(await readdir(join(source.path, "tmp"))).toEqual([]);
    expect((await stat(archive)).mode & 0o777).toBe(0o600);
  });

  test("writes the archive of a stopped home to standard output, without keys", async () => {
    const ran = await runCli(["daemon", "backup", "-"], { home: source.path });
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("MANIFEST.sha256");
    expect(ran.out).not.toContain("keys.sealed");
    expect(ran.err).toContain("Backed up");
  });
});

describe("daemon restore of a backup", () => {
  test("restores a home that starts, with its keys, and keeps the old one", async () => {
    await using home = await otherHome();
    const words = ["--with-keys", "--passphrase-stdin"];
    const ran = await restore(home.path, archive, words, passphrase);
    expect(ran.json()).toMatchObject({ restored: true, keys: "restored", data: home.path });
    const { kept } = ran.json() as { kept: string };
    expect(await readFile(join(kept, "packages", "mine"), "utf8")).toBe("mine");
    expect(await readFile(join(home.path, "packages", longName))).toEqual(
      Buffer.alloc(3_000_000, 7),
    );
    const notes = join(home.path, "repositories", "mira", "notes.git");
    expect(await readFile(join(notes, "HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
    expect(await readdir(join(notes, "refs"))).toEqual(["heads"]);
    expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe("log_level: warn\n");
    expect(await readdir(join(home.path, "cache"))).not.toContain("cached");
    const running = await startDaemon(testInput(home.path, {}, []));
    expect(running.firstStart).toBeUndefined();
    await running.stop();
  });

  test("keeps nothing of a home that was empty", async () => {
    await using home = await temporaryHome();
    const ran = await restore(home.path, archive);
    expect(ran.json()).toMatchObject({ restored: true, kept: null });
    expect((await readdir(home.path)).filter((name) => name.startsWith("replaced-"))).toEqual([]);
  });

  test("refuses a wrong passphrase, and replaces nothing", async () => {
    await using home = await otherHome();
    const before = await contentOf(home.path);
    const words = ["--with-keys", "--passphrase-stdin"];
    const ran = await restore(home.path, archive, words, "another passphrase");
    expect(ran.error()).toMatchObject({ exit_code: 17 });
    expect(ran.error()["message"]).toMatch(/do not open with this passphrase/);
    expect(await contentOf(home.path)).toEqual(before);
  });

  test.each([0.02, 0.3, 0.6, 0.9])("refuses a byte flipped at %f of it", async (part) => {
    await using home = await otherHome();
    const before = await contentOf(home.path);
    const bytes = await readFile(archive);
    const at = Math.floor(bytes.byteLength * part);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    const damaged = join(source.path, `damaged-${part}.tar`);
    await writeFile(damaged, bytes);
    const ran = await restore(home.path, damaged);
    expect(ran.error()).toMatchObject({ code: "storage_unusable", exit_code: 17 });
    expect(await contentOf(home.path)).toEqual(before);
  });

  test.each([0, 512, 100_000, 3_000_000])("refuses an archive cut at byte %d", async (length) => {
    await using home = await otherHome();
    const before = await contentOf(home.path);
    const cut = join(source.path, `cut-${length}.tar`);
    await cp(archive, cut);
    await truncate(cut, length);
    expect((await restore(home.path, cut)).error()).toMatchObject({ code: "storage_unusable" });
    expect(await contentOf(home.path)).toEqual(before);
  });

  test("refuses while a daemon serves the home", async () => {
    await using home = await temporaryHome();
    const running = await startDaemon(testInput(home.path, {}, []));
    try {
      expect((await restore(home.path, archive)).error()).toMatchObject({
        code: "already_running",
      });
    } finally {
      await running.stop();
    }
  });

  test("finishes a restore that was interrupted while the home had no database", async () => {
    await using home = await otherHome();
    await rm(join(home.path, "croft.db"));
    await expect(startDaemon(testInput(home.path, {}, []))).rejects.toThrow(/no database/);
    expect((await restore(home.path, archive)).json()).toMatchObject({ keys: "kept" });
  });
});
