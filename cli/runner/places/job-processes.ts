import type { ChildProcess } from "node:child_process";
import { mkdir, readdir, readFile, rmdir, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { type ProcessEnd, startProcess } from "../../../storage/start-process.ts";
import type { Sleep } from "../retry.ts";
import type { OutputSink } from "./place.ts";

/** A process of a job. */
export interface HostCommand {
  readonly argv: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly sink: OutputSink;
  readonly signal: AbortSignal;
}

/** The processes of one job on this machine. */
export type JobProcesses = ReturnType<typeof createJobProcesses>;

export interface JobProcessesDeps {
  /** Text by which processes of the job are recognized in their environment; unique to the job. */
  readonly mark: string;
  readonly sleep: Sleep;
  readonly platform: NodeJS.Platform;
}

/** Variable that carries the mark. */
const MARK_VARIABLE = "CROFT_JOB_MARK";
/** Time between asking a process to end and killing it. */
const KILL_AFTER_MS = 5_000;
/** A background process may hold its output open: the last lines are waited for this long. */
const DRAIN_MS = 1_000;
/** Rounds of killing: a process may start others meanwhile. */
const KILL_ROUNDS = 20;
const KILL_PAUSE_MS = 50;
const CGROUP_ROOT = "/sys/fs/cgroup";
/** Type of the file system of cgroup v2 (statfs(2)). */
const CGROUP2_MAGIC = 0x63677270;

export function createJobProcesses({ mark, sleep, platform }: JobProcessesDeps) {
  const sessions = new Set<number>();
  const running = new Set<ChildProcess>();
  const cgroup = createCgroup(mark, platform);

  return {
    /** Runs a program to its end. @returns its exit code; 128 and more after a signal */
    async run({ argv, env, cwd, sink, signal }: HostCommand): Promise<number> {
      const isWindows = platform === "win32";
      const folder = await cgroup;
      // One pipe for both streams keeps their order. The shell joins the group and becomes the program. It would drop
      // variables whose names it does not know, such as inputs of actions with a dash.
      const join = folder === undefined ? "" : 'echo $$ > "$0/cgroup.procs" 2>/dev/null; ';
      const isDirect = isWindows || !Object.keys(env).every((name) => /^[A-Za-z_]\w*$/.test(name));
      const [file = "", ...rest] = isDirect
        ? argv
        : ["/bin/sh", "-c", `${join}exec "$@" 2>&1`, folder ?? "sh", ...argv];
      const { child, exited } = startProcess(file, rest, {
        cwd,
        env: { ...env, [MARK_VARIABLE]: mark },
        detached: !isWindows,
        stdio: ["ignore", "pipe", "pipe"],
      });
      running.add(child);
      readOutput(child, sink);
      const ended = waitForEnd(child, exited, signal);
      // The failure is reported below.
      ended.catch(() => undefined);
      if (child.pid !== undefined) sessions.add(child.pid);
      if (isDirect && folder !== undefined && child.pid !== undefined)
        // It may have ended already.
        await writeFile(`${folder}/cgroup.procs`, String(child.pid)).catch(() => undefined);
      return ended;
    },
    /** Kills everything that the job has started and that still runs. */
    async end() {
      for (let round = 0; round < KILL_ROUNDS; round += 1) {
        if (!(await killAll())) break;
        await sleep(KILL_PAUSE_MS);
      }
      // Streams of processes that escaped must not keep the runner.
      for (const child of running) {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }
      const folder = await cgroup;
      // A group whose process has not ended yet remains; it is empty soon and costs nothing.
      if (folder !== undefined) await rmdir(folder).catch(() => undefined);
    },
  };

  /** Waits for the exit, then a moment for the rest of the output. An abort asks the process to end, then kills it. */
  async function waitForEnd(
    child: ChildProcess,
    exited: Promise<ProcessEnd>,
    signal: AbortSignal,
  ): Promise<number> {
    const closed = new Promise<void>((resolve) => {
      child.once("close", () => {
        running.delete(child);
        resolve();
      });
    });
    const ended = new AbortController();
    const stop = () => {
      killGroup(child, "SIGTERM");
      sleep(KILL_AFTER_MS, ended.signal).then(
        () => killGroup(child, "SIGKILL"),
        // The program ended in time.
        () => undefined,
      );
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    try {
      const { exitCode, signal: name, error } = await exited;
      if (child.pid === undefined && error !== undefined) throw error;
      const pause = sleep(DRAIN_MS, ended.signal).catch(() => undefined);
      await Promise.race([closed, pause]);
      return exitCode ?? 128 + (SIGNALS[name ?? ""] ?? 0);
    } finally {
      signal.removeEventListener("abort", stop);
      // A program that ignored the request ended by itself; its children in the group may not have.
      if (signal.aborted) killGroup(child, "SIGKILL");
      ended.abort();
    }
  }

  function killGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
    if (pid !== undefined) kill(platform === "win32" ? pid : -pid, name);
  }

  /** Kills every process of the job once. Returns whether there was one. */
  async function killAll(): Promise<boolean> {
    const folder = await cgroup;
    if (folder !== undefined)
      // Kernels before 5.14 lack this file; the code below finds the processes anyway.
      await writeFile(join(folder, "cgroup.kill"), "1").catch(() => undefined);
    if (platform === "linux") {
      const found = await findProcesses(sessions, mark, folder);
      for (const pid of found) kill(pid, "SIGKILL");
      return found.length > 0;
    }
    for (const child of running) killGroup(child, "SIGKILL");
    return [...running].some(({ exitCode, signalCode }) => exitCode === null && !signalCode);
  }
}

/**
 * Makes a control group for the job, from which no process can escape. Undefined where the system has no cgroup v2, or
 * where this user may not create groups: then processes are found by session and mark.
 */
async function createCgroup(mark: string, platform: NodeJS.Platform): Promise<string | undefined> {
  if (platform !== "linux") return undefined;
  try {
    const text = await readFile("/proc/self/cgroup", "utf8");
    const [, own] = /^0::(\/.*)$/m.exec(text) ?? [];
    if (own === undefined) return undefined;
    const folder = join(CGROUP_ROOT, own, `croft-job-${mark}`);
    // Elsewhere a plain folder would be made, and nothing would be in the group.
    if ((await statfs(CGROUP_ROOT)).type !== CGROUP2_MAGIC) return undefined;
    // It exists already if an earlier process of the runner has left it.
    await mkdir(folder, { recursive: true });
    return folder;
  } catch {
    return undefined;
  }
}

/** Finds processes by their session or by the mark in their environment, and those of the control group. */
async function findProcesses(
  sessions: ReadonlySet<number>,
  mark: string,
  cgroup: string | undefined,
): Promise<number[]> {
  const grouped =
    cgroup === undefined
      ? ""
      : await readFile(join(cgroup, "cgroup.procs"), "utf8").catch(() => "");
  const found = new Set(
    grouped
      .split("\n")
      .filter((line) => line !== "")
      .map(Number),
  );
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    names.map(async (name) => {
      // A process may end meanwhile, or belong to another user: then it does not belong to the job.
      const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
      const [state, , , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (stat === "" || state === "Z") return;
      if (sessions.has(Number(session))) return void found.add(Number(name));
      const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
      if (environment.split("\0").includes(`${MARK_VARIABLE}=${mark}`)) found.add(Number(name));
    }),
  );
  return [...found];
}

function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has ended already, or has become another user's, as by sudo.
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Forwards lines, and applies backpressure to the process while the sink is full. */
function readOutput(child: ChildProcess, sink: OutputSink): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    const lines = createLineSplitter(sink.lineCharacters, sink.line);
    stream.on("data", (chunk: Buffer) => {
      lines.push(chunk);
      if (!sink.isFull()) return;
      stream.pause();
      const resume = () => stream.resume();
      sink.drained().then(resume, resume);
    });
    // The end follows by "close".
    stream.on("error", () => undefined);
    stream.once("close", () => lines.end());
  }
}

/** Numbers of the signals that end jobs. */
const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGTERM: 15,
};

/**
 * Splits a stream into lines without line ends. Keeps the first `keep()` characters of a long line and counts the rest,
 * so that memory is bounded.
 */
export function createLineSplitter(
  keep: () => number,
  onLine: (line: string, dropped: number) => void,
) {
  const decoder = new StringDecoder("utf8");
  let line = "";
  let dropped = 0;
  let hasLine = false;

  const append = (text: string) => {
    if (text === "") return;
    hasLine = true;
    const room = Math.max(0, keep() - line.length);
    line += text.slice(0, room);
    dropped += Math.max(0, text.length - room);
  };
  const flush = () => {
    onLine(line.endsWith("\r") ? line.slice(0, -1) : line, dropped);
    line = "";
    dropped = 0;
    hasLine = false;
  };
  const add = (text: string) => {
    let at = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", at)) {
      append(text.slice(at, end));
      flush();
      at = end + 1;
    }
    append(text.slice(at));
  };
  return {
    push: (chunk: Uint8Array) =>
      add(decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))),
    /** Passes on a last line without a line end. */
    end() {
      add(decoder.end());
      if (hasLine) flush();
    },
  };
}
