import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { runnerService } from "../../../daemon/workflows/runner-messages.ts";
import type { TestAnswer, TestDaemon } from "../daemon.ts";

/** The credentials of a runner's calls. */
export interface RunnerCredentials {
  readonly uuid: string;
  readonly token: string;
}

/** Calls a method of the runner protocol with a body of JSON. */
export function callRunner(
  daemon: Pick<TestDaemon, "request">,
  method: string,
  body: object,
  credentials?: RunnerCredentials,
): Promise<TestAnswer> {
  const service = method === "Ping" ? "ping.v1.PingService" : "runner.v1.RunnerService";
  return daemon.request(`/api/actions/${service}/${method}`, {
    method: "POST",
    json: body,
    headers: toHeaders(credentials),
  });
}

/** Registers a runner and declares its labels. */
export async function registerRunner(
  daemon: Pick<TestDaemon, "request">,
  token: string,
  fields: {
    readonly name: string;
    readonly labels: readonly string[];
    readonly ephemeral?: boolean;
  },
  capabilities: readonly string[] = [],
): Promise<RunnerCredentials & { readonly id: number }> {
  const answer = await callRunner(daemon, "Register", { token, version: "test", ...fields });
  if (answer.status !== 200) throw new Error(`not registered: ${answer.status} ${answer.text}`);
  const { id, uuid, token: own } = answer.json.runner;
  const { labels } = fields;
  const credentials = { uuid, token: own, id: Number(id) };
  await callRunner(daemon, "Declare", { version: "test", labels, capabilities }, credentials);
  return credentials;
}

/** Asks for work with a protobuf body, as the official runner does. Returns the task, or undefined. */
export async function fetchTask(
  daemon: Pick<TestDaemon, "url">,
  credentials: RunnerCredentials,
  tasksVersion = 0,
) {
  const { input, output } = runnerService.method.fetchTask;
  const body = toBinary(input, create(input, { tasksVersion: BigInt(tasksVersion) }));
  const response = await fetch(`${daemon.url}/api/actions/runner.v1.RunnerService/FetchTask`, {
    method: "POST",
    headers: { "Content-Type": "application/proto", ...toHeaders(credentials) },
    body: Buffer.from(body),
  });
  if (response.status !== 200) throw new Error(`no answer: ${await response.text()}`);
  return fromBinary(output, Buffer.from(await response.arrayBuffer()));
}

/** Appends rows to a log with a packed protobuf body. Returns how many rows the daemon has. */
export async function reportLog(
  daemon: Pick<TestDaemon, "url">,
  credentials: RunnerCredentials,
  report: { readonly taskId: bigint; readonly index: bigint; readonly rows: readonly string[] },
): Promise<number> {
  const { input, output } = runnerService.method.updateLog;
  const rows = report.rows.map((content) => ({ content }));
  const body = gzipSync(toBinary(input, create(input, { ...report, rows })));
  const response = await fetch(`${daemon.url}/api/actions/runner.v1.RunnerService/UpdateLog`, {
    method: "POST",
    headers: {
      "Content-Type": "application/proto",
      "Content-Encoding": "gzip",
      ...toHeaders(credentials),
    },
    body,
  });
  if (response.status !== 200) throw new Error(`not taken: ${await response.text()}`);
  return Number(fromBinary(output, Buffer.from(await response.arrayBuffer())).ackIndex);
}

const toHeaders = (credentials: RunnerCredentials | undefined): Record<string, string> =>
  credentials === undefined
    ? {}
    : { "x-runner-uuid": credentials.uuid, "x-runner-token": credentials.token };
