import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { openDownload } from "../../../cli/client/bytes.ts";
import { createTransport } from "../../../cli/client/transport.ts";
import { fakeSystem } from "../support/run-cli.ts";

const transport = createTransport(fakeSystem({ home: "/nowhere" }), async () => undefined);

async function withServer(
  answer: Parameters<typeof createServer>[1],
  use: (url: string) => Promise<void>,
): Promise<void> {
  const server = createServer(answer as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A source of bytes without an end. */
function endless(): Readable {
  return new Readable({
    read() {
      this.push(Buffer.alloc(64 * 1024));
    },
  });
}

test("an upload that the server refuses before its end stops reading the source", async () => {
  await withServer(
    (_, response) => {
      response.writeHead(413, { Connection: "close" }).end("too large");
    },
    async (url) => {
      const body = endless();
      const sending = transport.send({
        method: "POST",
        url,
        headers: {},
        body,
        signal: new AbortController().signal,
      });
      const { status, body: text } = await sending;
      expect([status, text.toString()]).toEqual([413, "too large"]);
      await expect.poll(() => body.destroyed).toBe(true);
    },
  );
});

test("a response without end is refused, also that of a refused download", async () => {
  const bounded = createTransport(fakeSystem({ home: "/nowhere" }), async () => undefined, 1_000);
  await withServer(
    (_, response) => {
      endless()
        .on("error", () => undefined)
        .pipe(response.writeHead(500));
    },
    async (url) => {
      const { signal } = new AbortController();
      const request = { method: "GET", url, headers: {}, body: undefined, signal };
      const refused = { code: "unexpected_answer", message: expect.stringMatching(/more than/) };
      await expect(bounded.send(request)).rejects.toMatchObject(refused);
      await expect(openDownload(transport, { ...request, service: "forge" })).rejects.toMatchObject(
        refused,
      );
    },
  );
});

test("an aborted request throws the reason of the signal, before and after the response began", async () => {
  await withServer(
    (request, response) => {
      if (request.url === "/begun") response.writeHead(200).write("first");
    },
    async (url) => {
      for (const path of ["silent", "begun"]) {
        const controller = new AbortController();
        const reason = new Error(`stopped ${path}`);
        setTimeout(() => controller.abort(reason), 50);
        const signal = controller.signal;
        const request = { method: "GET", url: url + path, headers: {}, body: undefined, signal };
        await expect(transport.send(request)).rejects.toBe(reason);
      }
    },
  );
});

test("a body that ends before its length is an error, not a short result", async () => {
  await withServer(
    (_, response) => {
      response.writeHead(200, { "Content-Length": "10" }).write("abc", () => {
        response.socket?.destroy();
      });
    },
    async (url) => {
      const signal = new AbortController().signal;
      const request = { method: "GET", url, headers: {}, body: undefined, signal };
      await expect(transport.send(request)).rejects.toMatchObject({ code: "daemon_unreachable" });
    },
  );
});
