import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../errors.ts";

/** Codes of the errors that reading from or writing to a closed connection gives. */
const CONNECTION_CODES = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ABORT_ERR",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
]);

/**
 * Returns whether `error` is only the consequence of a client that disconnected: the connection is gone, and the error
 * is an abort, a broken stream, or a refusal caused by one. A bug that happens to meet a closed connection is not.
 */
export function isDisconnect(
  error: unknown,
  message: IncomingMessage,
  response: ServerResponse,
): boolean {
  const isGone = response.destroyed || (message.destroyed && !message.complete);
  if (!isGone) return false;
  const origin = error instanceof AppError ? (error.cause ?? error) : error;
  return isConnectionError(origin);
}

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === "AbortError" || ("code" in error && CONNECTION_CODES.has(String(error.code)))
  );
}
