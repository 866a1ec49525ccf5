import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestReport } from "../../../http/bind.ts";
import type { ServerRequest } from "../../../http/handle.ts";

export interface ProtocolLogDeps {
  readonly toServerRequest: (message: IncomingMessage, response: ServerResponse) => ServerRequest;
  /** Counts a request and writes its line of the access log. */
  readonly report: (result: RequestReport) => void;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Maximum number of lines of one method in a minute: a runner with a wrong token retries every few seconds. */
const LINES_MAX = 30;
const WINDOW_MS = 60_000;
/** Methods that runners call continually. */
const FREQUENT: ReadonlySet<string> = new Set(["FetchTask", "UpdateTask", "UpdateLog"]);
/** The status of a runner that closed the connection before its response. */
const CLIENT_CLOSED_REQUEST = 499;

/**
 * Counts and logs requests of runners. Frequent methods are logged at level debug unless they are refused. Each method
 * has at most 30 lines a minute, for all runners together.
 */
export function createProtocolLog({ toServerRequest, report, clock }: ProtocolLogDeps) {
  const windows = new Map<string, { readonly since: number; readonly lines: number }>();
  return (message: IncomingMessage, response: ServerResponse, method: string): void => {
    const request = toServerRequest(message, response);
    response.once("close", () => {
      const status = response.headersSent ? response.statusCode : CLIENT_CLOSED_REQUEST;
      const route = `forge.actions.runners.protocol.${method}`;
      // A refusal has status 500 by the protocol and is not a bug: bugs are logged where they occur.
      const level = status === 200 && FREQUENT.has(method) ? "debug" : takeLine(method);
      report({ request, route, status, level, error: undefined });
    });
  };

  function takeLine(method: string): "info" | "none" {
    const now = clock();
    const last = windows.get(method);
    const window =
      last === undefined || now - last.since >= WINDOW_MS ? { since: now, lines: 0 } : last;
    windows.set(method, { ...window, lines: window.lines + 1 });
    return window.lines < LINES_MAX ? "info" : "none";
  }
}
