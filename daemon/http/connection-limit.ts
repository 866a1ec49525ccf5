import { readFileSync } from "node:fs";
import type { Server } from "node:http";
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
