import type { CliEnvironment } from "./environment.ts";
import { CliError, DryRun, exitCodeOf, FieldList, toCliError, toErrorLine } from "./errors.ts";
import { toDryRunText } from "./output/effect.ts";
import { createOutput } from "./output/output.ts";
import type { StopSignal, System } from "./system.ts";

/** The stop signals of a run. */
export interface Stopping {
  /** Aborted by the first stop signal; its reason is the `CliError`. */
  readonly signal: AbortSignal;
  /** Rejects when a command has not ended within the time it has to clean up. */
  readonly stopped: Promise<never>;
  /** Leaves stop signals to the command, without a time limit. */
  hold(): void;
  /**
   * Runs synchronous work during which signals could not be handled. Until it is done, a signal ends the process at once.
   */
  endedBySignals<T>(work: () => Promise<T>): Promise<T>;
  /** Ends the listening. */
  forget(): void;
}

/** Time for cleaning up after a stop signal: removing a partial file, releasing a lock. */
const cleanUpMs = 3_000;

/** Listens for stop signals. The second one ends the process at once. */
export function listenForStops(system: System): Stopping {
  const controller = new AbortController();
  const finished = new AbortController();
  let isHeld = false;
  let rejectStopped: (error: CliError) => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    rejectStopped = reject;
  });
  // It may reject after the command has ended.
  stopped.catch(() => undefined);
  const onSignal = (signal: StopSignal) => {
    const error = toStopError(signal);
    if (controller.signal.aborted) {
      system.exitNow(exitCodeOf(error));
      return;
    }
    controller.abort(error);
    if (isHeld) return;
    system.sleep(cleanUpMs, finished.signal).then(
      () => rejectStopped(error),
      () => undefined,
    );
  };
  let off = system.onStop(onSignal);
  return {
    signal: controller.signal,
    stopped,
    hold() {
      isHeld = true;
    },
    async endedBySignals(work) {
      // Signals that arrived before are handled first.
      await system.sleep(0, controller.signal);
      off();
      try {
        return await work();
      } finally {
        off = system.onStop(onSignal);
      }
    },
    forget() {
      off();
      finished.abort();
    },
  };
}

/** For a context that only reads the tree. */
export const neverStopping: Stopping = {
  signal: new AbortController().signal,
  stopped: new Promise<never>(() => undefined),
  hold: () => undefined,
  endedBySignals: (work) => work(),
  forget: () => undefined,
};

/** Prints a failure on standard error and resolves to the exit code. */
export async function reportFailure(
  error: unknown,
  cli: CliEnvironment,
  isMachine: boolean,
): Promise<number> {
  if (error instanceof FieldList) {
    await cli.io.write(error.fields.map((field) => `${field}\n`).join(""));
    return 0;
  }
  if (error instanceof DryRun) {
    // Complete: the fields of `--json` select those of the real result.
    const flags = { ...cli.flags, json: cli.flags.json && (true as const) };
    const { endedBySignals } = cli;
    const { io, clock } = cli;
    const writeLong = (text: string) => io.write(text);
    const output = createOutput({ io, writeLong, flags, clock, endedBySignals });
    await output.done({ dry_run: true, ...error.would }, toDryRunText(error.would));
    return 0;
  }
  // After a stop signal, every failure is a consequence of the signal.
  const failure = cli.signal.aborted ? toCliError(cli.signal.reason) : toCliError(error);
  const { io } = cli;
  if (failure.code === "closed_pipe") return exitCodeOf(failure);
  if (isMachine) io.warn(toErrorLine(failure));
  else if (failure.code !== "interrupted" && failure.code !== "terminated") {
    io.warn(failure.message, (message) => `${io.errorStyle.red("croft:")} ${message}`);
    const { hint, requestId } = failure.details;
    if (hint !== undefined) io.warn(hint);
    if (requestId !== undefined && loggedFailures.has(failure.code))
      io.warn(`The daemon's log has more under request ${requestId}.`);
  }
  return exitCodeOf(failure);
}

/** Failures of which the daemon's log tells more. */
const loggedFailures: ReadonlySet<string> = new Set([
  "server_error",
  "unexpected_answer",
  "provider_failed",
  "provider_offline",
  "storage_unusable",
  "storage_full",
]);

function toStopError(signal: StopSignal): CliError {
  return signal === "SIGINT"
    ? new CliError("interrupted", "interrupted")
    : new CliError("terminated", "terminated");
}
