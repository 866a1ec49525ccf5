import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Result } from "../../daemon/forge/actions/protocol/schema.ts";
import type { System } from "../system.ts";
import { removeContainers, toEngineEnvironment } from "./places/container-place.ts";
import { createJobProcesses } from "./places/job-processes.ts";
import { isFinalRefusal, type RunnerClient } from "./protocol-client.ts";
import { withRetries } from "./retry.ts";

/** Makes the folder of a task, with a note by which a later process finds the leftovers of the task. */
export async function createTaskFolder(root: string, id: number, mark: string): Promise<string> {
  const folder = join(root, String(id));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, "mark"), mark, { mode: 0o600 });
  return folder;
}

export interface LeftoverDeps {
  /** The folder of all tasks. */
  readonly root: string;
  readonly client: RunnerClient;
  readonly system: Pick<System, "env" | "platform" | "sleep" | "clock">;
  readonly signal: AbortSignal;
  readonly note: (line: string) => void;
}

/**
 * Cleans up tasks of an earlier process: kills their processes, removes their containers and files, and reports them as
 * failed. Returns when the daemon knows of all.
 */
export async function endLeftovers(deps: LeftoverDeps): Promise<void> {
  const names = await readdir(deps.root).catch(() => []);
  for (const name of names.filter((each) => /^\d+$/.test(each))) {
    const folder = join(deps.root, name);
    const mark = await readFile(join(folder, "mark"), "utf8").catch(() => "");
    if (mark !== "") await endProcesses(folder, mark, deps);
    deps.note(`task ${name} was left by an earlier process of the runner: reporting its failure`);
    await report(BigInt(name), deps);
    await rm(folder, { recursive: true, force: true });
  }
}

async function endProcesses(folder: string, mark: string, { system }: LeftoverDeps): Promise<void> {
  const { platform, sleep, env } = system;
  const processes = createJobProcesses({ mark, platform, sleep });
  const engine = await readFile(join(folder, "engine"), "utf8").catch(() => "");
  if (engine !== "")
    await removeContainers(engine, mark, { processes, env: toEngineEnvironment(env), cwd: folder });
  await processes.end();
}

/** Adds a last row to the log, seals it and fails the task. The daemon may have ended the task itself. */
async function report(
  taskId: bigint,
  { client, system, signal }: Pick<LeftoverDeps, "client" | "system" | "signal">,
): Promise<void> {
  const { sleep, clock } = system;
  const retry = <T>(work: () => Promise<T>) =>
    withRetries(work, { sleep, signal, isFinal: isFinalRefusal });
  try {
    const rows = [
      {
        time: timestampFromMs(clock()),
        content: "::error::the runner was ended while it ran this job",
      },
    ];
    await retry(async () => {
      const { ackIndex: index } = await client.updateLog({ taskId }, signal);
      await client.updateLog({ taskId, index, rows, noMore: true }, signal);
    });
  } catch (error) {
    // A sealed log is complete; other failures are reported by the report that follows.
    if (!isFinalRefusal(error)) throw error;
  }
  try {
    const stoppedAt = timestampFromMs(clock());
    const state = { id: taskId, result: Result.failure, stoppedAt, steps: [] };
    await retry(() => client.updateTask({ state }, signal));
  } catch (error) {
    // The daemon has ended the task, or the runner is registered elsewhere now.
    if (!isFinalRefusal(error)) throw error;
  }
}
