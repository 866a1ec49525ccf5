import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

/** Sends JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** The whole body of a request; rejects when it was cut. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  return buffer(request);
}

/** Answers a download: the whole, a range of it, or 416. */
export function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  const all = { "content-type": "application/octet-stream", "accept-ranges": "bytes", ...headers };
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  if (range === null) {
    response.writeHead(200, { ...all, "content-length": bytes.length }).end(bytes);
    return;
  }
  const start = Number(range[1]);
  const end = Math.min(range[2] === "" ? Infinity : Number(range[2]), bytes.length - 1);
  if (start > end) {
    response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
    return;
  }
  const part = bytes.subarray(start, end + 1);
  const position = `bytes ${start}-${end}/${bytes.length}`;
  response
    .writeHead(206, { ...all, "content-range": position, "content-length": part.length })
    .end(part);
}

/** Counts requests of the last ten seconds; tells how long to wait once there are too many. */
export function createThrottle(requestsMax: number, clock: () => number): () => number | undefined {
  const windowMs = 10_000;
  let times: number[] = [];
  return () => {
    const now = clock();
    times = times.filter((time) => now - time < windowMs);
    const first = times[0];
    if (times.length >= requestsMax && first !== undefined)
      return Math.max(1, Math.ceil((first + windowMs - now) / 1000));
    times.push(now);
    return undefined;
  };
}
