import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";

/** A stand-in that listens. */
export interface Served extends AsyncDisposable {
  readonly origin: string;
}

/** Listens on a loopback port, any free one when 0. A handler that fails ends its connection. */
export async function serve(
  handle: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>,
  port = 0,
): Promise<Served> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://stand-in");
    // The client may disconnect at any time, which is not a failure of the stand-in.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    handle(request, response, url).catch(() => response.destroy());
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** `--port` of a stand-in that is started alone. */
export function portOfArguments(): number {
  const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } });
  return Number(values.port);
}
