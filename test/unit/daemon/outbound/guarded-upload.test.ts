import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { createAddressCheck } from "../../../../daemon/outbound/address-policy.ts";
import { createGuardedDispatcher } from "../../../../daemon/outbound/guarded-request.ts";
import {
  createGuardedUpload,
  type OutboundFile,
} from "../../../../daemon/outbound/guarded-upload.ts";

const CHUNK = Buffer.alloc(64 * 1024, "x");

/** A body of chunks, which tells how many were read. */
function newBody(chunks: number, fault?: Error) {
  const read = { chunks: 0 };
  const body = new Readable({
    read() {
      if (read.chunks === chunks)
        return void (fault === undefined ? this.push(null) : this.destroy(fault));
      read.chunks += 1;
      this.push(CHUNK);
    },
  });
  return { body, size: chunks * CHUNK.byteLength, read };
}

function send(
  url: string,
  file: Pick<OutboundFile, "body" | "size">,
  changes: Partial<OutboundFile> = {},
) {
  const check = createAddressCheck({ policy: "home", own: () => [], machine: () => [] });
  const dispatcher = createGuardedDispatcher({ check });
  onTestFinished(() => dispatcher.destroy());
  return createGuardedUpload(dispatcher)({
    url,
    headers: { "x-own": "yes" },
    responseBytesMax: 1_000,
    count: () => undefined,
    signal: new AbortController().signal,
    ...file,
    ...changes,
  });
}

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
}

test("a file arrives whole with its length and headers, and its bytes are counted", async () => {
  let got = { bytes: 0, length: "", own: "" };
  const url = await serve((request, response) => {
    const { "content-length": length = "", "x-own": own = "" } = request.headers;
    let bytes = 0;
    request.on("data", (chunk: Buffer) => (bytes += chunk.byteLength));
    request.on("end", () => {
      got = { bytes, length, own: String(own) };
      response.end("thanks");
    });
  });
  const file = newBody(50);
  let counted = 0;
  const outcome = await send(url, file, { count: (bytes) => (counted += bytes) });
  expect(outcome).toMatchObject({ kind: "answered", status: 200, isCut: false });
  expect([got, counted]).toEqual([
    { bytes: file.size, length: String(file.size), own: "yes" },
    file.size,
  ]);
});

test.each([
  ["an address that is not permitted", "http://169.254.169.254/x"],
  ["another protocol", "file:///etc/passwd"],
])("%s is refused without reading the file", async (_case, url) => {
  const file = newBody(5);
  expect(await send(url, file)).toMatchObject({ kind: "refused" });
  expect([file.read.chunks <= 1, file.body.destroyed]).toEqual([true, true]);
});

test("a redirect is the answer, and the file goes to no other server", async () => {
  let isReached = false;
  const other = await serve((_request, response) => {
    isReached = true;
    response.end();
  });
  const url = await serve((request, response) => {
    request.resume().on("end", () => response.writeHead(307, { location: other }).end());
  });
  expect(await send(url, newBody(2))).toMatchObject({ kind: "answered", status: 307 });
  expect(isReached).toBe(false);
});

test("an early refusal ends the upload, an early success is none", async () => {
  for (const [status, expected] of [
    [413, { kind: "answered", status: 413 }],
    [200, { kind: "failed" }],
  ] as const) {
    const url = await serve((_request, response) => void response.writeHead(status).end());
    const file = newBody(2_000);
    expect(await send(url, file)).toMatchObject(expected);
    expect([file.read.chunks < 2_000, file.body.destroyed]).toEqual([true, true]);
  }
});

test("an answer without end is cut off", async () => {
  const url = await serve((request, response) => {
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(10_000)));
    };
    request.resume().on("end", more);
    response.on("drain", more);
  });
  expect(await send(url, newBody(1))).toMatchObject({ status: 200, isCut: true });
});

test("a fault of the file is thrown, a lost connection is failed", async () => {
  const url = await serve((request) => void request.resume());
  await expect(send(url, newBody(3, new Error("damaged")))).rejects.toThrow("damaged");
  const closing = await serve((request) => void request.once("data", () => request.destroy()));
  const file = newBody(2_000);
  expect(await send(closing, file)).toMatchObject({ kind: "failed" });
  expect(file.body.destroyed).toBe(true);
});

test("an aborted signal ends the upload", async () => {
  const ends = new AbortController();
  const url = await serve((request) => void request.once("data", () => ends.abort()));
  const file = newBody(2_000);
  expect(await send(url, file, { signal: ends.signal })).toMatchObject({ kind: "failed" });
  expect(file.body.destroyed).toBe(true);
});
