import type { JsonObject } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import type { ActionRunner } from "../../../../storage/tables/forge/actions/runners.ts";
import type { ActionStatus } from "../../../../storage/tables/forge/actions/statuses.ts";
import type { ErrorCode } from "../../../errors.ts";
import { toRefusal } from "../../../http/replies.ts";
import type { Logs } from "../runners/logs.service.ts";
import { type Registration, RunnerRefusal } from "../runners/registration.service.ts";
import type { AssignedTask, Tasks } from "../runners/tasks.service.ts";
import { STEPS_MAX } from "../../../workflows/workflow.ts";
import { createVersionWatch } from "./version-watch.ts";
import {
  pingService,
  Result,
  runnerService,
  type TaskState,
} from "../../../workflows/runner-messages.ts";
import { toTaskId } from "../../../../storage/tables/forge/ids.ts";

export interface RunnerProtocolDeps {
  readonly registration: Registration;
  readonly tasks: Tasks;
  readonly logs: Logs;
  /** Aborted when the daemon stops: held requests are answered. */
  readonly stopping: AbortSignal;
  readonly reportBug: (error: unknown) => void;
}

/** How long a request for work is held. Runners time out after 5 s. */
const HOLD_MS = 3_000;
/** Polling interval of the queue's version, shared by all held requests. */
const LOOK_EVERY_MS = 50;
/** Runner status on the wire. */
const STATUS_IDLE = 1;
const STATUS_OFFLINE = 3;
/**
 * The ids of the tasks that a runner has, separated by commas. A task whose id is missing is assigned to the runner
 * again.
 */
const TASKS_HEADER = "x-croft-tasks";
const CAPABILITIES_HEADER = "X-Gitea-Actions-Capabilities";

/** Adds the services of the runner protocol to a router. */
export function addRunnerProtocol(router: ConnectRouter, deps: RunnerProtocolDeps): void {
  const { registration, tasks, logs, stopping } = deps;
  const versions = createVersionWatch({ read: tasks.readVersion, everyMs: LOOK_EVERY_MS });

  router.service(pingService, {
    ping: ({ data }) => ({ data: `Hello, ${data}!` }),
  });

  router.service(runnerService, {
    register: (request) =>
      answer(async () => {
        const { agentLabels, customLabels, labels, ephemeral, ...rest } = request;
        const { runner, token } = await registration.register(request.token, {
          ...rest,
          labels: labels.length > 0 ? labels : [...agentLabels, ...customLabels],
          isEphemeral: ephemeral,
        });
        return { runner: { ...toWireRunner(runner), token, status: STATUS_OFFLINE } };
      }),

    declare: (request, context) =>
      answer(async () => {
        const runner = await authenticate(context);
        context.responseHeader.set(CAPABILITIES_HEADER, "job-summary");
        return { runner: toWireRunner(await registration.declare(runner, request)) };
      }),

    fetchTask: ({ tasksVersion }, context) =>
      answer(async () => {
        const known = Number(tasksVersion);
        const runner = await authenticate(context);
        const tasksHeader = context.requestHeader.get(TASKS_HEADER);
        const lost =
          tasksHeader === null
            ? undefined
            : await tasks.assignAgain(runner, tasksHeader.split(",").map(toTaskId));
        if (lost !== undefined) return { tasksVersion, task: toWireTask(lost) };
        const ended = AbortSignal.any([context.signal, stopping]);
        const version = await versions.wait(known, HOLD_MS, ended);
        // A task assigned to a disconnected runner would be lost until it times out.
        if (version === known || ended.aborted) return { tasksVersion };
        // Read again: the runner may have been enabled, disabled or deleted in the meantime.
        const task = await tasks.assign(await authenticate(context), context.signal);
        return {
          tasksVersion: BigInt(version),
          ...(task === undefined ? {} : { task: toWireTask(task) }),
        };
      }),

    updateTask: ({ state, outputs }, context) =>
      answer(async () => {
        const runner = await authenticate(context);
        if (state === undefined) throw new RunnerRefusal("update task: missing state");
        const reported = await tasks.report(runner, toTaskId(toId(state.id)), {
          result: toResult(state.result),
          steps: state.steps.slice(0, STEPS_MAX).map(toStep),
          outputs,
        });
        return {
          state: { id: state.id, result: toWireResult(reported.status) },
          sentOutputs: reported.outputs,
        };
      }),

    updateLog: ({ taskId, index, rows, noMore }, context) =>
      answer(async () => {
        const runner = await authenticate(context);
        const acknowledged = await logs.append(runner, {
          taskId: toTaskId(toId(taskId)),
          index: Number(index),
          rows: rows.map(({ time, content }) => ({ time: toTime(time) ?? 0, content })),
          isEnd: noMore,
        });
        return { ackIndex: BigInt(acknowledged) };
      }),
  });

  function authenticate({ requestHeader }: HandlerContext): Promise<ActionRunner> {
    const uuid = requestHeader.get("x-runner-uuid") ?? "";
    return registration.authenticate(uuid, requestHeader.get("x-runner-token") ?? "");
  }

  /** Refusals have code unknown and status 500, as runners expect; a bug is logged under a fixed text. */
  async function answer<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof RunnerRefusal) throw new ConnectError(error.message, Code.Unknown);
      // Runners send a report again.
      const refusal = toRefusal(error);
      if (refusal !== undefined && PASSING.has(refusal.code))
        throw new ConnectError(refusal.message, Code.Unavailable);
      deps.reportBug(error);
      throw new ConnectError("internal error", Code.Internal);
    }
  }
}

/** Refusals that pass by themselves. */
const PASSING: ReadonlySet<ErrorCode> = new Set(["unavailable", "rate_limited", "storage_full"]);

function toWireRunner(runner: ActionRunner) {
  const { uuid, name, version, labels, isEphemeral } = runner;
  return {
    id: BigInt(runner.id),
    uuid,
    name,
    version,
    labels: [...labels],
    ephemeral: isEphemeral,
    status: STATUS_IDLE,
  };
}

function toWireTask({ id, payload, context, needs, secrets, vars }: AssignedTask) {
  return {
    id: BigInt(id),
    workflowPayload: Buffer.from(payload),
    context: context as JsonObject,
    secrets: { ...secrets },
    needs: Object.fromEntries(
      [...needs].map(([key, { result, outputs }]) => [
        key,
        { outputs: { ...outputs }, result: toWireResult(result) },
      ]),
    ),
    vars: { ...vars },
  };
}

function toStep({
  id,
  result,
  startedAt,
  stoppedAt,
  logIndex,
  logLength,
}: TaskState["steps"][number]) {
  const ended = toResult(result);
  return {
    number: toId(id),
    status: ended ?? (startedAt === undefined ? ("waiting" as const) : ("running" as const)),
    startedAt: toTime(startedAt),
    completedAt: toTime(stoppedAt),
    logIndex: toRows(logIndex),
    logLength: toRows(logLength),
  };
}

/** Parses an id. Returns -1, which no row has, for one out of range. */
function toId(id: bigint): number {
  return id >= 0n && id <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(id) : -1;
}

/** Parses a number of rows; a number beyond any log is 0. */
function toRows(rows: bigint): number {
  return rows > 0n && rows <= ROWS_MAX ? Number(rows) : 0;
}

const ROWS_MAX = 1_000_000_000n;

const WORDS = ["success", "failure", "cancelled", "skipped"] as const;

function toResult(result: number): (typeof WORDS)[number] | undefined {
  return WORDS.find((word) => Result[word] === result);
}

function toWireResult(status: ActionStatus): number {
  if (status === "cancelling") return Result.cancelled;
  const word = WORDS.find((each) => each === status);
  return word === undefined ? Result.unspecified : Result[word];
}

function toTime(time: Timestamp | undefined): number | undefined {
  if (time === undefined) return undefined;
  const at = timestampDate(time).getTime();
  return Number.isFinite(at) ? Math.max(0, Math.min(at, TIME_MAX)) : 0;
}

/** The last time that RFC 3339 can express, which has four digits for the year. */
const TIME_MAX = 253_402_300_799_999;
