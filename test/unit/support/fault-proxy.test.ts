import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { Agent, request } from "undici";
import { afterEach, expect, test } from "vitest";
import { startFaultProxy } from "../../support/cloud/fault-proxy.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start() {
  const kept: { method: string; path: string; body: Buffer }[] = [];
  const bytes = Buffer.alloc(300_000, "abc");
  const server = createServer((incoming, response) => {
    buffer(incoming).then(
      (body) => {
        kept.push({ method: incoming.method ?? "", path: incoming.url ?? "", body });
        if (incoming.method !== "GET") response.writeHead(201).end();
        else if (incoming.headers.range === "bytes=5-9")
          response.writeHead(206, { "content-range": "bytes 5-9/300000" }).end("cabca");
        else response.writeHead(200, { etag: '"x"' }).end(bytes);
      },
      () => undefined,
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const proxy = await startFaultProxy({ target });
  const agent = new Agent();
  const dispatcher = proxy.impatient(agent);
  closers.push(
    async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
    async () => proxy[Symbol.asyncDispose](),
    async () => agent.destroy(),
  );
  const send = async (method: "GET" | "PUT", body: Buffer | null = null, headers = {}) => {
    const answer = await request(`${proxy.origin}/a%20b?c`, { method, body, headers, dispatcher });
    const received = Buffer.from(await answer.body.arrayBuffer());
    return { status: answer.statusCode, headers: answer.headers, body: received };
  };
  return { kept, bytes, proxy, send };
}

test("passes everything through unchanged", async () => {
  const { kept, bytes, proxy, send } = await start();
  expect((await send("PUT", bytes)).status).toBe(201);
  expect((await send("GET")).body.equals(bytes)).toBe(true);
  expect(kept[0]).toEqual({ method: "PUT", path: "/a%20b?c", body: bytes });
  expect(proxy.log).toEqual(["PUT /a%20b?c", "GET /a%20b?c"]);
});

test("an answer is lost after the server has acted, and only that of a change", async () => {
  const { kept, proxy, send } = await start();
  proxy.faults.loseNextAnswer();
  expect((await send("GET")).status).toBe(200);
  await expect(send("PUT", Buffer.from("x"))).rejects.toThrow();
  expect(kept.map(({ method }) => method)).toEqual(["GET", "PUT"]);
  expect((await send("PUT", Buffer.from("x"))).status).toBe(201);
});

test("a request is reset before it reaches the server", async () => {
  const { kept, proxy, send } = await start();
  proxy.resetNext();
  await expect(send("PUT", Buffer.from("x"))).rejects.toThrow();
  expect(kept).toEqual([]);
});

test("bodies are cut, in both directions", async () => {
  const { kept, bytes, proxy, send } = await start();
  proxy.faults.cutNextBody(1000);
  await expect(send("GET")).rejects.toThrow();
  proxy.faults.cutNextUpload(1000);
  await expect(send("PUT", bytes)).rejects.toThrow();
  expect(kept.map(({ method }) => method)).toEqual(["GET"]);
});

test("ranges are ignored once; compressed ranges are of the compressed bytes", async () => {
  const { bytes, proxy, send } = await start();
  const range = { range: "bytes=5-9" };
  proxy.faults.ignoreNextRange();
  expect((await send("GET", null, range)).body.length).toBe(bytes.length);
  expect((await send("GET", null, range)).body.toString()).toBe("cabca");
  proxy.faults.compress();
  const whole = await send("GET");
  expect([whole.headers["content-encoding"], whole.headers["etag"]]).toEqual(["gzip", '"x-gzip"']);
  expect(gunzipSync(whole.body).equals(bytes)).toBe(true);
  const part = await send("GET", null, range);
  expect(part.status).toBe(206);
  expect(part.body.equals(whole.body.subarray(5, 10))).toBe(true);
});

test("the proxy sends made-up responses a given number of times", async () => {
  const { kept, proxy, send } = await start();
  proxy.faults.answer(2, 429, { "retry-after": "7" }, "no");
  for (const _ of [1, 2]) {
    const answer = await send("GET");
    expect([answer.status, answer.headers["retry-after"], answer.body.toString()]).toEqual([
      429,
      "7",
      "no",
    ]);
  }
  expect((await send("GET")).status).toBe(200);
  proxy.faults.redirect("http://192.0.2.1/");
  expect((await send("GET")).headers["location"]).toBe("http://192.0.2.1/");
  expect(kept).toHaveLength(1);
});

test("refusal, silence and a full storage last until cleared", async () => {
  const { bytes, proxy, send } = await start();
  proxy.faults.refuse();
  await expect(send("GET")).rejects.toThrow();
  proxy.faults.clear();
  proxy.faults.stall();
  await expect(send("GET")).rejects.toThrow();
  proxy.faults.clear();
  proxy.faults.fill(100_000);
  expect((await send("PUT", bytes)).status).toBe(507);
  expect((await send("PUT", Buffer.from("x"))).status).toBe(507);
  proxy.faults.clear();
  expect((await send("PUT", bytes)).status).toBe(201);
});
