import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it came in. */
export interface RecordedRequest {
  readonly method: string;
  /** With query, undecoded. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body as JSON. */
  json(): unknown;
}

/** A response of the daemon: a status with a JSON body, or bytes. */
export interface FakeAnswer {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Promise more bytes than come, then break the connection off. */
  readonly cut?: true;
  /** Send events, one after the other, without an end: called with a function that writes to the connection. */
  readonly stream?: (write: (text: string) => void) => void;
}

type Answerer = FakeAnswer | ((request: RecordedRequest) => FakeAnswer | Promise<FakeAnswer>);

/** A daemon on a loopback port that sends the responses that a test defines and fails the test for other requests. */
export interface FakeDaemon extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
}

/**
 * Serves the `answers`: keys are `GET /path` without query; a list is sent one after the other, and the last one
 * repeatedly. A request without an answer makes the disposal throw.
 */
export async function fakeDaemon(
  answers: Readonly<Record<string, Answerer | readonly Answerer[]>>,
): Promise<FakeDaemon> {
  const requests: RecordedRequest[] = [];
  const unknown: string[] = [];
  const served = new Map<string, number>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A request whose client disconnects in the middle does not count.
      if (request.complete) unknown.push(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      if (unknown.length > 0) throw new Error(`unexpected requests: ${unknown.join(", ")}`);
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "", headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const json = () => JSON.parse(body.toString("utf8")) as unknown;
    const one: RecordedRequest = { method, path, headers, body, json };
    requests.push(one);
    const key = `${method} ${path.split("?")[0]}`;
    const listed = answers[key];
    if (listed === undefined) {
      unknown.push(`${method} ${path}`);
      response.writeHead(599).end();
      return;
    }
    const several = Array.isArray(listed) ? (listed as readonly Answerer[]) : [listed as Answerer];
    const count = served.get(key) ?? 0;
    served.set(key, count + 1);
    const answerer = several[Math.min(count, several.length - 1)];
    const outcome = typeof answerer === "function" ? await answerer(one) : answerer;
    send(response, outcome ?? {});
  }
}

function send(
  response: ServerResponse,
  { status = 200, body, headers = {}, cut, stream }: FakeAnswer,
): void {
  for (const [name, value] of Object.entries(headers))
    response.setHeader(name, value as string | string[]);
  if (stream !== undefined) {
    response.writeHead(status, { "Content-Type": "text/event-stream" }).flushHeaders();
    stream((text) => response.write(text));
    return;
  }
  if (body === undefined) {
    response.writeHead(status).end();
    return;
  }
  const isBytes = Buffer.isBuffer(body);
  if (!isBytes && !response.hasHeader("content-type"))
    response.setHeader("Content-Type", "application/json");
  const payload = isBytes ? body : Buffer.from(JSON.stringify(body));
  if (cut === true) {
    response.setHeader("Content-Length", payload.byteLength + 100);
    response.writeHead(status).write(payload, () => response.destroy());
    return;
  }
  response.setHeader("Content-Length", payload.byteLength);
  response.writeHead(status).end(payload);
}
