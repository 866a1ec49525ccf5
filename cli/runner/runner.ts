// cli/runner: the built-in runner. runner.ts fetches tasks, run-task.ts runs one and reports it; job/ has the steps,
// actions/ the actions that `uses` names, places/ the host and the container, report/ the reports to the daemon. Start
// here.
import { join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type WireTask, Result } from "../../daemon/workflows/runner-messages.ts";
import { CliError, toCliError } from "../errors.ts";
import type { System } from "../system.ts";
import { toGithub } from "./job/task-contexts.ts";
import { isFinalRefusal, RunnerRefused, type RunnerClient } from "./protocol-client.ts";
import { withRetries } from "./retry.ts";
import { runTask, type TaskDeps } from "./run-task.ts";
import {
  clearTaskFolder,
  createTaskFolder,
  discardTaskFolder,
  listTaskFolders,
} from "./task-folder.ts";

export interface RunnerDeps extends Omit<
  TaskDeps,
  "folder" | "mark" | "stopping" | "abandoned" | "url" | "system"
> {
  readonly system: Pick<System, "env" | "platform" | "sleep" | "clock" | "random">;
  /** Returns the daemon's address without a trailing slash; called before each task. */
  readonly url: () => Promise<string>;
  readonly version: string;
  readonly isEphemeral: boolean;
  /** Maximum number of concurrent jobs. */
  readonly capacity: number;
  /** How long running jobs may continue after a stop request, in milliseconds. */
  readonly finishWithinMs: number;
  /** The folder where jobs run. */
  readonly root: string;
  /** Aborted when the runner shall stop. */
  readonly signal: AbortSignal;
  /** Prints a line about an event of the runner. */
  readonly note: (line: string) => void;
}

/** How long a stopping runner tries to report the end of its jobs. */
const REPORT_MS = 20_000;
export const CAPABILITIES = ["cancelling"];

/**
 * Fetches and runs jobs until the signal is aborted, or an ephemeral runner has run its one job. Running jobs may then
 * finish for `finishWithinMs`; jobs that still run then are cancelled. Waits with growing pauses for a daemon that
 * cannot be reached.
 * @throws CliError `not_found` when the daemon does not know the runner
 */
export async function runRunner(deps: RunnerDeps): Promise<void> {
  const { client, system, note, labels, version, capacity } = deps;
  // A call that is aborted because the runner stops counts as unreachable: its report is kept.
  const stop = new AbortController();
  const { signal } = stop;
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const onStop = () => stop.abort(new CliError("daemon_unreachable", "the runner is stopping"));
  if (deps.signal.aborted) onStop();
  else deps.signal.addEventListener("abort", onStop, { once: true });
  const stopping = new AbortController();
  const abandoned = new AbortController();
  const running = new Map<number, Promise<void>>();
  /** Tasks that failed in the runner itself. They are not accepted again; the daemon times them out. */
  const broken = new Set<number>();
  let isConnected = true;

  await connect(() => endLeftovers({ ...deps, signal }));
  const offered = labels.filter(
    ({ target }) => target.kind === "host" || deps.engine !== undefined,
  );
  const left = labels.filter((label) => !offered.includes(label)).map(({ name }) => name);
  if (left.length > 0)
    note(
      `neither docker nor podman responds: jobs with the labels ${left.join(", ")} wait for another runner, or for a start of this one beside an engine`,
    );
  const names = offered.map(({ name }) => name);
  await connect(() =>
    client.declare({ version, labels: names, capabilities: CAPABILITIES }, signal),
  );
  if (!signal.aborted) note(`${deps.name} waits for jobs with the labels ${names.join(", ")}`);
  try {
    await fetchTasks();
  } finally {
    await finish();
  }

  async function fetchTasks(): Promise<void> {
    let known = 0n;
    while (!signal.aborted) {
      if (running.size >= capacity) {
        await Promise.race([stopped, ...running.values()]);
        continue;
      }
      const fetched = await connect(() =>
        client.fetchTask(known, [...running.keys(), ...broken], signal),
      );
      if (fetched === undefined) return;
      const { task, tasksVersion } = fetched;
      // Requests the next task at once: more may be waiting.
      known = task === undefined ? tasksVersion : 0n;
      if (task === undefined || running.has(Number(task.id))) continue;
      await start(task);
      if (deps.isEphemeral) {
        await Promise.race([stopped, ...running.values()]);
        return;
      }
    }
  }

  async function start(task: WireTask): Promise<void> {
    const id = Number(task.id);
    // The daemon may have stopped after it assigned the task.
    const url = await connect(deps.url);
    // A stopping runner leaves the task; the daemon assigns it again.
    if (url === undefined) return;
    const mark = Buffer.from(system.random(12)).toString("hex");
    const { repository, job, run_id: run } = toGithub(task);
    const label = `task ${id}: ${String(job)} of run ${String(run)} in ${String(repository)}`;
    note(`${label} started`);
    const perform = async () => {
      const folder = await createTaskFolder(deps.root, id, mark);
      return runTask(task, {
        ...deps,
        url,
        folder,
        mark,
        stopping: stopping.signal,
        abandoned: abandoned.signal,
      });
    };
    const fail = async (error: unknown) => {
      broken.add(id);
      const { message } = toCliError(error);
      note(`${label} failed in the runner: ${message}`);
      // The daemon would time it out, hours later.
      await report(task.id, `the runner failed: ${message}`, {
        ...deps,
        signal: abandoned.signal,
      }).catch((failure: unknown) => note(`${label}: ${toCliError(failure).message}`));
    };
    const work = perform()
      .then((result) => note(`${label} ended: ${result}`), fail)
      .finally(() => running.delete(id));
    running.set(id, work);
  }

  /** Lets running jobs finish, then cancels them, and waits until the daemon knows. */
  async function finish(): Promise<void> {
    if (running.size === 0) return;
    note(`waiting for ${running.size} running ${running.size === 1 ? "job" : "jobs"}`);
    const done = new AbortController();
    const hurry = async () => {
      await system.sleep(deps.finishWithinMs, done.signal);
      stopping.abort();
      await system.sleep(REPORT_MS, done.signal);
      abandoned.abort(new CliError("daemon_unreachable", "the runner is stopping"));
    };
    // The end of all jobs ends the waits.
    const watch = hurry().catch(() => undefined);
    await Promise.all(running.values());
    done.abort();
    await watch;
  }

  /** Repeats a call until the daemon answers it; undefined when the runner shall stop meanwhile. */
  async function connect<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await withRetries(work, {
        sleep: system.sleep,
        signal,
        isFinal: isFinalRefusal,
        onRetry: (error) => {
          if (isConnected) note(`${toCliError(error).message}; trying again`);
          isConnected = false;
        },
      });
      if (!isConnected) note("connected to the daemon again");
      isConnected = true;
      return result;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof RunnerRefused)) throw error;
      throw new CliError("not_found", `the daemon refused the runner: ${error.message}`, {
        hint: '"croft runner register" registers it again',
      });
    }
  }
}

interface LeftoverDeps {
  /** The folder of all tasks. */
  readonly root: string;
  readonly client: RunnerClient;
  readonly system: Pick<System, "env" | "platform" | "sleep" | "clock">;
  readonly signal: AbortSignal;
  readonly note: (line: string) => void;
}

/**
 * Cleans up tasks of an earlier process: ends their processes and containers, removes their files, and reports them as
 * failed. Returns when the daemon knows of all. What stays is told, and moved out of the way.
 */
async function endLeftovers(deps: LeftoverDeps): Promise<void> {
  const { root, system, note } = deps;
  const { unfinished, aside } = await listTaskFolders(root);
  const clear = (folder: string) =>
    clearTaskFolder(folder, { system }).catch((error: unknown) => toCliError(error).message);
  // All files go before the first report, which waits for the daemon: there are tokens among them.
  // Together: an engine that does not respond delays each of its containers by a minute or two.
  const left = new Map(
    await Promise.all(
      [...aside, ...unfinished].map(async (name) => [name, await clear(join(root, name))] as const),
    ),
  );
  for (const name of unfinished) {
    note(`task ${name} was left by an earlier process of the runner: reporting its failure`);
    await report(BigInt(name), "the runner was ended while it ran this job", deps);
  }
  for (const [name, reason] of left)
    await discardTaskFolder(join(root, name), reason, note).catch((error: unknown) =>
      note(`${name} stays: ${toCliError(error).message}`),
    );
}

/** Adds a last row to the log, seals it and fails the task. The daemon may have ended the task itself. */
async function report(
  taskId: bigint,
  reason: string,
  { client, system, signal }: Pick<LeftoverDeps, "client" | "system" | "signal">,
): Promise<void> {
  const { sleep, clock } = system;
  const retry = <T>(work: () => Promise<T>) =>
    withRetries(work, { sleep, signal, isFinal: isFinalRefusal });
  try {
    const rows = [
      {
        time: timestampFromMs(clock()),
        content: `::error::${reason}`,
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
