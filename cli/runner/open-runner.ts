import { arch } from "node:os";
import { join } from "node:path";
import { addressOf, findTarget } from "../client/target.ts";
import { createTransport, createTrust } from "../client/transport.ts";
import type { CliContext } from "../context.ts";
import { readTextFile } from "../profile/config.ts";
import { version } from "../version.ts";
import { parseLabel } from "./labels.ts";
import { findEngine } from "./places/container-place.ts";
import { createRunnerClient } from "./protocol-client.ts";
import { acquireRunnerLock } from "./runner-lock.ts";
import { removeRunnerState, type RunnerState, toJobsPath } from "./runner-state.ts";
import { RUN_SCRIPT } from "./run-script.ts";
import { runRunner } from "./runner.ts";

export interface RunnerOptions {
  /** Jobs that run at a time. */
  readonly capacity: number;
  /** How long running jobs may continue after a stop signal. */
  readonly finishWithinMs: number;
  readonly signal: AbortSignal;
  /** Prints a line about an event of the runner. */
  readonly note: (line: string) => void;
}

/**
 * Runs the registered runner of this home until the signal is aborted; an ephemeral one until it has run its job, and
 * forgets it then. @throws CliError `conflict` when another process runs it
 */
export async function openRunner(
  cli: CliContext,
  state: RunnerState,
  { capacity, finishWithinMs, signal, note }: RunnerOptions,
): Promise<void> {
  const { system } = cli;
  const { paths } = await cli.config();
  const root = toJobsPath(paths);
  const release = await acquireRunnerLock(root, system);
  // The daemon of this home may listen elsewhere after a restart.
  const url = async () => state.url ?? addressOf(await findTarget(cli));
  const own = readTextFile(join(paths.dataDirectory, "keys", "tls.crt"));
  const { getCACertificates } = await import("node:tls");
  try {
    await runRunner({
      system,
      client: createRunnerClient({
        transport: createTransport(system, createTrust(cli)),
        url,
        credentials: state,
      }),
      url,
      certificates:
        own === undefined ? undefined : [...getCACertificates("default"), own].join("\n"),
      version,
      name: state.name,
      labels: state.labels.flatMap((each) => parseLabel(each) ?? []),
      allow: state.allow,
      isEphemeral: state.ephemeral,
      engine: await findEngine(system.env),
      // The single executable has Node in it.
      node: system.program.length > 1 ? [system.program[0]] : [system.program[0], RUN_SCRIPT],
      architecture: arch(),
      root,
      capacity,
      finishWithinMs,
      signal,
      note,
    });
    if (state.ephemeral && !signal.aborted) removeRunnerState(paths);
  } finally {
    await release();
  }
}
