import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import type { Compression, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { addRunnerProtocol, type RunnerProtocolDeps } from "./runner-protocol.ts";

/** Address below which the services of the protocol are. */
export const RUNNER_PROTOCOL_PREFIX = "/api/actions";

/** Largest message of a runner, compressed or not. */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;
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

/**
 * Serves the runner protocol below `/api/actions`: Connect and gRPC-Web, with bodies of JSON and protobuf. It stands beside
 * the binder, since its services declare their own messages; every method but Register and Ping needs the credentials of
 * a runner.
 */
export function createRunnerHandler(
  deps: RunnerProtocolDeps,
): (message: IncomingMessage, response: ServerResponse, logged: LogRequest) => void {
  const router = createConnectRouter({
    grpc: false,
    readMaxBytes: MESSAGE_BYTES_MAX,
    writeMaxBytes: MESSAGE_BYTES_MAX,
    compressMinBytes: COMPRESS_FROM_BYTES,
    acceptCompression: [gzipCompression],
  });
  addRunnerProtocol(router, deps);
  const handlers = new Map(
    router.handlers.map((handler) => [`${RUNNER_PROTOCOL_PREFIX}${handler.requestPath}`, handler]),
  );
  return (message, response, logged) => {
    const [path = ""] = (message.url ?? "").split("?", 1);
    const handler = handlers.get(path.replaceAll(/\/{2,}/g, "/"));
    logged(message, response, handler === undefined ? "unknown" : handler.method.name);
    if (handler === undefined) {
      respondPlain(response, 404, "404 page not found\n");
      return;
    }
    const aborted = new AbortController();
    response.once("close", () => aborted.abort());
    handler({
      httpVersion: message.httpVersion,
      method: message.method ?? "",
      url: new URL(path, "http://runner.invalid").href,
      header: toHeaders(message),
      body: message,
      signal: aborted.signal,
    })
      .then((answer) => respond(response, answer))
      .catch((error: unknown) => {
        // A runner that hung up needs no answer and is not a bug.
        if (!aborted.signal.aborted) deps.reportBug(error);
        if (response.headersSent) response.destroy();
        else respondPlain(response, 500, "Internal server error\n");
      });
  };
}

/**
 * Deadlines of the caller. A runner sends the time limit of its job, which may be hours, with every report; no method takes
 * longer than a held request for work, so a deadline says nothing here.
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
