import type {
  ChildProcess,
  ChildProcessByStdio,
  ForkOptions,
  SpawnOptions,
} from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** The end of a process. */
export interface ProcessEnd {
  /** The exit code; undefined when a signal ended the process or it never started. */
  readonly exitCode: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  /** The program did not start (`ENOENT`, `EACCES`, `EAGAIN`), could not be killed, or its `signal` was aborted. */
  readonly error: NodeJS.ErrnoException | undefined;
}

/** A process with its listeners. `await using` kills it at the end of the block if it still runs. */
export interface OwnedProcess<Child extends ChildProcess = ChildProcess> extends AsyncDisposable {
  readonly child: Child;
  /** Resolves when the process has exited, or failed to start; its output may still be unread. Never rejects. */
  readonly exited: Promise<ProcessEnd>;
  /**
   * Resolves when the process has exited and its pipes are closed. A descendant that keeps a pipe open delays it.
   * Never rejects.
   */
  readonly ended: Promise<ProcessEnd>;
}

/** The system could not start a process. `code` is the system's, such as `EMFILE`, `ENOMEM` or `E2BIG`. */
export class ProcessStartError extends Error {
  readonly code: string;
  constructor(program: string, code: string, cause?: unknown) {
    super(`${program} failed to start: ${code}`, { cause });
    this.name = "ProcessStartError";
    this.code = code;
  }
}

type Pipe = "pipe";
type NoPipe = "ignore" | "inherit" | number;

type Input<Kind> = Kind extends Pipe ? Writable : null;
type Output<Kind> = Kind extends Pipe ? Readable : null;

/**
 * Starts a program. The only place that calls `spawn`: every program of the daemon, the storage, the command line and the
 * runner starts here. Without free file descriptors Node returns a process without pipes, and without memory it throws; a
 * process without a listener for `error` ends its parent. Here all of that is one of two results:
 * - The call throws `ProcessStartError`. No process exists and nothing needs to be closed. Call it where a throw is
 *   handled, so in a timer or a listener inside `try`.
 * - The call returns a process. Its pipes exist, and it, as well as each pipe, has a listener for `error`. A program that
 *   does not exist is reported by `ended` and `exited`, as `error` with code `ENOENT`.
 *
 * ```ts
 * await using tar = startProcess("tar", ["-cf", "-", "."], { stdio: ["ignore", "pipe", "ignore"] });
 * await pipeline(tar.child.stdout, sink);
 * const { exitCode, error } = await tar.ended;
 * ```
 * A caller without `await using` ends the process itself, or leaves it running on purpose with `child.unref()`.
 * @throws ProcessStartError
 */
export function startProcess<
  In extends Pipe | NoPipe,
  Out extends Pipe | NoPipe,
  Err extends Pipe | NoPipe,
>(
  file: string,
  args: readonly string[],
  options: Omit<SpawnOptions, "stdio"> & { readonly stdio: readonly [In, Out, Err, ...Pipe[]] },
): OwnedProcess<ChildProcessByStdio<Input<In>, Output<Out>, Output<Err>>> {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = start(file, () =>
    spawn(file, [...args], { windowsHide: true, ...options, stdio: [...options.stdio] }),
  );
  const pipes = child.stdio ?? [];
  if (options.stdio.some((kind, index) => kind === "pipe" && pipes[index] == null)) {
    throw new ProcessStartError(file, "EMFILE");
  }
  return own(child) as OwnedProcess<ChildProcessByStdio<Input<In>, Output<Out>, Output<Err>>>;
}

/** A process that runs a script of croft and exchanges messages with it. `send` exists. */
export type MessagingProcess = ChildProcess & Required<Pick<ChildProcess, "send">>;

/** Starts a script with a channel for messages, by the same rules as `startProcess`. @throws ProcessStartError */
export function startScript(path: string, options: ForkOptions): OwnedProcess<MessagingProcess> {
  const { fork } = process.getBuiltinModule("node:child_process");
  const child = start(path, () => fork(path, options));
  // Without free file descriptors there is no channel; `send` is missing despite its type.
  if (child.channel == null) throw new ProcessStartError(path, "EMFILE");
  return own(child) as OwnedProcess<MessagingProcess>;
}

/** Calls `spawn` or `fork`, with a listener for `error` before anything else can happen. */
function start(program: string, call: () => ChildProcess): ChildProcess {
  try {
    // The failure is reported by the caller or by `ended`.
    return call().on("error", () => undefined);
  } catch (error) {
    const { code = "UNKNOWN" } = error as NodeJS.ErrnoException;
    throw new ProcessStartError(program, code, error);
  }
}

function own(child: ChildProcess): OwnedProcess {
  let error: NodeJS.ErrnoException | undefined;
  const toEnd = (): ProcessEnd => ({
    exitCode: child.pid === undefined ? undefined : (child.exitCode ?? undefined),
    signal: child.signalCode ?? undefined,
    error,
  });
  const pipes = (child.stdio ?? []).filter((pipe) => pipe != null);
  // A program that exits early closes its input; an error of a pipe without a listener would end this process.
  for (const pipe of pipes) pipe.on("error", () => pipe.destroy());
  const exited = new Promise<ProcessEnd>((resolve) => {
    child.once("exit", () => resolve(toEnd()));
    child.on("error", (caught: NodeJS.ErrnoException) => {
      error ??= caught;
      if (child.pid === undefined) resolve(toEnd());
    });
  });
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once("close", () => resolve(toEnd()));
    child.on("error", () => {
      if (child.pid === undefined) resolve(toEnd());
    });
  });
  return {
    child,
    exited,
    ended,
    async [Symbol.asyncDispose]() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        child.kill("SIGKILL");
      for (const pipe of pipes) pipe.destroy();
      await exited;
    },
  };
}
