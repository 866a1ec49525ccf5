import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { createGit, type Git, GitError } from "../../../../storage/git/git.ts";
import { createGitLauncher, type LauncherRequest } from "../../../../storage/git/git-launcher.ts";
import { startScript } from "../../../../storage/start-process.ts";
import { readRecords } from "../../../../storage/git/records.ts";

const searchPath = process.env["PATH"] ?? "";
/** Git runs commands of the shell only with a home. */
const options = { directory: tmpdir(), env: { HOME: tmpdir() } };
const { directory } = options;
const here = createGit({ searchPath });

/** A program of the shell as a command of git: `git -c alias.x=!… x`. */
const program = (text: string) => ["-c", `alias.program=!${text}`, "program"];

function openLauncher() {
  const onLost = vi.fn<(reason: unknown) => void>();
  const launcher = createGitLauncher({ program: [process.execPath], searchPath, onLost });
  const git = createGit({ searchPath, launcher });
  return { launcher, git, onLost, [Symbol.asyncDispose]: () => launcher.close() };
}

/** The parent of a git: this process, or the one that starts git for it. */
async function parentOf(git: Git): Promise<number> {
  return Number(await git.run(program("ps -o ppid= -p $PPID"), options));
}

/** Runs git until the process runs it. Returns the process. */
async function untilLaunched(git: Git): Promise<number> {
  let parent = process.pid;
  await expect
    .poll(async () => (parent = await parentOf(git)), { interval: 1 })
    .not.toBe(process.pid);
  return parent;
}

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "croft-launcher-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const outcome = (run: Promise<Buffer>) =>
  run.then(
    (output) => output.toString(),
    (error: unknown) => (error instanceof GitError ? [error.code, error.message] : error),
  );

test("a few runs are those of the daemon itself, many those of a process, with the same results", async () => {
  await using opened = openLauncher();
  const { git } = opened;
  expect(await parentOf(git)).toBe(process.pid);
  await untilLaunched(git);
  const reason = new Error("the client left");
  const runs: ((each: Git) => Promise<Buffer>)[] = [
    (each) =>
      each.run(program("env | sort"), {
        ...options,
        env: { ...options.env, A: "1" },
        config: { "x.y": "z" },
      }),
    (each) => each.run(["hash-object", "--stdin"], { directory, input: "a\0b" }),
    (each) => each.run(["hash-object", "--stdin"], { directory, input: Buffer.from([1, 0, 255]) }),
    (each) => each.run(program("exit 7"), options),
    (each) => each.run(program("exit 7"), { ...options, accept: [7] }),
    (each) => each.run(program("echo broken >&2; exit 3"), options),
    (each) => each.run(program("echo long"), { ...options, outputBytesMax: 2 }),
    (each) => each.run(program("exec sleep 60 >&- 2>&-"), { ...options, timeoutMs: 1 }),
    (each) => each.run(["version"], { directory: join(directory, "croft-no-such-folder") }),
    (each) =>
      each.run(program("exec sleep 60 >&- 2>&-"), {
        ...options,
        signal: AbortSignal.abort(reason),
      }),
    (each) => {
      const stop = new AbortController();
      const run = each.run(program("exec sleep 60 >&- 2>&-"), { ...options, signal: stop.signal });
      stop.abort(reason);
      return run;
    },
  ];
  for (const run of runs) expect(await outcome(run(git))).toEqual(await outcome(run(here)));
  expect(opened.onLost).not.toHaveBeenCalled();
});

test("what may be too large for the process is run by the daemon", async () => {
  await using opened = openLauncher();
  await untilLaunched(opened.git);
  const large = { ...options, outputBytesMax: 65 * 1024 * 1024 };
  const output = await opened.git.run(program("ps -o ppid= -p $PPID"), large);
  expect(Number(output)).toBe(process.pid);
});

test("a list of any length is read as it is written, whoever is slow", async () => {
  await using opened = openLauncher();
  await untilLaunched(opened.git);
  const count = 300_000;
  const numbers = program(`seq ${count} | tr '\\n' '\\0'`);
  let last = 0;
  for await (const record of readRecords(opened.git, numbers, options)) {
    expect(Number(record)).toBe(++last);
    if (last % 50_000 === 0) await setTimeout(20);
  }
  expect(last).toBe(count);
});

test("a reader that leaves early ends the git that the process runs", async () => {
  await using opened = openLauncher();
  await untilLaunched(opened.git);
  const endless = program(`while echo $$; do :; done | tr '\\n' '\\0'`);
  let pid = 0;
  for await (const record of readRecords(opened.git, endless, options)) {
    pid = Number(record);
    break;
  }
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("what is written piece by piece is answered piece by piece", async () => {
  await using opened = openLauncher();
  await untilLaunched(opened.git);
  const child = opened.git.launch(program("cat"), options);
  const chunks = child.stdout[Symbol.asyncIterator]();
  for (const word of ["one", "two"]) {
    child.stdin.write(word);
    expect(String((await chunks.next()).value)).toBe(word);
  }
  child.stdin.end();
  expect((await chunks.next()).done).toBe(true);
  expect(await child.ended).toEqual({ exitCode: 0, stderr: "" });
});

test("a process that is killed fails the list that is read from it", async () => {
  await using opened = openLauncher();
  const child = await untilLaunched(opened.git);
  const slow = program(`printf '1\\0'; exec sleep 60`);
  const read = async () => {
    for await (const record of readRecords(opened.git, slow, options))
      if (record === "1") process.kill(child, "SIGKILL");
  };
  await expect(read()).rejects.toMatchObject({ code: "busy" });
});

test("a process whose daemon was killed finishes short runs and ends long ones", async () => {
  const script = fileURLToPath(
    new URL("../../../../storage/git/git-launcher.process.ts", import.meta.url),
  );
  await using folder = await temporaryFolder();
  await using owned = startScript(script, { env: { PATH: searchPath }, serialization: "advanced" });
  await once(owned.child, "message");
  const start = (id: number, text: string) => {
    const env = { HOME: folder.path };
    const options = { directory: folder.path, env, input: "" };
    owned.child.send({ kind: "start", id, args: program(text), options } satisfies LauncherRequest);
  };
  start(1, "sleep 1; echo done >short");
  start(2, "echo $$ >long; while echo again; do sleep 0.1; done | cat");
  const read = (name: string) => readFile(join(folder.path, name), "utf8").catch(() => "");
  await expect.poll(() => read("long")).not.toBe("");
  owned.child.disconnect();
  await owned.exited;
  expect(await read("short")).toBe("done\n");
  const pid = Number(await read("long"));
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("closing does not wait for a git whose input stays open", async () => {
  const { launcher, git } = openLauncher();
  await untilLaunched(git);
  const child = git.launch(program("cat"), options);
  child.stdin.write("a");
  await launcher.close();
  expect(await child.ended).toMatchObject({ exitCode: undefined, error: { code: "busy" } });
});

test("a process that is killed fails its runs with a retry, and the next ones succeed", async () => {
  await using opened = openLauncher();
  const { git, onLost } = opened;
  const first = await untilLaunched(git);
  const run = outcome(git.run(program("kill -9 $(ps -o ppid= -p $PPID); sleep 1"), options));
  expect(await run).toEqual(["busy", "the process that runs git ended before the run did"]);
  expect(onLost).toHaveBeenCalledWith("SIGKILL");
  expect(await parentOf(git)).toBe(process.pid);
  expect(await untilLaunched(git)).not.toBe(first);
});

test("closing waits for the runs of the process and ends it", async () => {
  const { launcher, git, onLost } = openLauncher();
  const child = await untilLaunched(git);
  const run = git.run(program("sleep 0.2; echo done"), options);
  await launcher.close();
  expect(String(await run)).toBe("done\n");
  expect(() => process.kill(child, 0)).toThrow("ESRCH");
  expect(await parentOf(git)).toBe(process.pid);
  expect(onLost).not.toHaveBeenCalled();
});

test("without the program of the process, git is run by the daemon", async () => {
  const onLost = vi.fn<(reason: unknown) => void>();
  const absent = join(directory, "croft-no-such-program");
  const launcher = createGitLauncher({ program: [absent], searchPath, onLost });
  const git = createGit({ searchPath, launcher });
  while (onLost.mock.calls.length === 0) expect(await parentOf(git)).toBe(process.pid);
  expect(onLost.mock.calls[0]).toMatchObject([{ code: "ENOENT" }]);
  expect(await parentOf(git)).toBe(process.pid);
  await launcher.close();
});
