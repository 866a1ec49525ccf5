import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProcessStartError, startProcess } from "../../../storage/start-process.ts";
import { skipUnless } from "../../support/skip.ts";

const script = join(import.meta.dirname, "../../support/storage/start-without-files.ts");
let folder: string;
let child: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-start-process-"));
  child = join(folder, "child.js");
  await writeFile(child, 'process.once("message", () => process.disconnect());');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

skipUnless(process.platform !== "win32", "ulimit does not exist")(
  "a process without free file descriptors refuses to start programs, scripts, git and jobs, and lives on",
  async () => {
    const command = ["-c", 'ulimit -n 64 && exec "$0" "$1" "$2"', process.execPath, script, child];
    const { stdout } = await promisify(execFile)("sh", command);
    expect(JSON.parse(stdout)).toEqual({
      without: ["EMFILE", "EMFILE", "busy", ["not_started", "not_started"]],
      absent: "ENOENT",
      with: [0, 0, "done", ["done", "done"]],
    });
  },
);

skipUnless(process.platform === "linux", "prlimit exists on Linux only")(
  "a process that may start neither processes nor threads reports it, and lives on",
  async () => {
    const path = join(import.meta.dirname, "../../support/storage/start-without-processes.ts");
    const { stdout } = await promisify(execFile)("prlimit", ["--nproc=1", process.execPath, path]);
    expect(JSON.parse(stdout)).toEqual(["EAGAIN", "busy", "not_started", "not_started"]);
  },
);

describe("a started process", () => {
  const quiet = ["ignore", "ignore", "ignore"] as const;

  test("throws one kind of error when the system call itself throws", () => {
    const long = "x".repeat(4 * 1024 * 1024);
    expect(() => startProcess("git", [long], { stdio: quiet })).toThrow(ProcessStartError);
    expect(() => startProcess("git", [long], { stdio: quiet })).toThrow("git failed to start");
  });

  test("survives a write to a program that has closed its input", async () => {
    await using started = startProcess(process.execPath, ["-e", ""], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    started.child.stdin.write(Buffer.alloc(1024 * 1024));
    expect(await started.ended).toEqual({ exitCode: 0, signal: undefined, error: undefined });
  });

  test("reports an aborted program once it has ended", async () => {
    const stop = new AbortController();
    await using started = startProcess(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: quiet,
      signal: stop.signal,
    });
    stop.abort();
    expect(await started.ended).toMatchObject({ signal: "SIGTERM", error: { name: "AbortError" } });
  });

  test("ends with the block that owns it", async () => {
    const pid = await startAndLeave();
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  async function startAndLeave(): Promise<number> {
    await using started = startProcess(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: quiet,
    });
    return started.child.pid ?? 0;
  }
});
