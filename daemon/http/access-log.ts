import type { Log } from "../utilities/logging.ts";
import type { RequestReport } from "./bind.ts";
import type { Metrics } from "./metrics.ts";

/** Creates the function that counts each request and writes its line of the access log. */
export function createAccessLog(
  log: Log,
  { observe }: Pick<Metrics, "observe">,
): (result: RequestReport) => void {
  return ({ request, route, status, error, level: configuredLevel }) => {
    const seconds = (performance.now() - request.startedAt) / 1000;
    const { method } = request;
    observe({ route, method, status, seconds });
    const level = configuredLevel ?? levelOf(method, status);
    if (level === "none" || !log.isLevelEnabled(level)) return;
    const fields = {
      request_id: request.id,
      route,
      method,
      status,
      ms: Math.round(seconds * 1000),
      address: request.address,
    };
    log[level](error === undefined || status < 500 ? fields : { ...fields, err: error }, "request");
  };
}

/** Bugs are errors; successful reads are for debugging only. */
function levelOf(method: string, status: number): "error" | "info" | "debug" {
  if (status === 500) return "error";
  const isRead = method === "GET" || method === "HEAD";
  return isRead && status < 400 ? "debug" : "info";
}
