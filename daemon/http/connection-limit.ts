import { readFileSync } from "node:fs";
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { NodeHandler } from "./server.ts";

/** The share of file descriptors that is kept for files, git and providers, and its least number. */
const RESERVED_SHARE = 0.25;
const RESERVED_MIN = 64;

/**
 * Wraps a handler so that connections beyond what the process has file descriptors for are answered 503 and closed; far
 * beyond it they are closed at once. Without this bound the system's `accept` fails, which clients see as a broken
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

/**
 * Unanswered requests of one connection. Clients that pipeline send a few ahead. Node handles all that one read brings, which
 * are thousands of short ones, before it looks at another connection: two such clients delay all others by seconds.
 */
const PIPELINED_MAX = 64;

/**
 * Wraps a handler so that a connection with too many unanswered requests is closed.
 * @param previous returns the response to the latest request of a connection before this one
 */
export function limitPipelining(
  handler: NodeHandler,
  previous: (socket: Socket) => ServerResponse | undefined,
): NodeHandler {
  const ahead = new WeakMap<Socket, number>();
  return (message, response) => {
    const { socket } = message;
    // What the same read has brought behind the request that was one too many.
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
    }
    handler(message, response);
  };
}

const BUSY = { "Retry-After": "1", "Content-Type": "text/plain", Connection: "close" };

function connectionLimit(): number {
  const files = openFileLimit();
  if (files === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, files - Math.max(RESERVED_MIN, Math.ceil(files * RESERVED_SHARE)));
}

/** Returns the soft limit of open files; undefined where the system has no such file or no limit. */
function openFileLimit(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    // Not Linux: the limits of macOS and Windows are beyond what clients of one machine open.
    return undefined;
  }
}
