import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Result, type WireTask } from "../../daemon/workflows/runner-messages.ts";
import { toText } from "../../daemon/workflows/expressions/values.ts";
import { evaluateDeep, isMapping } from "../../daemon/workflows/mapping.ts";
import type { System } from "../system.ts";
import { createJobLog, type JobLog } from "./job/job-log.ts";
import { type JobPayload, parsePayload, toMapping } from "./job/payload.ts";
import { type JobEnd, runJob } from "./job/run-job.ts";
import { toReason } from "./job/step-run.ts";
import { toGithub, toInputs, toSecrets } from "./job/task-contexts.ts";
import { createContainerPlace, toContainerImage } from "./places/container-place.ts";
import { toEngineEnvironment } from "./places/engine.ts";
import { createHostPlace } from "./places/host-place.ts";
import { createJobProcesses, type JobProcesses } from "./places/job-processes.ts";
import { type JobFolders, type Place, PlaceError } from "./places/place.ts";
import { isFinalRefusal, type RunnerClient } from "./protocol-client.ts";
import { createLogSender } from "./report/log-sender.ts";
import { createMasker } from "./report/masker.ts";
import { createTaskReporter } from "./report/task-reporter.ts";
import { withRetries } from "./retry.ts";
import { isAllowed, findTarget, type LabelTarget, type RunnerLabel } from "./runner-state.ts";
import {
  clearTaskFolder,
  createJobFolders,
  discardTaskFolder,
  recordContainer,
} from "./task-folder.ts";

export interface TaskDeps {
  readonly system: Pick<System, "env" | "platform" | "sleep" | "clock">;
  readonly client: RunnerClient;
  readonly name: string;
  readonly labels: readonly RunnerLabel[];
  readonly allow: readonly string[];
  /** The folder of the task, which exists. */
  readonly folder: string;
  /** Unique to the task. */
  readonly mark: string;
  readonly url: string;
  readonly certificates: string | undefined;
  /** Path of docker or podman, where there is one. */
  readonly engine: string | undefined;
  /** The program that runs JavaScript actions on the host. */
  readonly node: readonly string[];
  readonly architecture: string;
  /** Aborted when the runner stops: the job is cancelled. */
  readonly stopping: AbortSignal;
  /** Aborted when the runner stops waiting for the daemon. */
  readonly abandoned: AbortSignal;
  /** Prints a line about an event of the runner. */
  readonly note: (line: string) => void;
}

/** Time for steps that run after a cancellation, and when the runner itself stops. */
const CLEAN_UP_MS = 5 * 60_000;
const STOP_MS = 5_000;

/** Runs one task to its end and reports it. Resolves when the daemon has acknowledged or refused the result. */
export async function runTask(task: WireTask, deps: TaskDeps): Promise<JobEnd["result"]> {
  const { system, folder, mark } = deps;
  const { sleep, clock, platform } = system;
  const cancelled = new AbortController();
  const stopped = new AbortController();
  const done = new AbortController();
  const cancel = (after: number) => {
    cancelled.abort();
    sleep(after, done.signal).then(
      () => stopped.abort(),
      // The job has ended by itself.
      () => undefined,
    );
  };
  let isUnreported = false;
  const onLost = (error: unknown) => {
    isUnreported ||= !isFinalRefusal(error);
    cancelled.abort();
    stopped.abort();
  };
  const { send, sendLog, sendSummary } = createSender(task, deps);
  const masker = createMasker();
  for (const secret of toSecrets(task)) masker.add(secret);
  const sender = createLogSender({ send: sendLog, clock, sleep, onLost });
  const log = createJobLog(sender, masker);
  const reporter = createTaskReporter({
    send,
    clock,
    sleep,
    onLost,
    onCancelled: () => {
      if (!cancelled.signal.aborted) log.write("The job was cancelled.");
      cancel(CLEAN_UP_MS);
    },
  });
  const onStop = () => {
    log.write("::error::the runner is stopping");
    cancel(STOP_MS);
  };
  deps.stopping.addEventListener("abort", onStop, { once: true });
  const processes = createJobProcesses({ mark, sleep, platform });
  let end: JobEnd = { result: "failure", outputs: {} };
  try {
    const payload = accept(task, deps);
    const folders = await createJobFolders(folder);
    const newName = createNames();
    const place = await createPlace(task, deps, {
      payload,
      folders,
      processes,
      log,
      newName,
      signal: cancelled.signal,
    });
    end = await runJob({
      ...deps,
      task,
      payload,
      place,
      folders,
      processes,
      log,
      masker,
      reporter,
      newName,
      sleep,
      clock,
      platform,
      sendSummary,
      runnerName: deps.name,
      searchPath: system.env["PATH"] ?? "",
      cancelled: cancelled.signal,
      stopped: stopped.signal,
      cancel: () => cancel(CLEAN_UP_MS),
    });
  } catch (error) {
    log.write(`::error::${toReason(error)}`);
  } finally {
    deps.stopping.removeEventListener("abort", onStop);
    done.abort();
  }
  // Before the report: tokens do not stay on the disk while the daemon cannot be reached.
  const left = await clearTaskFolder(folder, { system, processes }).catch(toReason);
  // A failed cleanup does not change the result of the job.
  if (left !== undefined) log.write("::warning::the runner could not remove all files of the job");
  await sender.end();
  await reporter.finish(end.result, end.outputs);
  // Unreported results are reported when the runner starts again.
  if (!isUnreported) await discardTaskFolder(folder, left, deps.note);
  return end.result;
}

/** Returns the job if the runner's owner allows it. Otherwise throws an error whose message is shown in the job's log. */
function accept(task: WireTask, { allow, name }: TaskDeps): JobPayload {
  const repository = String(toGithub(task)["repository"] ?? "");
  if (!isAllowed(allow, repository))
    throw new PlaceError(
      `the runner ${name} does not run jobs of ${repository}: its owner allows ${allow.join(", ") || "no repository"}`,
    );
  const payload = parsePayload(Buffer.from(task.workflowPayload).toString("utf8"));
  if (payload.hasServices) throw new PlaceError("the built-in runner does not run services");
  return payload;
}

interface PlaceDeps {
  readonly payload: JobPayload;
  readonly folders: JobFolders;
  readonly processes: JobProcesses;
  readonly log: JobLog;
  readonly newName: (prefix: string) => string;
  readonly signal: AbortSignal;
}

async function createPlace(
  task: WireTask,
  { system, labels, engine, mark, node, folder, name }: TaskDeps,
  { payload, folders, processes, log, newName, signal }: PlaceDeps,
): Promise<Place> {
  const container = evaluateDeep(payload.container, {
    contexts: {
      github: toGithub(task),
      matrix: payload.matrix,
      vars: task.vars,
      inputs: toInputs(task, payload),
    },
  });
  const named =
    typeof container === "string" || isMapping(container) ? toContainerImage(container) : "";
  const containerEnv = isMapping(container) ? toMapping(container["env"]) : {};
  const target: LabelTarget | undefined =
    named === "" ? findTarget(labels, payload.labels) : { kind: "container", image: named };
  if (target === undefined)
    throw new PlaceError(`the runner has none of the labels ${payload.labels.join(", ")}`);
  if (target.kind === "host") {
    log.write(`Runner ${name}. This job runs on the host, unconfined, as the user of the runner.`);
    return createHostPlace({ env: system.env, folders, processes, node });
  }
  if (engine === undefined)
    throw new PlaceError(
      `the job runs in a container of ${target.image}, and the runner has neither docker nor podman`,
    );
  log.write(`Runner ${name}. This job runs in a container of ${target.image}.`);
  await recordContainer(folder, { engine, image: target.image });
  return createContainerPlace({
    engine,
    image: target.image,
    mark,
    repository: String(toGithub(task)["repository"] ?? "repository"),
    env: Object.fromEntries(
      Object.entries({ CI: "true", ...containerEnv }).map(([key, value]) => [key, toText(value)]),
    ),
    folders,
    processes,
    engineEnv: toEngineEnvironment(system.env),
    newName,
    signal,
    sink: {
      lineCharacters: () => log.lineCharacters,
      line: log.writeLine,
      isFull: () => log.isFull,
      drained: () => log.drained(),
    },
  });
}

/** Sends reports and rows of one task, again and again while the daemon cannot be reached. */
function createSender(task: WireTask, { client, system, abandoned }: TaskDeps) {
  const retry = <T>(work: () => Promise<T>) =>
    withRetries(work, { sleep: system.sleep, signal: abandoned, isFinal: isFinalRefusal });
  type Reporter = Parameters<typeof createTaskReporter>[0];
  const send: Reporter["send"] = ({ result, startedAt, stoppedAt, steps, outputs }) =>
    retry(async () => {
      const { state } = await client.updateTask(
        {
          state: {
            id: task.id,
            result: Result[result ?? "unspecified"],
            ...toTimes(startedAt, stoppedAt),
            steps: steps.map((step) => ({
              id: BigInt(step.number),
              result: Result[step.result ?? "unspecified"],
              ...toTimes(step.startedAt, step.stoppedAt),
              logIndex: BigInt(step.logIndex),
              logLength: BigInt(step.logLength),
            })),
          },
          outputs: { ...outputs },
        },
        abandoned,
      );
      return { isCancelled: state?.result === Result.cancelled };
    });
  type Sender = Parameters<typeof createLogSender>[0];
  const sendLog: Sender["send"] = (index, rows, isEnd) =>
    retry(async () => {
      const { ackIndex } = await client.updateLog(
        {
          taskId: task.id,
          index: BigInt(index),
          rows: rows.map(({ time, content }) => ({ time: timestampFromMs(time), content })),
          noMore: isEnd,
        },
        abandoned,
      );
      return Number(ackIndex);
    });
  const sendSummary = (step: number, text: string): Promise<void> => {
    const token = String(toGithub(task)["gitea_runtime_token"] ?? "");
    const [run, job] = readRuntimeIds(token);
    const path = `workflows/${run}/jobs/${job}/steps/${step}/summary`;
    return retry(() => client.putSummary(path, token, text, abandoned));
  };
  return { send, sendLog, sendSummary };
}

/** Reads the ids of run and job from the claims of a runtime token, as the toolkit of actions does. */
function readRuntimeIds(token: string): readonly [run: string, job: string] {
  const claims = Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8");
  const [, run = "", job = ""] = /"Actions\.Results:(\d+):(\d+)"/.exec(claims) ?? [];
  return [run, job];
}

function toTimes(startedAt: number | undefined, stoppedAt: number | undefined) {
  return {
    ...(startedAt === undefined ? {} : { startedAt: timestampFromMs(startedAt) }),
    ...(stoppedAt === undefined ? {} : { stoppedAt: timestampFromMs(stoppedAt) }),
  };
}

function createNames(): (prefix: string) => string {
  let count = 0;
  return (prefix) => `${prefix}${(count += 1)}`;
}
