import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import type { Compression, UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { AppError } from "../../../errors.ts";
import { toRefusal } from "../../../http/replies.ts";
import type { BodyBudgets } from "../../../http/body-memory.ts";
import { closeAfterUnreadBody, readWholeBody } from "../../../http/request-body.ts";
import { runnerService } from "../../../workflows/runner-messages.ts";
import { RunnerRefusal } from "../runners/registration.service.ts";
import { addRunnerProtocol, type RunnerProtocolDeps } from "./runner-protocol.ts";
import { hasFewValues, isSmall, OddMessage, splitLog } from "./wire-bounds.ts";

/** Path prefix of the services of the protocol. */
const RUNNER_PROTOCOL_PREFIX = "/api/actions";

/** Largest message of a runner, compressed or not. */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;
/** Largest message of JSON, which runners do not use. */
const JSON_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Largest message of a client without credentials, which only needs to register, and in an envelope of gRPC-Web: its parts are
 * not counted before it is decoded.
 */
const SMALL_BYTES_MAX = 64 * 1024;
/** How long a runner may take to send a message. */
const MESSAGE_DEADLINE_MS = 5 * 60_000;
/** Smallest response that is compressed. */
const COMPRESS_FROM_BYTES = 1024;

const gzipCompression: Compression = {
  name: "gzip",
  compress: promisify(gzip),
  async decompress(bytes, readMaxBytes) {
    try {
      return await promisify(gunzip)(bytes, { maxOutputLength: readMaxBytes });
    } catch (error) {
      throw new ConnectError(
        "the body is not gzip, or too large",
        Code.InvalidArgument,
        {},
        [],
        error,
      );
    }
  },
};

/** Reports a request of a method for the access log, once its response is closed. */
export type LogRequest = (
  message: IncomingMessage,
  response: ServerResponse,
  method: string,
) => void;

/** The limits and the log of the runners' requests. */
export interface RunnerTransport {
  readonly logged: LogRequest;
  readonly bodies: BodyBudgets;
  /** Returns the key of the address that a request comes from. */
  readonly addressKey: (message: IncomingMessage, response: ServerResponse) => string;
}

/**
 * Serves the runner protocol below `/api/actions`: Connect and gRPC-Web, with bodies of JSON and protobuf. It does not
 * use the binder, because its services declare their own messages; every method but Register and Ping needs the
 * credentials of a runner. Credentials are checked before the body is read: without them it must be small.
 */
export function createRunnerHandler(
  deps: RunnerProtocolDeps,
): (message: IncomingMessage, response: ServerResponse, transport: RunnerTransport) => void {
  const ofRunners = createHandlers(deps, MESSAGE_BYTES_MAX);
  const ofOthers = createHandlers(deps, SMALL_BYTES_MAX);

  /** Credentials are checked again after the body, which may take minutes to arrive. */
  async function findRunner({ headers }: IncomingMessage): Promise<number | undefined> {
    try {
      const uuid = String(headers["x-runner-uuid"] ?? "");
      const runner = await deps.registration.authenticate(
        uuid,
        String(headers["x-runner-token"] ?? ""),
      );
      return runner.id;
    } catch (error) {
      if (error instanceof RunnerRefusal) return undefined;
      throw error;
    }
  }

  async function run(
    path: string,
    message: IncomingMessage,
    response: ServerResponse,
    { bodies, addressKey }: RunnerTransport,
    signal: AbortSignal,
  ): Promise<UniversalServerResponse> {
    const runner = await findRunner(message);
    const isRunner = runner !== undefined;
    const memory = isRunner
      ? bodies.signedIn(`runner ${runner}`)
      : bodies.anonymous(addressKey(message, response));
    try {
      const bytesMax = isRunner ? toBytesMax(message.headers["content-type"]) : SMALL_BYTES_MAX;
      const body = await readWholeBody(message, {
        maxBytes: bytesMax,
        memory,
        ...(isRunner ? { deadlineMs: MESSAGE_DEADLINE_MS } : {}),
      });
      const isCounted = bytesMax > SMALL_BYTES_MAX;
      const handler = (isCounted ? ofRunners : ofOthers).get(path);
      if (handler === undefined) throw new Error(`no method at ${path}`);
      const request = {
        httpVersion: message.httpVersion,
        method: message.method ?? "",
        url: new URL(path, "http://runner.invalid").href,
        header: toHeaders(message),
        signal,
      };
      if (isCounted) return await sendBounded(handler, { ...request, body, bytesMax });
      const answer = await handler({ ...request, body: once(body) });
      const isBroken =
        answer.status === 500 && isBrokenMessage(handler.method.input, request.header, body);
      return isBroken ? brokenMessage(BROKEN) : answer;
    } finally {
      memory.release();
    }
  }

  return (message, response, transport) => {
    const path = (message.url ?? "")
      .split("?", 1)
      .join()
      .replaceAll(/\/{2,}/g, "/");
    const method = ofRunners.get(path)?.method.name;
    transport.logged(message, response, method ?? "unknown");
    if (method === undefined) {
      closeAfterUnreadBody(message, response);
      respondPlain(response, 404, "404 page not found\n");
      return;
    }
    const aborted = new AbortController();
    response.once("close", () => aborted.abort());
    run(path, message, response, transport, aborted.signal)
      .then((answer) => respond(response, answer))
      .catch((error: unknown) => {
        const known = toRefusal(error);
        const refusal = known && refusals[known.code];
        // A runner that disconnected needs no response and is not a bug.
        if (refusal === undefined && !aborted.signal.aborted) deps.reportBug(error);
        if (response.headersSent) return response.destroy();
        closeAfterUnreadBody(message, response);
        if (refusal === undefined) respondPlain(response, 500, "Internal server error\n");
        else respondPlain(response, refusal, `${known?.message}\n`);
      });
  };
}

function createHandlers(deps: RunnerProtocolDeps, bytesMax: number) {
  const router = createConnectRouter({
    grpc: false,
    readMaxBytes: bytesMax,
    writeMaxBytes: MESSAGE_BYTES_MAX,
    compressMinBytes: COMPRESS_FROM_BYTES,
    acceptCompression: [gzipCompression],
  });
  addRunnerProtocol(router, deps);
  return new Map(
    router.handlers.map((handler) => [`${RUNNER_PROTOCOL_PREFIX}${handler.requestPath}`, handler]),
  );
}

/** Statuses of requests whose body is not read. */
const refusals: Partial<Record<AppError["code"], number>> = {
  too_large: 413,
  timed_out: 408,
  rate_limited: 429,
  unavailable: 503,
  invalid_argument: 400,
};

const PROTOBUF = "application/proto";
const JSON_TYPE = "application/json";

/** Returns how large a message of a runner may be. */
function toBytesMax(contentType: string | undefined): number {
  if (contentType === PROTOBUF) return MESSAGE_BYTES_MAX;
  return contentType === JSON_TYPE ? JSON_BYTES_MAX : SMALL_BYTES_MAX;
}

type Handler = ReturnType<ReturnType<typeof createHandlers>["get"]> & {};
type BoundedRequest = Omit<Parameters<Handler>[0], "body"> & {
  readonly body: Buffer;
  readonly bytesMax: number;
};

/** Sends a message of a runner to its method, unpacked and in parts that are decoded at once. */
async function sendBounded(
  handler: Handler,
  { body, bytesMax, ...request }: BoundedRequest,
): Promise<UniversalServerResponse> {
  const { header } = request;
  const { input } = handler.method;
  const isProtobuf = header.get("content-type") === PROTOBUF;
  let answer: UniversalServerResponse | undefined;
  try {
    const bytes =
      header.get("content-encoding") === "gzip"
        ? await gzipCompression.decompress(body, bytesMax)
        : body;
    if (bytes !== body) header.delete("content-encoding");
    // That of the packed, whole message, with which the library would compare each part.
    header.delete("content-length");
    const parts = (isProtobuf && input === updateLog.input && splitLog(bytes)) || [{ bytes }];
    for (const part of parts) {
      const isFine = isProtobuf ? isSmall(input, part.bytes) : hasFewValues(part.bytes);
      if (!isFine) return brokenMessage("the message has too many parts");
      answer = await handler({ ...request, body: once(part.bytes) });
      if (answer.status === 500 && isBrokenMessage(input, header, part.bytes))
        return brokenMessage(BROKEN);
      if (!("rowsAfter" in part) || answer.status !== 200) return answer;
      const acknowledged = Buffer.concat(await Array.fromAsync(answer.body ?? []));
      answer = { ...answer, body: once(acknowledged) };
      if (Number(fromBinary(updateLog.output, acknowledged).ackIndex) !== part.rowsAfter)
        return answer;
    }
  } catch (error) {
    if (error instanceof ConnectError || error instanceof OddMessage)
      return brokenMessage(error.message);
    throw error;
  }
  return answer ?? brokenMessage(BROKEN);
}

const { updateLog } = runnerService.method;

/** Returns whether the body is invalid protobuf, which the library reports as an internal error. */
function isBrokenMessage(schema: DescMessage, header: Headers, body: Uint8Array): boolean {
  if (header.get("content-type") !== PROTOBUF || header.has("content-encoding")) return false;
  try {
    fromBinary(schema, body);
    return false;
  } catch {
    return true;
  }
}

const BROKEN = "the body is not a message of this method";

function brokenMessage(message: string): UniversalServerResponse {
  const error = { code: "invalid_argument", message };
  return {
    status: 400,
    header: new Headers({ "Content-Type": "application/json" }),
    body: once(Buffer.from(JSON.stringify(error))),
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/**
 * Ignores the deadlines of callers: a runner sends the time limit of its job, which may be hours, with every report, and
 * no method takes longer than a held request for work.
 */
const DEADLINES: ReadonlySet<string> = new Set(["connect-timeout-ms", "grpc-timeout"]);

function toHeaders(message: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct))
    if (!DEADLINES.has(name)) for (const value of values ?? []) headers.append(name, value);
  return headers;
}

async function respond(response: ServerResponse, answer: UniversalServerResponse): Promise<void> {
  const { status, header, body } = answer;
  const chunks: Uint8Array[] = [];
  if (body !== undefined) for await (const chunk of body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  for (const [name, value] of header ?? []) response.setHeader(name, value);
  response.setHeader("Content-Length", bytes.byteLength);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.statusCode = status;
  response.end(bytes);
}

function respondPlain(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "text/plain; charset=utf-8");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.end(text);
}
