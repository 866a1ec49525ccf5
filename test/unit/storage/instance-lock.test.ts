import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  acquireInstanceLock,
  findInstanceHolder,
  type InstanceLock,
} from "../../../storage/instance-lock.ts";

const source = fileURLToPath(new URL("../../../storage/instance-lock.ts", import.meta.url));
let root: string;
let children: ChildProcess[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "croft-lock-"));
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map(kill));
  await rm(root, { recursive: true });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}

/** A process of its own that takes the lock, prints the outcome's kind, and stays. */
async function startHolder(beforeSaying = ""): Promise<{ child: ChildProcess; said: string }> {
  const script = `
    import { acquireInstanceLock } from ${JSON.stringify(source)};
    const kind = await take();
    ${beforeSaying}
    process.stdout.write(kind);
    if (kind === "acquired") setInterval(() => {});

    async function take() {
      const outcome = await acquireInstanceLock(${JSON.stringify(root)}, { pid: process.pid, startedAt: 5 });
      if (outcome.kind === "acquired") await outcome.lock.announce(["http://127.0.0.1:1"]);
      return outcome.kind;
    }
  `;
  const args = ["--expose-gc", "--input-type=module-typescript", "--eval", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const complaint = text(child.stderr);
  const said = await Promise.race([
    once(child.stdout, "data").then(([chunk]) => String(chunk)),
    once(child, "close").then(async ([code, signal]) => {
      throw new Error(`the holder ended early (${code ?? signal}): ${await complaint}`);
    }),
  ]);
  return { child, said };
}

async function take(): Promise<InstanceLock> {
  const outcome = await acquireInstanceLock(root, { pid: process.pid, startedAt: 9 });
  expect(outcome.kind).toBe("acquired");
  return (outcome as { lock: InstanceLock }).lock;
}

describe("the instance lock", () => {
  test("refuses a second process and names the first with its addresses", async () => {
    const { child, said } = await startHolder();
    expect(said).toBe("acquired");
    expect(await acquireInstanceLock(root, { pid: process.pid, startedAt: 9 })).toEqual({
      kind: "taken",
      holder: { pid: child.pid, startedAt: 5, urls: ["http://127.0.0.1:1"] },
    });
  });

  test("stays held when the holder forgets it", async () => {
    const { child } = await startHolder(`
      for (let round = 0; round < 5; round++) {
        await new Promise((resolve) => setImmediate(resolve));
        gc();
      }
    `);
    expect(await acquireInstanceLock(root, { pid: process.pid, startedAt: 9 })).toMatchObject({
      kind: "taken",
      holder: { pid: child.pid },
    });
  });

  test("exactly one of several calls in one process acquires the instance lock", async () => {
    const self = { pid: process.pid, startedAt: 9 };
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => acquireInstanceLock(root, self)));
    const [lock, ...more] = outcomes.flatMap((each) => ("lock" in each ? [each.lock] : []));
    expect(more).toEqual([]);
    expect((await startHolder()).said).toBe("taken");
    await lock?.release();
  });

  test("the instance lock is free at once after SIGKILL, even if the notice remains", async () => {
    const { child } = await startHolder();
    await kill(child);
    expect(await findInstanceHolder(root)).toMatchObject({ pid: child.pid });
    const lock = await take();
    expect(await findInstanceHolder(root)).toEqual({ pid: process.pid, startedAt: 9, urls: [] });
    await lock.release();
  });

  test("the instance lock is not mistaken when the dead holder's process id lives on in another process", async () => {
    const notice = { pid: process.pid, started_at: 1, urls: ["http://127.0.0.1:1"] };
    await writeFile(join(root, "daemon.json"), JSON.stringify(notice));
    const lock = await take();
    await lock.release();
  });

  test("exactly one of several processes that start together acquires the instance lock", async () => {
    const holders = await Promise.all([startHolder(), startHolder(), startHolder()]);
    const said = holders.map((holder) => holder.said).toSorted();
    expect(said).toEqual(["acquired", "taken", "taken"]);
  });

  test("stays held while the addresses are published and probed again and again", async () => {
    const lock = await take();
    for (let round = 0; round < 20; round++) {
      await lock.announce([`http://127.0.0.1:${round}`]);
      expect(await acquireInstanceLock(root, { pid: 1, startedAt: 1 })).toMatchObject({
        kind: "taken",
      });
    }
    const { said } = await startHolder();
    expect(said).toBe("taken");
    await lock.release();
  });

  test("leaves no notice when it is released, and can be released twice", async () => {
    const lock = await take();
    await lock.release();
    await lock.release();
    expect(await findInstanceHolder(root)).toBeUndefined();
    expect((await stat(join(root, "croft.lock"))).mode & 0o777).toBe(0o600);
    await (await take()).release();
  });

  test("the lock is released although its notice cannot be deleted", async () => {
    const lock = await take();
    await rm(join(root, "daemon.json"));
    await mkdir(join(root, "daemon.json"));
    await expect(lock.release()).rejects.toThrow();
    await rm(join(root, "daemon.json"), { recursive: true });
    await (await take()).release();
  });

  test("refuses a damaged lock file with the remedy", async () => {
    await writeFile(join(root, "croft.lock"), "x".repeat(4096));
    await expect(acquireInstanceLock(root, { pid: 1, startedAt: 1 })).rejects.toMatchObject({
      code: "corrupt",
      message: expect.stringContaining("remove it when no daemon is running") as string,
    });
  });

  test("a notice that is no JSON is not a holder", async () => {
    await writeFile(join(root, "daemon.json"), "{");
    expect(await findInstanceHolder(root)).toBeUndefined();
  });
});
