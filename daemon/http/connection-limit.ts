import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { NodeHandler } from "./server.ts";

/** The share of file descriptors that is kept for files, git and providers, and its least number. */
const RESERVED_SHARE = 0.25;
const RESERVED_MIN = 64;
/** The share of all connections beyond which none is kept open after its response. */
const IDLE_SHARE = 0.5;

/**
 * Wraps a handler so that connections for which the process lacks file descriptors are answered 503 and closed; far
 * beyond it they are closed at once. Beyond half of the limit no connection stays open after its response. Without this bound the system's `accept` fails, which clients see as a broken
 * connection, and so does every file that a running request opens.
 * @param limit the number of connections; derived from the process' limit of open files when absent
 */
export function limitConnections(
  handler: NodeHandler,
  limit = connectionLimit(),
): { readonly handler: NodeHandler; readonly watch: (server: Server) => void } {
  const refused = new WeakSet<Socket>();
  let open = 0;
  return {
    handler: (message, response) => {
      // Idle connections must not take the places of new ones.
      if (open > limit * IDLE_SHARE) response.shouldKeepAlive = false;
      if (!refused.has(message.socket)) return handler(message, response);
      response.writeHead(503, BUSY).end("the server is busy\n");
    },
    watch(server) {
      server.on("connection", (socket: Socket) => {
        open += 1;
        socket.once("close", () => {
          open -= 1;
        });
        if (open > limit + RESERVED_MIN / 2) socket.destroy();
        else if (open > limit) refused.add(socket);
      });
    },
  };
}

/** Unanswered requests of one connection. Clients that pipeline send a few ahead; `apt` sends ten. */
const PIPELINED_MAX = 32;
/** Bytes of finished responses of one connection that wait for the response before them. */
const PIPELINED_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Wraps a handler so that a connection with too many unanswered requests is closed, or with too many bytes of responses
 * that wait for one that its client does not read.
 * @param previous returns the response to the latest request of a connection before this one
 */
export function limitPipelining(
  handler: NodeHandler,
  previous: (socket: Socket) => ServerResponse | undefined,
): NodeHandler {
  const ahead = new WeakMap<Socket, number>();
  const waiting = new WeakMap<Socket, number>();
  return (message, response) => {
    const { socket } = message;
    // The same read may have contained further pipelined requests after the one over the limit.
    if (socket.destroyed) return;
    const before = previous(socket);
    if (before !== undefined && !before.writableFinished) {
      const count = (ahead.get(socket) ?? 0) + 1;
      if (count > PIPELINED_MAX) {
        socket.destroy();
        return;
      }
      ahead.set(socket, count);
      response.once("close", () => ahead.set(socket, (ahead.get(socket) ?? 1) - 1));
      onEnded(response, () => {
        const bytes = response.writableLength;
        const sum = (waiting.get(socket) ?? 0) + bytes;
        waiting.set(socket, sum);
        response.once("close", () => waiting.set(socket, (waiting.get(socket) ?? bytes) - bytes));
        if (sum > PIPELINED_BYTES_MAX) socket.destroy();
      });
    }
    handler(message, response);
  };
}

/** Calls back when the handler has ended a response: its events come only after the responses before it are sent. */
function onEnded(response: ServerResponse, then: () => void): void {
  const end = response.end.bind(response) as (...values: unknown[]) => ServerResponse;
  response.end = (...values: unknown[]) => {
    const ended = end(...values);
    then();
    return ended;
  };
}

/** Reads with shorter requests on average are parsed in slices. Files of text have no blank line every few lines. */
const REQUEST_BYTES_MIN = 512;
const SLICE_BYTES = 1_024;

/**
 * Parses reads of very many requests in slices, and stops when the connection was closed. Node would parse all of its
 * 64 KiB, which are thousands of requests, before it reads another connection: fifty clients delayed all others by
 * seconds, although their connections were closed after the first requests.
 */
export function sliceReads(server: Server): void {
  const watch = (socket: Socket) => {
    const parse = socket.listeners("data")[0];
    // A TLS connection before its handshake; `secureConnection` follows for it.
    if (parse === undefined) return;
    // With a `data` listener that is not Node's own, the parser no longer reads the descriptor itself.
    socket.removeListener("data", parse as (chunk: Buffer) => void);
    socket.on("data", (chunk: Buffer<ArrayBuffer>) => {
      const step = hasManyRequests(chunk) ? SLICE_BYTES : chunk.byteLength;
      for (let at = 0; at < chunk.byteLength && !socket.destroyed; at += step) {
        // Node stops reading while responses wait for a slow client, and its parser must not get more then.
        if (socket.isPaused()) {
          socket.unshift(chunk.subarray(at));
          return;
        }
        parse.call(socket, chunk.subarray(at, at + step));
      }
    });
  };
  server.on("connection", watch);
  server.on("secureConnection", watch);
}

function hasManyRequests(chunk: Buffer): boolean {
  // Shorter reads, such as one request, are not worth the check.
  if (chunk.byteLength <= 4 * SLICE_BYTES) return false;
  let at = -1;
  for (let ends = 0; ends * REQUEST_BYTES_MIN <= chunk.byteLength; ends += 1) {
    at = chunk.indexOf("\r\n\r\n", at + 1, "latin1");
    if (at === -1) return false;
  }
  return true;
}

/**
 * Number of chunks that a body may have at any length, and the minimum mean length of chunks beyond it. A chunk takes
 * microseconds and an object of its own, however short it is, and one read brings ten thousand chunks of a byte.
 */
const CHUNKS_MAX = 4_096;
const CHUNK_BYTES_MIN = 32;

/** Wraps a handler so that it closes a connection whose request body has very many short chunks. */
export function limitChunks(handler: NodeHandler): NodeHandler {
  return (message, response) => {
    if (message.headers["transfer-encoding"] !== undefined) countChunks(message);
    handler(message, response);
  };
}

/** Counts each chunk that the parser delivers, so unread bodies count too. */
function countChunks(message: IncomingMessage): void {
  const push = message.push.bind(message);
  let chunks = 0;
  let bytes = 0;
  message.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    // The parser continues to the end of the bytes that it has read.
    if (message.socket.destroyed && chunk !== null) return false;
    if (chunk !== null) {
      chunks += 1;
      bytes += chunk.byteLength;
      if (chunks > CHUNKS_MAX + bytes / CHUNK_BYTES_MIN) {
        message.socket.destroy();
        return false;
      }
    }
    return push(chunk, encoding);
  };
}

const BUSY = { "Retry-After": "1", "Content-Type": "text/plain", Connection: "close" };

function connectionLimit(): number {
  const files = openFileLimit();
  if (files === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, files - Math.max(RESERVED_MIN, Math.ceil(files * RESERVED_SHARE)));
}

/** Returns the soft limit of open files; undefined on systems without `/proc` and without a limit. */
function openFileLimit(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    // Not Linux: the limits of macOS and Windows are higher than the number of connections that clients of one machine
    // open.
    return undefined;
  }
}
