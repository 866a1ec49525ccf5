import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { promiseHooks } from "node:v8";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  anyone,
  endpoint,
  stream,
  text,
  vaultAccount,
  wholeBytes,
} from "../../../../daemon/contract/endpoint.ts";
import { createBodyBudgets } from "../../../../daemon/http/body-memory.ts";
import type { Route } from "../../../../daemon/http/handle.ts";
import {
  cutRevokedBody,
  cutStalledBody,
  readWholeBody,
} from "../../../../daemon/http/request-body.ts";
import { type HttpApp, serveRoutes } from "../../../support/http-app.ts";

const MIB = 1024 * 1024;

const raw = (path: `/${string}`, gate: typeof anyone | typeof vaultAccount): Route => ({
  endpoint: endpoint({
    name: `test.raw${path}`,
    method: "POST",
    path,
    summary: "count the bytes of a body",
    gate,
    body: wholeBytes("text/plain"),
    maxBodyBytes: 12 * MIB,
    replies: { 200: text("text/plain") },
  }),
  handler: async ({ body }: { readonly body: Buffer }) => ({
    status: 200,
    body: String(body.byteLength),
  }),
});

const routes = [raw("/api/open", anyone), raw("/api/closed", vaultAccount)];

/** A connection that sends a head and part of its body, and holds the rest back. */
interface HeldBack {
  readonly socket: Socket;
  /** Resolves with the status line's number, or 0 when the connection ends without one. */
  readonly status: Promise<number>;
}

function holdBack(
  { url }: HttpApp,
  { path, headers, bytes }: { path: string; headers: string; bytes: number },
): HeldBack {
  const { promise, resolve } = Promise.withResolvers<number>();
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk.toString("latin1");
    const found = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
    if (found !== undefined) resolve(Number(found));
  });
  socket.on("error", () => undefined);
  socket.on("close", () => resolve(0));
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n${headers}\r\n`);
  socket.write(Buffer.alloc(bytes - 1, "x"));
  return { socket, status: promise };
}

const countBy = (statuses: readonly number[]) => {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

/** Has 200 connections hold back the last byte of 1 MiB each; finishes those that were not refused. */
async function crowd(app: HttpApp, path: string, headers: (index: number) => string) {
  const held = Array.from({ length: 200 }, (_, index) =>
    holdBack(app, { path, headers: headers(index), bytes: MIB }),
  );
  const refused = new Set<HeldBack>();
  const settledFirst = held.map((each) => each.status.then(() => refused.add(each)));
  return { held, refused, settledFirst };
}

describe("memory of request bodies", () => {
  test.each([
    ["anonymous callers", "/api/open", () => "", 16],
    ["one account", "/api/closed", () => "Authorization: Bearer mira\r\n", 64],
    ["many accounts", "/api/closed", (i: number) => `Authorization: Bearer u${i}\r\n`, 128],
  ])(
    "200 bodies that %s hold back are refused beyond the budget, and the memory is released",
    async (_who, path, headers, admitted) => {
      await using app = await serveRoutes(routes, {
        bodies: createBodyBudgets(MIB),
        maxJsonBytes: MIB,
      });
      const { held, refused, settledFirst } = await crowd(app, path, headers);
      await expect
        .poll(() => refused.size, { timeout: 60_000 })
        .toBeGreaterThanOrEqual(200 - admitted);
      for (const each of held) if (!refused.has(each)) each.socket.write("x");
      await Promise.all(settledFirst);
      const counts = countBy(await Promise.all(held.map(({ status }) => status)));
      expect(counts[200]).toBeGreaterThan(0);
      expect(counts[200]).toBeLessThanOrEqual(admitted + 2);
      for (const { socket } of held) socket.destroy();

      const after = holdBack(app, { path, headers: headers(0), bytes: MIB });
      after.socket.write("x");
      expect(await after.status).toBe(200);
      after.socket.destroy();
    },
    60_000,
  );

  test("a small body is accepted while the budget of its address is used up", async () => {
    await using app = await serveRoutes(routes, {
      bodies: createBodyBudgets(MIB),
      maxJsonBytes: MIB,
    });
    const { held, refused } = await crowd(app, "/api/open", () => "");
    await expect.poll(() => refused.size, { timeout: 60_000 }).toBeGreaterThan(100);
    const small = await fetch(`${app.url}/api/open`, { method: "POST", body: "x".repeat(9000) });
    expect(await small.text()).toBe("9000");
    for (const { socket } of held) socket.destroy();
  });

  test("an anonymous caller gets the default limit where an operation allows accounts more", async () => {
    await using app = await serveRoutes(routes, { bodies: createBodyBudgets(MIB) });
    const send = (path: string, headers: Record<string, string>) =>
      fetch(app.url + path, { method: "POST", body: "x".repeat(5000), headers });
    expect((await send("/api/open", {})).status).toBe(413);
    expect((await send("/api/open", { authorization: "Bearer mira" })).status).toBe(200);
  });
});

describe("deadlines of request bodies", () => {
  const memory = () => createBodyBudgets(MIB).anonymous("a");

  test("refuses a body that is not complete in time and leaves the request open", async () => {
    const body = new PassThrough();
    body.write("a");
    await expect(
      readWholeBody(body, { maxBytes: 100, memory: memory(), deadlineMs: 5 }),
    ).rejects.toMatchObject({ code: "timed_out" });
    expect(body.destroyed).toBe(false);
    body.destroy();
  });

  test("joins the chunks of a body of unknown length", async () => {
    const body = new PassThrough();
    const chunks = Array.from({ length: 40 }, (_, index) => Buffer.alloc(1000, index));
    for (const chunk of chunks) body.write(chunk);
    body.end();
    const read = await readWholeBody(body, { maxBytes: 40_000, memory: memory() });
    expect(read.equals(Buffer.concat(chunks))).toBe(true);
  });
});

test("reads a body of very many chunks without a promise for each", async () => {
  const body = new PassThrough();
  let promises = 0;
  const reading = readWholeBody(body, {
    maxBytes: 100_000,
    memory: createBodyBudgets(MIB).anonymous("a"),
  });
  const stop = promiseHooks.onInit(() => {
    promises += 1;
  });
  for (let sent = 0; sent < 20_000; sent += 1) body.write("a");
  body.end();
  const read = await reading;
  stop();
  expect(read.byteLength).toBe(20_000);
  expect(promises).toBeLessThan(1_000);
});

describe("credentials that are revoked while a body arrives", () => {
  const arriving = () => Object.assign(new PassThrough(), { complete: false });

  test("end the request within half a minute", async () => {
    vi.useFakeTimers();
    const message = arriving();
    const failed = once(message, "error");
    let isValid = true;
    await cutRevokedBody(message as unknown as IncomingMessage, async () => isValid);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(message.destroyed).toBe(false);
    isValid = false;
    await vi.advanceTimersByTimeAsync(30_000);
    vi.useRealTimers();
    expect(await failed).toMatchObject([{ code: "unauthenticated" }]);
  });

  test("a failed check ends the request with its error", async () => {
    const message = arriving();
    const failed = once(message, "error");
    await cutRevokedBody(message as unknown as IncomingMessage, () =>
      Promise.reject(new Error("disk")),
    );
    message.end("a");
    message.resume();
    expect(await failed).toMatchObject([{ message: "disk" }]);
  });
});

describe("streamed bodies that arrive too slowly", () => {
  const arriving = () =>
    Object.assign(new PassThrough(), { complete: false, socket: { bytesRead: 0 } });
  const cut = (message: ReturnType<typeof arriving>) =>
    cutStalledBody(message as unknown as IncomingMessage);

  test("are cut when a minute brings less than 8 KiB", async () => {
    vi.useFakeTimers();
    const message = arriving();
    const failed = once(message, "error");
    cut(message);
    message.socket.bytesRead += 8 * 1024;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(message.destroyed).toBe(false);
    message.socket.bytesRead += 8 * 1024 - 1;
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(await failed).toMatchObject([{ code: "timed_out" }]);
  });

  test("are not cut while what has arrived waits for the daemon", async () => {
    vi.useFakeTimers();
    const message = arriving();
    message.write("unread");
    cut(message);
    await vi.advanceTimersByTimeAsync(300_000);
    vi.useRealTimers();
    expect(message.destroyed).toBe(false);
    message.destroy();
  });
});

describe("clients that disconnect", () => {
  const stalled = (): Route => ({
    endpoint: endpoint({
      name: "test.stream",
      method: "POST",
      path: "/api/stream",
      summary: "read a stream to its end",
      gate: anyone,
      body: stream("application/octet-stream"),
      replies: { 200: z.object({}) },
    }),
    handler: async ({ body }: { readonly body: AsyncIterable<Buffer> }) => {
      for await (const chunk of body) void chunk;
      return { status: 200, body: {} };
    },
  });

  test.each(["/api/open", "/api/stream"])(
    "a client that leaves in the middle of its body at %s is not an error and no 500",
    async (path) => {
      await using app = await serveRoutes([...routes, stalled()], { maxJsonBytes: MIB });
      const { socket } = holdBack(app, { path, headers: "", bytes: 100_000 });
      await new Promise((resolve) => socket.once("connect", resolve));
      setImmediate(() => socket.destroy());
      await expect.poll(() => app.reports.length).toBe(1);
      expect(app.reports[0]).toMatchObject({ status: 499, error: undefined });
    },
  );

  test("a bug is reported even when its client has left", async () => {
    const bug = new TypeError("x is not a function");
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const failing: Route = {
      endpoint: { ...stalled().endpoint, path: "/api/bug", body: undefined },
      handler: async ({ request }) => {
        const left = new Promise((resolve) => request.signal.addEventListener("abort", resolve));
        begin();
        await left;
        throw bug;
      },
    };
    await using app = await serveRoutes([failing]);
    const { socket } = holdBack(app, { path: "/api/bug", headers: "", bytes: 1 });
    await begun;
    socket.destroy();
    await expect.poll(() => app.reports.length).toBe(1);
    expect(app.reports[0]).toMatchObject({ status: 500, error: bug });
  });
});

describe("a client that is still sending when it is refused", () => {
  /** Sends the whole body before it reads anything. */
  async function sendAll({ url }: HttpApp, bytes: number) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let answer = "";
    let failure: string | undefined;
    socket.on("error", (error) => (failure = error.message));
    await once(socket, "connect");
    socket.pause();
    socket.write(`POST /api/closed HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
    for (let sent = 0; sent < bytes && failure === undefined; sent += MIB)
      await new Promise((done) => socket.write(Buffer.alloc(MIB, "x"), done));
    socket.on("data", (chunk) => (answer += chunk.toString("latin1")));
    socket.resume();
    if (!socket.closed) await once(socket, "close");
    return { answer, failure };
  }

  test("reads the refusal after its body, and the connection ends", async () => {
    await using app = await serveRoutes(routes);
    const { answer, failure } = await sendAll(app, 10 * MIB);
    expect(failure).toBeUndefined();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("is cut when it sends on and on", async () => {
    await using app = await serveRoutes(routes);
    expect((await sendAll(app, 200 * MIB)).failure).toMatch(/EPIPE|ECONNRESET/);
  });
});
