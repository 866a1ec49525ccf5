import type { IncomingMessage, ServerResponse } from "node:http";
import type { NodeHandler } from "./server.ts";

/** Time in which requests are started in one turn of the event loop. */
const SLICE_MS = 5;

/**
 * Wraps a handler so that requests which arrive together are started in several turns of the event loop, in their order. With
 * two hundred connections the work of all their requests would be one turn of a quarter of a second, for which timers, durable
 * writes and the output of programs wait.
 * @param now milliseconds
 */
export function startInSlices(handler: NodeHandler, now = () => performance.now()): NodeHandler {
  /** The end of the slice of this turn; undefined before its first request. */
  let endsAt: number | undefined;
  let waiting = 0;

  const mayStart = (): boolean => {
    if (endsAt !== undefined) return now() < endsAt;
    endsAt = now() + SLICE_MS;
    setImmediate(() => {
      endsAt = undefined;
    });
    return true;
  };

  const startLater = (message: IncomingMessage, response: ServerResponse): void => {
    setImmediate(() => {
      const isGone = message.socket.destroyed;
      if (!isGone && !mayStart()) return startLater(message, response);
      waiting -= 1;
      if (!isGone) handler(message, response);
    });
  };

  return (message, response) => {
    if (waiting === 0 && mayStart()) return handler(message, response);
    waiting += 1;
    startLater(message, response);
  };
}
