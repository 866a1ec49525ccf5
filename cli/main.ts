// cli: the command line process. A line runs through main.ts (run), program.ts (finds, loads and parses the command),
// commands/ (does the work with the values of context.ts), client/ (requests) and output/ (prints). profile/ holds
// configuration and credentials, ui/ the full-screen views, support/ the helpers of several commands, tree/ the command
// tree.
import { startProcess } from "../storage/start-process.ts";
import { CliError, exitCodeOf, toCliError, toErrorLine } from "./errors.ts";
import type { StopSignal, System, UnhandledListener } from "./system.ts";
import { version } from "./version.ts";

/**
 * Runs one command line, without the program's name, and resolves to its exit code when everything is written.
 * Never throws and never exits the process by itself.
 */
export async function run(argv: readonly string[], system: System): Promise<number> {
  const onlyArgument = argv.length === 1 ? argv[0] : undefined;
  if (onlyArgument === "--version" || onlyArgument === "-V") {
    system.stdout.write(`croft ${version}\n`);
    return 0;
  }
  try {
    const { runProgram } = await import("./program.ts");
    const { exitCode, isStuck } = await runProgram(argv, system);
    if (isStuck) system.exitNow(exitCode);
    return exitCode;
  } catch (error) {
    // `runProgram` reports failures itself: only one of its own comes here.
    const failure = toCliError(error);
    if (failure.code !== "closed_pipe") system.stderr.write(`${toErrorLine(failure)}\n`);
    return exitCodeOf(failure);
  }
}

/** The real process. */
export function processSystem(): System {
  let stdin: System["stdin"] | undefined;
  return {
    env: process.env,
    get workingDirectory() {
      return process.cwd();
    },
    get homeDirectory() {
      return homeOf(process.env, process.platform);
    },
    platform: process.platform,
    pid: process.pid,
    get program() {
      return programOf(process.execPath, process.argv[1]);
    },
    userId: process.getuid?.(),
    nodeVersion: process.version,
    get stdin() {
      return (stdin ??= isInputClosed() ? createClosedInput() : process.stdin);
    },
    get stdout() {
      return guarded(process.stdout);
    },
    get stderr() {
      return guarded(process.stderr);
    },
    http: () => process.getBuiltinModule("node:http"),
    https: () => process.getBuiltinModule("node:https"),
    keyring: async () => (await import("keytar")).default,
    clock: () => Date.now(),
    elapsed: () => performance.now(),
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
    sleep,
    isProcessAlive: (pid) => canSignal(pid, 0) && readProcessState(pid)?.state !== "Z",
    processMark: (pid) => readProcessState(pid)?.startedAt,
    stopProcess: (pid) => canSignal(pid, "SIGTERM"),
    openBrowser,
    page: showInPager,
    openFile: (path) => openOnDesktop(path),
    outputClosed,
    onStop(listener) {
      const listeners = stopSignals.map(([signal, meaning]) => ({
        signal,
        call: () => listener(meaning),
      }));
      for (const { signal, call } of listeners) process.on(signal, call);
      return () => {
        for (const { signal, call } of listeners) process.off(signal, call);
      };
    },
    onUnhandled,
    suspend() {
      // 0 is the process group: a program that started this one stops as well, so that the shell notices.
      if (process.platform !== "win32") process.kill(0, "SIGTSTP");
    },
    exitNow,
  };
}

function onUnhandled(listener: UnhandledListener): () => void {
  const onRejection = (reason: unknown) => listener(reason, "rejection");
  const onException = (error: Error) => {
    if (isCollectedFile(error)) return listener(error, "collected_file");
    off();
    // Without a listener Node prints the error and ends the process.
    process.nextTick(() => {
      throw error;
    });
  };
  const off = () => {
    process.off("unhandledRejection", onRejection);
    process.off("uncaughtException", onException);
  };
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
  return off;
}

/** Node gives these two errors no code of their own. */
function isCollectedFile({ message }: Error): boolean {
  return /A FileHandle object was closed during garbage collection|Closing file descriptor \d+ on garbage collection failed/.test(
    message,
  );
}

/** Closing the terminal stops a command as an interrupt does. */
const stopSignals: readonly (readonly [NodeJS.Signals, StopSignal])[] = [
  ["SIGINT", "SIGINT"],
  ["SIGTERM", "SIGTERM"],
  ["SIGHUP", "SIGTERM"],
];

/**
 * Whether the process was started without a standard input (`<&-`). Node then opens `/dev/null` in its place, for reading
 * and writing; a shell opens it for reading only (`< /dev/null`), which is an empty input.
 */
function isInputClosed(): boolean {
  const { fstatSync, statSync, writeSync } = process.getBuiltinModule("node:fs");
  try {
    const { rdev } = fstatSync(0);
    if (process.platform === "win32" || rdev === 0 || rdev !== statSync("/dev/null").rdev)
      return false;
    writeSync(0, new Uint8Array(1));
    return true;
  } catch {
    // EBADF: it is open for reading only. Others: there is no /dev/null.
    return false;
  }
}

/** An input that fails when it is read: what a command would send or store would be empty. */
function createClosedInput(): System["stdin"] {
  const { Readable } = process.getBuiltinModule("node:stream");
  return new Readable({
    read() {
      this.destroy(
        new CliError("missing_input", "standard input is closed", {
          hint: 'send a file or the output of a program to it; "< /dev/null" sends nothing',
        }),
      );
    },
  });
}

/**
 * A write error is reported by the write that caused it; without a listener the stream's event would end the process.
 * The streams are made when they are first used, since each costs a millisecond or more.
 */
function guarded(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (stream.listenerCount("error") === 0) stream.on("error", () => undefined);
  return stream;
}

/**
 * Ends the process regardless of its threads. `process.exit` joins the thread pool, and so waits for a native call
 * that never returns (a keyring that hangs); replacing the process by another program does not. Windows ends all
 * threads by itself.
 */
function exitNow(code: number): void {
  if (process.platform !== "win32" && typeof process.execve === "function")
    process.execve("/bin/sh", ["sh", "-c", `exit ${code}`], {});
  process.exit(code);
}

/** The single executable has no script of its own: its second argument is the executable again. */
function programOf(node: string, script: string | undefined): System["program"] {
  const isExecutable = process.getBuiltinModule("node:sea").isSea();
  return isExecutable || script === undefined ? [node] : [node, script];
}

/** Starts the system's opener without waiting for it; false in a session without a desktop. */
function openBrowser(address: string): boolean {
  // The address is untrusted, and openers start programs for other schemes.
  return /^https?:/i.test(address) && openOnDesktop(address);
}

function openOnDesktop(address: string): boolean {
  const { platform, env } = process;
  const hasDesktop =
    platform === "darwin" ||
    platform === "win32" ||
    Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"]);
  if (!hasDesktop) return false;
  const [program, ...words] =
    platform === "darwin"
      ? ["open"]
      : platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  try {
    const stdio = ["ignore", "ignore", "ignore"] as const;
    startProcess(program, [...words, address], { stdio, detached: true }).child.unref();
    return true;
  } catch {
    // The caller prints the address.
    return false;
  }
}

/** The exit codes of a shell that cannot run its command. */
const notStarted: ReadonlySet<number | undefined> = new Set([126, 127]);

async function showInPager(pager: string, text: string): Promise<boolean> {
  // F: a text that fits is only printed. R: colours. X: the text stays on the screen.
  const env = { LESS: "FRX", ...process.env };
  await using started = startProcess(pager, [], {
    shell: true,
    env,
    stdio: ["pipe", "inherit", "inherit"],
  });
  // The pager takes Ctrl-C as a key.
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  started.child.stdin.end(text);
  const { exitCode, error } = await started.ended;
  process.off("SIGINT", ignore);
  return error === undefined && !notStarted.has(exitCode);
}

/**
 * Node does not report POLLERR of a pipe to which nothing is being written. GNU tail, which has the same standard output,
 * polls for it and ends; `--pid` ends it with this process, so that the pipe never has a forgotten writer.
 */
async function outputClosed(signal: AbortSignal): Promise<void> {
  const { fstatSync } = process.getBuiltinModule("node:fs");
  if (process.platform === "linux" && fstatSync(1).isFIFO()) {
    const words = ["-f", `--pid=${process.pid}`, "/dev/null"];
    const stdio = ["ignore", "inherit", "ignore"] as const;
    const tail = startProcess("tail", words, { stdio, signal });
    tail.child.unref();
    if ((await tail.exited).signal === "SIGPIPE") return;
  }
  // Without GNU tail, or after the end of the watch, the next write detects it.
  await new Promise<never>(() => undefined);
}

function canSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // EPERM: the process runs under another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Reads a process's state (`Z` for a zombie) and start time in clock ticks since boot from Linux's /proc. Undefined on
 * other systems, and for an ended process.
 */
function readProcessState(
  pid: number,
): { readonly state: string | undefined; readonly startedAt: string | undefined } | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const text = process.getBuiltinModule("node:fs").readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in front is in parentheses and may hold any character, blanks and parentheses too.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0], startedAt: fields[19] };
  } catch {
    // The process has ended, or the system hides it: use its id alone.
    return undefined;
  }
}

function homeOf(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  const home = platform === "win32" ? env["USERPROFILE"] : env["HOME"];
  const { isAbsolute } = process.getBuiltinModule("node:path");
  if (home !== undefined && isAbsolute(home)) return home;
  // Imported only if the environment lacks the value, as under some service managers.
  const { userInfo } = process.getBuiltinModule("node:os");
  try {
    return userInfo().homedir;
  } catch {
    // The system does not know the user, as in many containers; those use the root as well.
    return "/";
  }
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
