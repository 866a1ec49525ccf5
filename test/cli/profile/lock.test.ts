import { mkdir, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withFileLock } from "../../../cli/profile/lock.ts";
import { temporaryHome } from "../support/run-cli.ts";

const system = {
  pid: process.pid,
  clock: () => Date.now(),
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.min(ms, 2))),
  isProcessAlive: (pid: number) => pid === process.pid,
};

const deadPid = 999_999_999;

describe("a lock between processes", () => {
  test("admits one process at a time, and all of them in the end", async () => {
    await using home = await temporaryHome();
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 2));
      inside -= 1;
    };
    const path = join(home.path, "deep", "x.lock");
    await Promise.all(Array.from({ length: 30 }, () => withFileLock(path, system, work)));
    expect(most).toBe(1);
    expect(await readdir(join(home.path, "deep"))).toEqual([]);
  });

  test("a process that was suspended does not release the lock of the one that took it over", async () => {
    await using home = await temporaryHome();
    const path = join(home.path, "x.lock");
    await withFileLock(path, system, async () => {
      // Without keep-alive for so long, another process takes the lock over.
      await rm(path);
      await writeFile(path, JSON.stringify({ pid: process.pid, host: hostname() }));
    });
    expect(await readdir(home.path)).toEqual(["x.lock"]);
  });

  test("a lock between processes is released when the work fails", async () => {
    await using home = await temporaryHome();
    const path = join(home.path, "x.lock");
    const failing = withFileLock(path, system, () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    expect(await withFileLock(path, system, async () => "next")).toBe("next");
  });

  test("a lock between processes of a process that died is taken over at once, by one of many", async () => {
    await using home = await temporaryHome();
    const path = join(home.path, "x.lock");
    for (let round = 0; round < 5; round++) {
      await writeFile(path, JSON.stringify({ pid: deadPid, host: hostname() }));
      let inside = 0;
      let most = 0;
      const work = async () => {
        inside += 1;
        most = Math.max(most, inside);
        await new Promise((resolve) => setTimeout(resolve, 1));
        inside -= 1;
      };
      await Promise.all(Array.from({ length: 10 }, () => withFileLock(path, system, work)));
      expect(most).toBe(1);
    }
  });

  test("a lock between processes of a process that died while it swept is taken over too", async () => {
    await using home = await temporaryHome();
    const path = join(home.path, "x.lock");
    const dead = JSON.stringify({ pid: deadPid, host: hostname() });
    await writeFile(path, dead);
    await writeFile(`${path}.broom`, dead);
    expect(await withFileLock(path, system, async () => "in")).toBe("in");
  });

  test("a lock between processes whose process id was given to another one is taken over after its silence", async () => {
    await using home = await temporaryHome();
    const path = join(home.path, "x.lock");
    await writeFile(path, JSON.stringify({ pid: process.pid, host: hostname() }));
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(path, longAgo, longAgo);
    expect(await withFileLock(path, system, async () => "in")).toBe("in");
  });

  test("a lock between processes of a living process is waited for, and named when it takes too long", async () => {
    await using home = await temporaryHome();
    const path = join(home.path, "x.lock");
    await writeFile(path, JSON.stringify({ pid: process.pid, host: hostname() }));
    let now = Date.now();
    const impatient = { ...system, clock: () => (now += 1_000) };
    await expect(withFileLock(path, impatient, async () => "in")).rejects.toMatchObject({
      code: "conflict",
      details: { hint: `if no other croft is running, remove ${path}` },
    });
    expect((await stat(path)).isFile()).toBe(true);
  });

  test("a lock between processes that holds rubbish is taken over", async () => {
    await using home = await temporaryHome();
    const path = join(home.path, "x.lock");
    await mkdir(home.path, { recursive: true });
    await writeFile(path, "{");
    expect(await withFileLock(path, system, async () => "in")).toBe("in");
  });
});
