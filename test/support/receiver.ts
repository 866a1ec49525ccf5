import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it arrived. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** Names as they were written. */
  readonly headerNames: readonly string[];
  readonly body: string;
}

/** A server on a loopback port that records the requests it receives. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
  /** Waits until `count` requests that `accept` matches have arrived, and returns them. */
  waitFor(count: number, accept?: (each: Received) => boolean): Promise<Received[]>;
}

/** Starts one; it answers 204 unless `answer` does something else. `await using` stops it. */
export async function startReceiver(
  answer: (request: Received, response: ServerResponse) => void = (_request, response) =>
    response.writeHead(204).end(),
): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const request = {
        method: message.method ?? "",
        path: message.url ?? "",
        headers: message.headers,
        headerNames: message.rawHeaders.filter((_, index) => index % 2 === 0),
        body: Buffer.concat(chunks).toString(),
      };
      received.push(request);
      answer(request, response);
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received,
    waitFor: (count, accept = () => true) =>
      new Promise((resolve) => {
        const look = () => {
          const found = received.filter(accept);
          if (found.length < count) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
