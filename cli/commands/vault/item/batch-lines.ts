import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { toFailure } from "../../../client/outcomes.ts";
import { CliError } from "../../../errors.ts";
import { type JsonObject, parseObject } from "../../../support/json.ts";

/** One line of the response to a batch: the response of a single request, with its status. */
export interface BatchLine {
  readonly status: number;
  readonly retry_after_s?: number;
}

/**
 * Yields the lines of a response as they arrive. Throws `unexpected_answer` for an invalid line, and the stream's
 * error when the connection closes early.
 */
export async function* readBatchLines<L extends BatchLine>(stream: Readable): AsyncGenerator<L> {
  for await (const text of createInterface({ input: stream, crlfDelay: Infinity }))
    yield parseBatchLine<L>(text);
  // The line reader ends without an error when the connection closes early.
  if (stream.errored !== null) throw stream.errored;
}

/** Parses one line. Throws `unexpected_answer` when it is not JSON or has no status. */
export function parseBatchLine<L extends BatchLine>(text: string): L {
  const line = parseObject(text);
  if (isLine<L>(line)) return line;
  throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
}

/** Only the status is checked: the client trusts the daemon to send the other members as the contract declares them. */
function isLine<L extends BatchLine>(line: JsonObject | undefined): line is L & JsonObject {
  return typeof line?.["status"] === "number";
}

/** Returns the failure that a line reports; undefined when it reports a success. */
export function toLineFailure(line: BatchLine): CliError | undefined {
  const { status, retry_after_s: seconds, ...body } = line;
  return toFailure({
    service: "vault",
    status,
    body,
    requestId: undefined,
    retryAfter: seconds === undefined ? undefined : String(seconds),
  });
}
