import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { request as plainRequest } from "undici";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { anyone, bytes, endpoint, perAddress } from "../../../../daemon/contract/endpoint.ts";
import { cutUnreadResponse } from "../../../../daemon/http/bytes.ts";
import type { ByteSource } from "../../../../daemon/http/handle.ts";
import { serveRoutes } from "../../../support/http-app.ts";

const TEXT = "0123456789abcdef";
const MODIFIED = new Date("2026-11-20T09:30:00.250Z");

const download = endpoint({
  name: "test.download",
  method: "GET",
  path: "/api/file",
  summary: "file",
  gate: anyone,
  replies: { 200: bytes },
});

function streamed(overrides: Partial<ByteSource> = {}): ByteSource {
  return {
    size: TEXT.length,
    contentType: "text/plain",
    etag: "v1",
    lastModified: MODIFIED,
    open: async (range) =>
      Readable.from([
        Buffer.from(range === undefined ? TEXT : TEXT.slice(range.start, range.end + 1)),
      ]),
    ...overrides,
  };
}

const buffered = (): ByteSource =>
  streamed({ buffer: Buffer.from(TEXT), open: () => Promise.reject(new Error("never opened")) });

async function get(
  source: ByteSource,
  headers: Record<string, string> = {},
  method: "GET" | "HEAD" = "GET",
) {
  await using app = await serveRoutes([
    { endpoint: download, handler: async () => ({ status: 200, bytes: source }) },
  ]);
  const answer = await plainRequest(`${app.url}/api/file`, { method, headers });
  return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() };
}

describe.each([
  ["a stream", streamed],
  ["memory", buffered],
])("bytes from %s", (_name, make) => {
  test("are answered whole with length, type and validators", async () => {
    const { status, headers, body } = await get(make());
    expect([status, body]).toEqual([200, TEXT]);
    expect(headers).toMatchObject({
      "content-length": "16",
      "content-type": "text/plain",
      etag: '"v1"',
      "last-modified": "Fri, 20 Nov 2026 09:30:00 GMT",
      "accept-ranges": "bytes",
    });
  });

  test.each([
    ["Bytes=0-3", 206, "0123", "bytes 0-3/16"],
    ["bytes=0-3", 206, "0123", "bytes 0-3/16"],
    ["bytes=4-", 206, "456789abcdef", "bytes 4-15/16"],
    ["bytes=-4", 206, "cdef", "bytes 12-15/16"],
    ["bytes=-99", 206, TEXT, "bytes 0-15/16"],
    ["bytes=10-99", 206, "abcdef", "bytes 10-15/16"],
    ["bytes=15-15", 206, "f", "bytes 15-15/16"],
    ["bytes=16-", 416, "", "bytes */16"],
    ["bytes=-0", 416, "", "bytes */16"],
    ["bytes=0-99999999999999999999", 206, TEXT, "bytes 0-15/16"],
    ["bytes=5-2", 200, TEXT, undefined],
    ["bytes=0-1,4-5", 200, TEXT, undefined],
    ["bytes=-", 200, TEXT, undefined],
    ["items=0-3", 200, TEXT, undefined],
  ])("Range %s is %i", async (range, status, body, contentRange) => {
    const answer = await get(make(), { range });
    expect([answer.status, answer.body, answer.headers["content-range"]]).toEqual([
      status,
      body,
      contentRange,
    ]);
  });

  test.each([
    ['"v1"', 206],
    ['"v2"', 200],
    ['W/"v1"', 200],
    ["Fri, 20 Nov 2026 09:30:00 GMT", 206],
    ["Fri, 20 Nov 2026 09:29:59 GMT", 200],
  ])("If-Range %s is %i", async (ifRange, status) => {
    expect((await get(make(), { range: "bytes=0-3", "if-range": ifRange })).status).toBe(status);
  });

  test.each([
    [{ "if-none-match": '"v1"' }, 304],
    [{ "if-none-match": 'W/"v1"' }, 304],
    [{ "if-none-match": '"v0", "v1"' }, 304],
    [{ "if-none-match": "*" }, 304],
    [{ "if-none-match": '"v2"' }, 200],
    [{ "if-none-match": '"v2"', "if-modified-since": "Sat, 21 Nov 2026 00:00:00 GMT" }, 200],
    [{ "if-modified-since": "Fri, 20 Nov 2026 09:30:00 GMT" }, 304],
    [{ "if-modified-since": "Fri, 20 Nov 2026 09:29:59 GMT" }, 200],
    [{ "if-modified-since": "nonsense" }, 200],
  ])("%j is %i", async (headers, status) => {
    expect((await get(make(), headers as Record<string, string>)).status).toBe(status);
  });

  test("HEAD has the headers and no body", async () => {
    const { status, headers, body } = await get(make(), {}, "HEAD");
    expect([status, headers["content-length"], body]).toEqual([200, "16", ""]);
  });
});

test("one answer object serves every kind of request, in any order, with each request's own headers", async () => {
  let releases = 0;
  const answer = {
    status: 200,
    bytes: { ...buffered(), release: () => (releases += 1) },
    headers: { "Cache-Control": "private", "X-Kind": "kept" },
  } as const;
  await using app = await serveRoutes([
    { endpoint: { ...download, limit: perAddress(100, 60) }, handler: async () => answer },
  ]);
  const ask = async (headers: Record<string, string> = {}, method: "GET" | "HEAD" = "GET") => {
    const got = await plainRequest(`${app.url}/api/file`, { method, headers });
    const { date, ...rest } = got.headers;
    return { status: got.statusCode, headers: rest, body: await got.body.text(), date };
  };
  const whole = await ask();
  expect([whole.status, whole.body]).toEqual([200, TEXT]);
  expect(whole.headers).toMatchObject({
    "cache-control": "private",
    "x-kind": "kept",
    etag: '"v1"',
    "content-length": "16",
    "ratelimit-remaining": "99",
  });
  expect((await ask({ range: "bytes=0-3" })).body).toBe("0123");
  expect((await ask({ "if-none-match": '"v1"' })).status).toBe(304);
  expect((await ask({}, "HEAD")).body).toBe("");
  expect((await ask({ range: "bytes=99-" })).status).toBe(416);
  const again = await ask();
  expect(again.body).toBe(TEXT);
  expect(again.headers).toEqual({ ...whole.headers, "ratelimit-remaining": "94" });
  expect(releases).toBe(6);
});

describe("bytes that do not come", () => {
  test("a source that cannot be opened is a proper error answer", async () => {
    const { status } = await get(streamed({ open: () => Promise.reject(new Error("gone")) }));
    expect(status).toBe(500);
  });

  test("an aborted source closes the connection, so that a client does not take a part for the complete file", async () => {
    const broken = streamed({
      open: async () =>
        Readable.from(
          (async function* () {
            yield Buffer.from("0123");
            throw new Error("reset");
          })(),
        ),
    });
    await expect(get(broken)).rejects.toThrow();
  });

  test("the source is released once, also for 304, HEAD and failures", async () => {
    const releases: string[] = [];
    const counting = (name: string, more: Partial<ByteSource> = {}) =>
      streamed({ ...more, release: () => releases.push(name) });
    await get(counting("whole"));
    await get(counting("current"), { "if-none-match": "*" });
    await get(counting("head"), {}, "HEAD");
    await get(counting("failed", { open: () => Promise.reject(new Error("gone")) }));
    expect(releases).toEqual(["whole", "current", "head", "failed"]);
  });

  test.each([
    ["a stream", streamed],
    ["memory", buffered],
  ])(
    "a header that cannot be written is an error response before %s is opened",
    async (_, make) => {
      let opened = 0;
      let releases = 0;
      const source: ByteSource = {
        ...make(),
        open: async () => {
          opened += 1;
          return Readable.from(["x"]);
        },
        release: () => (releases += 1),
      };
      await using app = await serveRoutes([
        {
          endpoint: download,
          handler: async () => ({ status: 200, bytes: source, headers: { "X-Name": "a\u0000b" } }),
        },
      ]);
      expect((await plainRequest(`${app.url}/api/file`)).statusCode).toBe(500);
      expect([opened, releases]).toEqual([0, 1]);
    },
  );

  test("bytes whose stored type is not a media type are sent with an unknown type", async () => {
    for (const contentType of ["text/plain\u0001", "", "text", "text/plain; a=é", "x/y\r\nA: b"])
      expect((await get(streamed({ contentType }))).headers["content-type"]).toBe(
        "application/octet-stream",
      );
  });

  test("a source is destroyed and released when the client has gone before it is open", async () => {
    const asked = Promise.withResolvers<void>();
    const mayOpen = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const readable = Readable.from(["never read"]);
    const source = streamed({
      open: async () => {
        asked.resolve();
        await mayOpen.promise;
        return readable;
      },
      release: () => released.resolve(),
    });
    const gone = Promise.withResolvers<void>();
    await using app = await serveRoutes([
      {
        endpoint: download,
        handler: async ({ request }) => {
          request.signal.addEventListener("abort", () => gone.resolve());
          return { status: 200, bytes: source };
        },
      },
    ]);
    const { port } = new URL(app.url);
    const client = connect(Number(port), "127.0.0.1");
    client.write("GET /api/file HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await asked.promise;
    client.resetAndDestroy();
    await gone.promise;
    mayOpen.resolve();
    await released.promise;
    expect(readable.destroyed).toBe(true);
  });

  test("serves an empty file and one of unknown length", async () => {
    expect(await get(streamed({ size: 0 }))).toMatchObject({ status: 200, body: "" });
    const unknown = await get(streamed({ size: undefined }), { range: "bytes=0-3" });
    expect([unknown.status, unknown.body, unknown.headers["content-length"]]).toEqual([
      200,
      TEXT,
      undefined,
    ]);
  });
});

describe("clients that read slowly", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A response of which the client takes `bytesPerMinute`, after `minutes`. */
  function takeSlowly(bytesPerMinute: number, minutes: number, needsDrain = true): boolean {
    const socket = { bytesWritten: 0, writableLength: 1_000_000 };
    const events = new EventEmitter();
    let isDestroyed = false;
    const response = Object.assign(events, {
      socket,
      writableNeedDrain: needsDrain,
      destroy: () => {
        isDestroyed = true;
        events.emit("close");
      },
    });
    cutUnreadResponse(response as unknown as ServerResponse);
    for (let minute = 0; minute < minutes; minute += 1) {
      socket.bytesWritten += bytesPerMinute;
      vi.advanceTimersByTime(60_000);
    }
    response.emit("close");
    expect(vi.getTimerCount()).toBe(0);
    return isDestroyed;
  }

  test("one that takes less than 8 KiB a minute is disconnected", () => {
    expect(takeSlowly(0, 2)).toBe(true);
    expect(takeSlowly(8 * 1024 - 1, 2)).toBe(true);
  });

  test("one that takes more is not, and none is for a source that is slow", () => {
    expect(takeSlowly(8 * 1024, 100)).toBe(false);
    expect(takeSlowly(0, 100, false)).toBe(false);
  });
});
