import { arch } from "node:os";
import { join } from "node:path";
import { addressOf, findTarget } from "../client/target.ts";
import { createTransport, createTrust } from "../client/transport.ts";
import type { CliContext } from "../context.ts";
import { readTextFile } from "../profile/config-file.ts";
import { createJobFile, JobFileError, readJobFile } from "./files/job-files.ts";
import { removeFolder } from "./files/job-folders.ts";
import { version } from "../version.ts";
import { findEngine } from "./places/engine.ts";
import { createRunnerClient } from "./protocol-client.ts";
import { removeRunnerState, type RunnerState, toJobsPath, parseLabel } from "./runner-state.ts";
import { RUN_SCRIPT } from "./run-script.ts";
import { runRunner } from "./runner.ts";
import { CliError } from "../errors.ts";
import { makePrivateFolder } from "../profile/private-files.ts";
import type { System } from "../system.ts";
import { parseObject } from "../support/json.ts";

export interface RunnerOptions {
  /** Maximum number of concurrent jobs. */
  readonly capacity: number;
  /** How long running jobs may continue after a stop signal. */
  readonly finishWithinMs: number;
  readonly signal: AbortSignal;
  /** Prints a line about an event of the runner. */
  readonly note: (line: string) => void;
}

/**
 * Runs the registered runner of this home until the signal is aborted; an ephemeral one until it has run its job, and
 * then removes it from this home. @throws CliError `conflict` when another process runs it
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
      // The single executable contains Node.
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

type LockSystem = Pick<System, "pid" | "isProcessAlive" | "processMark">;

/** Attempts to replace the file of a process that has ended. */
const TRIES = 5;

/**
 * Acquires the lock of the job folder. A second process would mistake the jobs for those of a dead process. A lock of
 * a process that has ended is replaced. @returns the function that releases the lock
 * @throws CliError `conflict`
 */
async function acquireRunnerLock(folder: string, system: LockSystem): Promise<() => Promise<void>> {
  await makePrivateFolder(folder);
  const path = join(folder, "lock.json");
  const { pid } = system;
  const text = JSON.stringify({ pid, mark: system.processMark(pid) ?? null });
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (await createFile(path, text)) return async () => void (await removeFolder(path));
    const holder = await readHolder(folder, path);
    if (holder !== undefined && isAlive(holder, system))
      throw new CliError("conflict", `the process ${holder.pid} runs this runner already`, {
        hint: "stop it first; another runner needs a home of its own (--home)",
      });
    // Something else than a file is of a job that has damaged the folder.
    await removeFolder(path);
  }
  throw new CliError("conflict", `${path} is replaced by other processes`);
}

interface Holder {
  readonly pid: number;
  readonly mark: string | null;
}

async function createFile(path: string, text: string): Promise<boolean> {
  try {
    await createJobFile(path, text);
    return true;
  } catch (error) {
    if (error instanceof JobFileError) return false;
    throw error;
  }
}

const LOCK_BYTES_MAX = 4_096;

async function readHolder(folder: string, path: string): Promise<Holder | undefined> {
  try {
    // Undefined members: a process was killed while it wrote the file. No text: its owner removed it at this moment.
    const text = (await readJobFile(folder, path, LOCK_BYTES_MAX)) ?? "";
    const { pid, mark } = parseObject(text) ?? {};
    if (typeof pid !== "number") return undefined;
    return { pid, mark: typeof mark === "string" ? mark : null };
  } catch (error) {
    if (error instanceof JobFileError) return undefined;
    throw error;
  }
}

function isAlive({ pid, mark }: Holder, system: LockSystem): boolean {
  if (pid === system.pid || !system.isProcessAlive(pid)) return false;
  const found = system.processMark(pid);
  return mark === null || found === undefined || found === mark;
}
