import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { runnerService } from "../../daemon/workflows/runner-messages.ts";
import { clientHeaders } from "../client/client.ts";
import type { Transport } from "../client/transport.ts";
import { CliError } from "../errors.ts";
import { parseObject } from "../support/json.ts";

/** A call of the runner protocol that the daemon refused. */
export class RunnerRefused extends Error {
  /** Whether the same call can succeed later: the daemon is starting, overloaded or has a bug. */
  readonly isTemporary: boolean;
  constructor(message: string, isTemporary: boolean) {
    super(message);
    this.name = "RunnerRefused";
    this.isTemporary = isTemporary;
  }
}

/** The credentials of a registered runner. */
export interface RunnerCredentials {
  readonly uuid: string;
  readonly token: string;
}

export interface RunnerClientDeps {
  readonly transport: Transport;
  /** Returns the daemon's address without a trailing slash; called before each request. */
  readonly url: () => Promise<string>;
  readonly credentials: RunnerCredentials | undefined;
}

/** Calls the runner protocol: Connect with bodies of protobuf. */
export type RunnerClient = ReturnType<typeof createRunnerClient>;

export function createRunnerClient({ transport, url, credentials }: RunnerClientDeps) {
  const { method } = runnerService;
  return {
    register: (init: MessageInitShape<typeof method.register.input>, signal: AbortSignal) =>
      call(method.register, init, signal),
    declare: (init: MessageInitShape<typeof method.declare.input>, signal: AbortSignal) =>
      call(method.declare, init, signal),
    /** `tasks` are those that the runner has: the daemon hands out again one whose hand-over was lost. */
    fetchTask: (version: bigint, tasks: readonly number[], signal: AbortSignal) =>
      call(method.fetchTask, { tasksVersion: version }, signal, {
        "x-croft-tasks": tasks.join(","),
      }),
    updateTask: (init: MessageInitShape<typeof method.updateTask.input>, signal: AbortSignal) =>
      call(method.updateTask, init, signal),
    updateLog: (init: MessageInitShape<typeof method.updateLog.input>, signal: AbortSignal) =>
      call(method.updateLog, init, signal),

    /** Stores the summary of a step, signed by the runtime token of its job. */
    async putSummary(
      path: string,
      token: string,
      text: string,
      signal: AbortSignal,
    ): Promise<void> {
      const { status, body } = await transport.send({
        method: "PUT",
        url: `${await url()}/api/actions_pipeline/_apis/pipelines/${path}`,
        headers: {
          ...clientHeaders,
          "Content-Type": "text/markdown",
          Authorization: `Bearer ${token}`,
        },
        body: text,
        signal,
      });
      if (status === 200) return;
      const { msg = `the daemon answered ${status}` } = parseServiceError(body.toString("utf8"));
      throw new RunnerRefused(msg, status >= 500 || status === 429);
    },
  };

  async function call<I extends DescMessage, O extends DescMessage>(
    { name, input, output }: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<MessageShape<O>> {
    const { status, body } = await transport.send({
      method: "POST",
      url: `${await url()}/api/actions/${runnerService.typeName}/${name}`,
      headers: {
        ...clientHeaders,
        "Content-Type": "application/proto",
        ...(credentials === undefined
          ? {}
          : { "x-runner-uuid": credentials.uuid, "x-runner-token": credentials.token }),
        ...headers,
      },
      body: toBinary(input, create(input, init)),
      signal,
    });
    if (status !== 200) throw toRefusal(status, body.toString("utf8"));
    try {
      return fromBinary(output, body);
    } catch {
      // A page of a proxy in between, as while it starts: the daemon itself answers later.
      throw new RunnerRefused("the answer is not one of the runner protocol", true);
    }
  }
}

/** Returns whether a call cannot succeed by being repeated. An unreachable daemon is a temporary failure. */
export function isFinalRefusal(error: unknown): boolean {
  if (error instanceof RunnerRefused) return !error.isTemporary;
  return !(error instanceof CliError && error.code === "daemon_unreachable");
}

/** Refusals have the code `unknown` and status 500, as every runner expects. */
function toRefusal(status: number, text: string): RunnerRefused {
  const { code, message } = parseError(text);
  const isRefused = code === "unknown" || (status >= 400 && status < 500 && status !== 429);
  const words = message.replace(/^rpc error: code = \w+ desc = /, "");
  return new RunnerRefused(words === "" ? `the daemon answered ${status}` : words, !isRefused);
}

function parseServiceError(text: string): { readonly msg?: string } {
  // A proxy in between may answer pages of its own, which are not JSON.
  const { msg } = parseObject(text) ?? {};
  return typeof msg === "string" ? { msg } : {};
}

function parseError(text: string): { readonly code: string; readonly message: string } {
  const { code = "", message = "" } = parseObject(text) ?? {};
  return { code: String(code), message: String(message) };
}
