import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { Agent, type Dispatcher } from "undici";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { readJsonObject } from "../../../../storage/cloud/response-json.ts";
import { StreamAborted } from "../../../../storage/cloud/outcomes.ts";
import {
  createTransport,
  retryAfterSeconds,
  type ProviderRequest,
} from "../../../../storage/cloud/transport.ts";
import { readXml } from "../../../../storage/cloud/xml.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const dispatcher = new Agent();
  closers.push(async () => {
    await dispatcher.destroy();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const transport = createTransport(dispatcher);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const send = (more: Partial<ProviderRequest> = {}) =>
    transport.send({ method: "GET", url, signal: AbortSignal.timeout(30_000), ...more });
  return { send, url };
}

async function sendOk(sending: ReturnType<Awaited<ReturnType<typeof start>>["send"]>) {
  const answer = await sending;
  if (answer.kind !== "answered") throw new Error(`no answer: ${answer.note}`);
  return answer;
}

describe("a request", () => {
  test("a request is sent as it is, and no redirect is followed", async () => {
    const { send } = await start((request, response) => {
      response.writeHead(302, { location: "/elsewhere", "x-twice": ["a", "b"] });
      response.end(`${request.method} ${request.headers["accept-encoding"]}`);
    });
    const answer = await sendOk(send({ method: "PROPFIND" }));
    expect([answer.status, answer.headers["x-twice"]]).toEqual([302, "a, b"]);
    expect(await answer.text()).toEqual({ kind: "ok", text: "PROPFIND identity" });
  });

  test("a request has its own path where the address would lose segments", async () => {
    const { send } = await start((request, response) => response.end(request.url));
    const answer = await sendOk(send({ path: "/a/../b/%2e/./c?x=%2F" }));
    expect(await answer.text()).toEqual({ kind: "ok", text: "/a/../b/%2e/./c?x=%2F" });
  });

  test("distinguishes a request that was never sent from one that may have arrived", async () => {
    const { send, url } = await start((_request, response) => response.destroy());
    expect(await send({ method: "PUT", body: "x" })).toMatchObject({ kind: "offline", sent: true });
    const refused = new URL(url);
    refused.port = "1";
    expect(await send({ url: refused.href })).toEqual({
      kind: "offline",
      sent: false,
      note: "ECONNREFUSED",
    });
  });

  test.each([
    ["EAI_NODATA", false],
    ["UND_ERR_CONNECT_TIMEOUT", false],
    ["CERT_NOT_YET_VALID", false],
    ["CERT_REVOKED", false],
    ["UNABLE_TO_GET_ISSUER_CERT", false],
    ["HOSTNAME_MISMATCH", false],
    ["ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", false],
    ["ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", false],
    ["ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", true],
    ["ECONNRESET", true],
    ["EPIPE", true],
    ["UND_ERR_SOCKET", true],
  ])("a request that failed with %s may have arrived: %s", async (code, sent) => {
    const failing = { request: () => Promise.reject(Object.assign(new Error("x"), { code })) };
    const transport = createTransport(failing as unknown as Dispatcher);
    const { signal } = new AbortController();
    const answer = await transport.send({ method: "PUT", url: "https://x.example/", signal });
    expect(answer).toEqual({ kind: "offline", sent, note: code });
  });

  test("ends a request when its signal is aborted", async () => {
    const { send } = await start(() => undefined);
    const abort = new AbortController();
    const sending = send({ signal: abort.signal });
    abort.abort();
    expect(await sending).toMatchObject({ kind: "offline", note: "aborted" });
  });

  test("times out a request that gets only interim responses, even with a streamed body", async () => {
    const { send } = await start((_request, response) => {
      const more = () => {
        if (!response.destroyed) response.writeProcessing();
        if (!response.destroyed) setImmediate(more);
      };
      more();
    });
    const bodies = [undefined, Readable.from([Buffer.from("x")], { objectMode: false })];
    const sending = bodies.map((body) => send({ method: "PUT", body, headTimeoutMs: 500 }));
    const givenUp = { kind: "offline", sent: true, note: "UND_ERR_HEADERS_TIMEOUT" };
    expect(await Promise.all(sending)).toEqual([givenUp, givenUp]);
  });

  test("rejects with the error of its own body, and lets go of the body in any case", async () => {
    const { send } = await start((request, response) => {
      request.resume();
      request.on("end", () => response.end());
    });
    const failing = new Readable({
      read() {
        this.destroy(new Error("the disk is gone"));
      },
    });
    await expect(send({ method: "PUT", body: failing })).rejects.toThrow("the disk is gone");
    const fine = Readable.from([Buffer.from("abc")]);
    (await sendOk(send({ method: "PUT", body: fine }))).discard();
    expect(fine.destroyed).toBe(true);
  });
});

describe("an answer's body", () => {
  test("arrives complete, or fails", async () => {
    const { send } = await start((request, response) => {
      response.writeHead(200, request.headers["x-length"] ? { "content-length": 10 } : {});
      response.write("12345", () =>
        request.headers["x-cut"] ? response.destroy() : response.end(),
      );
    });
    expect(String(await buffer((await sendOk(send())).stream(5)))).toBe("12345");
    expect(String(await buffer((await sendOk(send())).stream(undefined)))).toBe("12345");
    for (const length of [4, 6])
      await expect(buffer((await sendOk(send())).stream(length))).rejects.toThrow(StreamAborted);
    const cut = await sendOk(send({ headers: { "x-cut": "1", "x-length": "1" } }));
    await expect(buffer(cut.stream(10))).rejects.toThrow(StreamAborted);
  });

  test("an answer's body of megabytes waits for its reader", async () => {
    const chunk = Buffer.alloc(64 * 1024, "x");
    let written = 0;
    const { send } = await start((_request, response) => {
      const more = () => {
        while (written < 64 * 1024 * 1024) {
          written += chunk.length;
          if (!response.write(chunk)) {
            response.once("drain", more);
            return;
          }
        }
        response.end();
      };
      more();
    });
    const stream = (await sendOk(send())).stream(undefined);
    await once(stream, "readable");
    await new Promise((done) => setImmediate(done));
    expect(stream.readableLength).toBeLessThan(4 * 1024 * 1024);
    stream.on("error", () => undefined).destroy();
  });

  test("an aborted body does not end the process before it is read, and fails its later reader", async () => {
    const gone = Promise.withResolvers<void>();
    const { send } = await start((request, response) => {
      request.socket.once("close", gone.resolve);
      response.writeHead(200, { "content-length": 10 });
      response.write("12345", () => response.destroy());
    });
    const answers = [await sendOk(send()), await sendOk(send()), await sendOk(send())];
    const early = answers[0]?.stream(10);
    await gone.promise;
    for (let round = 0; round < 20; round++) await new Promise((done) => setImmediate(done));
    await expect(buffer(early as Readable)).rejects.toThrow(StreamAborted);
    await expect(buffer(answers[1]?.stream(10) as Readable)).rejects.toThrow(StreamAborted);
    expect(await answers[2]?.text()).toMatchObject({ kind: "offline", sent: true });
  });

  test("times out a body that trickles, but not one whose reader pauses", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const { send } = await start((_request, response) => {
        response.write("x".repeat(100));
      });
      const dripping = (await sendOk(send())).text();
      const stream = (await sendOk(send())).stream(undefined);
      const waiting = (await sendOk(send())).stream(undefined);
      await once(stream, "readable");
      stream.read();
      vi.advanceTimersByTime(60_000);
      expect(stream.errored).toMatchObject({ failure: { kind: "offline", note: "too_slow" } });
      expect(await dripping).toMatchObject({ kind: "offline", note: "too_slow" });
      expect(waiting.destroyed).toBe(false);
      waiting.destroy();
    } finally {
      vi.useRealTimers();
    }
  });

  test("an answer's body of a long piece of work may come drop by drop, but must not stop coming", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      let drip = () => undefined as unknown;
      const { send } = await start((_request, response) => {
        drip = () => response.write(" ");
        response.write("<");
      });
      const stream = (await sendOk(send({ isLong: true }))).stream(undefined);
      for (let minutes = 0; minutes < 3; minutes++) {
        await once(stream, "readable");
        stream.read();
        vi.advanceTimersByTime(60_000);
        expect(stream.errored).toBeNull();
        drip();
      }
      await once(stream, "readable");
      stream.read();
      vi.advanceTimersByTime(120_000);
      expect(stream.errored).toMatchObject({ failure: { kind: "offline", note: "too_slow" } });
    } finally {
      vi.useRealTimers();
    }
  });

  test("times out a buffered body in the end, however fast it trickles", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { send } = await start(({ url }, response) => {
        if (url === "/gzip") response.setHeader("content-encoding", "gzip");
        response.write(url === "/gzip" ? gzipSync("{}").subarray(0, 12) : "<a>");
      });
      const reading = [
        (await sendOk(send())).text(),
        readJsonObject(await sendOk(send({ path: "/gzip" }))),
        readXml((await sendOk(send())).stream(undefined), {}, { bytesMax: 1000 }),
      ];
      vi.advanceTimersByTime(15 * 60_000);
      for (const read of reading)
        expect(await read).toEqual({ kind: "offline", sent: true, note: "too_slow" });
    } finally {
      vi.useRealTimers();
    }
  });

  test("as text has a bound", async () => {
    const { send } = await start((_request, response) => response.end("x".repeat(5000)));
    expect(await (await sendOk(send())).text(4999)).toMatchObject({ note: "answer_too_long" });
    expect(await (await sendOk(send())).text(5000)).toMatchObject({ kind: "ok" });
  });
});

test.each([
  ["7", 7],
  ["0.2", 1],
  ["Thu, 01 Jan 1970 00:01:00 GMT", 60],
  ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
  ["999999999", 86_400],
  ["soon", undefined],
  ["", undefined],
])("Retry-After %j is %s seconds", (text, seconds) => {
  expect(retryAfterSeconds({ "retry-after": text }, 0)).toBe(seconds);
});
