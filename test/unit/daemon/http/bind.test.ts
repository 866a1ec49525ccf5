import { request as nodeRequest } from "node:http";
import { Readable } from "node:stream";
import { request as plainRequest } from "undici";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  anyone,
  empty,
  endpoint,
  perAccount,
  perAddress,
  stream,
  vaultAccount,
} from "../../../../daemon/contract/endpoint.ts";
import { AppError } from "../../../../daemon/errors.ts";
import type { Route, RouteAnswer, RouteInput } from "../../../../daemon/http/handle.ts";
import type { AnyEndpoint } from "../../../../daemon/contract/endpoint.ts";
import { StorageError } from "../../../../storage/engine/database.ts";
import { serveRoutes, type PlainCaller } from "../../../support/http-app.ts";

function route<E extends AnyEndpoint>(
  declared: E,
  handler: (input: RouteInput<E, PlainCaller>) => Promise<RouteAnswer<E>>,
): Route {
  return { endpoint: declared, handler };
}

const ping = endpoint({
  name: "test.ping",
  method: "GET",
  path: "/api/ping",
  summary: "ping",
  gate: anyone,
  replies: { 200: z.object({ ok: z.boolean() }) },
});
const pong = route(ping, async () => ({ status: 200, body: { ok: true } }));

const item = (method: "GET" | "PATCH" | "DELETE", suffix: string) =>
  route(
    endpoint({
      name: `test.item.${method}${suffix}`,
      method,
      path: `/api/items/**:item_id${suffix}`,
      summary: "item",
      gate: anyone,
      params: z.object({ item_id: z.string() }),
      replies: { 200: z.object({ id: z.string(), action: z.string() }) },
    }),
    async ({ params }) => ({
      status: 200,
      body: { id: params.item_id, action: `${method}${suffix}` },
    }),
  );

describe("addresses", () => {
  const routes = [pong, item("DELETE", ""), item("PATCH", "/rename"), item("GET", "/open")];
  const at = async (method: string, path: string) => {
    await using app = await serveRoutes(routes);
    const response = await fetch(app.url + path, { method });
    return {
      status: response.status,
      allow: response.headers.get("allow"),
      body: await response.text(),
    };
  };

  test("an unknown address is 404 in the API's words", async () => {
    expect(await at("GET", "/api/nothing")).toMatchObject({
      status: 404,
      body: '{"detail":"Not Found"}',
    });
  });

  test("a wrong method is 405 and names the right ones", async () => {
    expect(await at("POST", "/api/ping")).toMatchObject({ status: 405, allow: "GET, HEAD" });
    expect(await at("GET", "/api/items/a/rename")).toMatchObject({
      status: 405,
      allow: "PATCH",
    });
    expect(await at("GET", "/api/items/a%2Frename")).toMatchObject({
      status: 405,
      allow: "DELETE",
    });
  });

  test("HEAD is served by the GET handler, without a body", async () => {
    expect(await at("HEAD", "/api/ping")).toMatchObject({ status: 200, body: "" });
  });

  test.each([
    ["PATCH", "/api/items/a/b/rename", "a/b", "PATCH/rename"],
    ["PATCH", "/api/items/a%2Fb/rename", "a/b", "PATCH/rename"],
    ["PATCH", "/api/items/rename/rename", "rename", "PATCH/rename"],
    ["DELETE", "/api/items/a/rename", "a/rename", "DELETE"],
    ["GET", "/api/items/open/open", "open", "GET/open"],
    ["DELETE", "/api/items/100%25", "100%", "DELETE"],
    ["DELETE", "/api/items/%2541", "%41", "DELETE"],
    ["DELETE", "/api/items/a%20b+c%23%3F", "a b+c#?", "DELETE"],
    ["DELETE", "/api/items/gr%C3%BC%C3%9Fe", "grüße", "DELETE"],
  ])("%s %s names the item %s", async (method, path, id, action) => {
    const { status, body } = await at(method, path);
    expect({ status, ...JSON.parse(body) }).toEqual({ status: 200, id, action });
  });
});

describe("order of the checks", () => {
  const guarded = route(
    endpoint({
      name: "test.guarded",
      method: "POST",
      path: "/api/guarded",
      summary: "guarded",
      gate: vaultAccount,
      limit: perAccount(2, 60),
      body: z.object({ n: z.number() }),
      replies: { 200: z.object({ doubled: z.number() }) },
    }),
    async ({ body, caller }) => ({
      status: 200,
      body: { doubled: caller.name.length + body.n * 2 },
    }),
  );
  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/api/guarded`, { method: "POST", body, headers });

  test("an anonymous caller learns nothing about the body's schema", async () => {
    await using app = await serveRoutes([guarded]);
    expect((await post(app.url, "nonsense")).status).toBe(401);
    expect((await post(app.url, "nonsense", { authorization: "Bearer wrong" })).status).toBe(401);
  });

  test("the account's limit counts before the body is read, and per account", async () => {
    await using app = await serveRoutes([guarded]);
    const asAnn = { authorization: "Bearer ann" };
    expect((await post(app.url, "{}", asAnn)).status).toBe(422);
    const second = await post(app.url, '{"n":4}', asAnn);
    expect([second.status, second.headers.get("ratelimit-remaining")]).toEqual([200, "0"]);
    const third = await post(app.url, '{"n":4}', asAnn);
    expect([third.status, third.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await third.json()).toEqual({ detail: "Too many requests. Try again in 60 seconds." });
    expect((await post(app.url, '{"n":4}', { authorization: "Bearer bob" })).status).toBe(200);
  });

  test("responses of an uncounted route carry no RateLimit headers", async () => {
    const uncounted = {
      counts: false,
      consume: () => Promise.reject(new Error("asked")),
      addressKey: (address: string) => address,
    };
    await using app = await serveRoutes([guarded], { limiter: uncounted });
    const answer = await post(app.url, '{"n":4}', { authorization: "Bearer ann" });
    expect([answer.status, answer.headers.get("ratelimit-limit")]).toEqual([200, null]);
  });

  test("callers without an account count by address, before they are refused", async () => {
    await using app = await serveRoutes([guarded]);
    const statuses = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await post(app.url, "{}")).status);
    expect(statuses).toEqual([401, 401, 429]);
  });

  test("an address limit counts before authentication", async () => {
    const limited = route({ ...ping, limit: perAddress(1, 60) }, async () => ({
      status: 200,
      body: { ok: true },
    }));
    let asked = 0;
    await using app = await serveRoutes([limited], {
      api: {
        authenticate: async () => {
          asked += 1;
          return undefined;
        },
      },
    });
    await fetch(`${app.url}/api/ping`);
    expect((await fetch(`${app.url}/api/ping`)).status).toBe(429);
    expect(asked).toBe(1);
  });
});

test("every error has a request id, and a success has none", async () => {
  const missing = route(ping, () => Promise.reject(new AppError("not_found", "no such page")));
  await using app = await serveRoutes([missing]);
  const idOf = async (path: string) =>
    (await fetch(`${app.url}${path}`)).headers.get("x-request-id");
  expect(await idOf("/api/ping")).toMatch(/^[0-9a-f]{20}$/);
  await using other = await serveRoutes([
    route(ping, async () => ({ status: 200, body: { ok: true } })),
  ]);
  expect((await fetch(`${other.url}/api/ping`)).headers.get("x-request-id")).toBeNull();
});

describe("failures", () => {
  const failing = (error: unknown) => route(ping, () => Promise.reject(error));
  const outcome = async (error: unknown) => {
    await using app = await serveRoutes([failing(error)]);
    const response = await fetch(`${app.url}/api/ping`);
    return {
      status: response.status,
      body: await response.text(),
      requestId: response.headers.get("x-request-id"),
      reported: app.reports[0]?.error,
    };
  };

  test("a bug is 500 with a fixed text and a request id, and is logged in full", async () => {
    const bug = new Error("secret detail at /home/x");
    const { status, body, requestId, reported } = await outcome(bug);
    expect([status, body]).toEqual([500, '{"detail":"Internal server error"}']);
    expect(requestId).toMatch(/^[0-9a-f]{20}$/);
    expect(reported).toBe(bug);
  });

  test("a full disk is 507, a busy database 503, both without details", async () => {
    for (const full of [
      new StorageError("full", "SQLITE_FULL at /x"),
      Object.assign(new Error("ENOSPC: no space left on device, write '/x'"), { code: "ENOSPC" }),
    ])
      expect(await outcome(full)).toMatchObject({
        status: 507,
        body: '{"detail":"The server\'s disk is full."}',
      });
    const busy = await outcome(new StorageError("busy", "locked /x"));
    expect(busy.status).toBe(503);
    expect(busy.body).not.toContain("/x");
  });

  describe("of a full disk", () => {
    const full = () => new StorageError("full", "SQLITE_FULL");
    /** Fails but while the reserve is spent. */
    const startFullDisk = () => {
      let isFull = true;
      let released = 0;
      return {
        write: () => {
          if (isFull) throw full();
        },
        released: () => released,
        spendReserve: async <T>(_failure: unknown, work: () => Promise<T>) => {
          released += 1;
          isFull = false;
          try {
            return await work();
          } finally {
            isFull = true;
          }
        },
      };
    };
    const echo = (more: { readonly mayUseReserve?: true }, write: () => void) =>
      route(
        endpoint({
          name: "test.echo",
          method: "POST",
          path: "/api/echo",
          summary: "echo",
          gate: anyone,
          limit: perAddress(1, 60),
          body: z.object({ password: z.string() }),
          replies: { 200: z.object({ password: z.string() }) },
          ...more,
        }),
        async ({ body }) => {
          write();
          return { status: 200, body };
        },
      );
    const send = async (url: string) => {
      const response = await fetch(`${url}/api/echo`, { method: "POST", body: '{"password":"x"}' });
      return { status: response.status, body: await response.json() };
    };

    test("releases the reserve for a sign-in, which keeps its body and counts once", async () => {
      const disk = startFullDisk();
      const options = { spendReserve: disk.spendReserve };
      await using app = await serveRoutes([echo({ mayUseReserve: true }, disk.write)], options);
      expect(await send(app.url)).toEqual({ status: 200, body: { password: "x" } });
      expect(disk.released()).toBe(1);
      expect((await send(app.url)).status).toBe(429);
    });

    test("keeps the reserve from other writes", async () => {
      const disk = startFullDisk();
      const options = { spendReserve: disk.spendReserve };
      await using app = await serveRoutes([echo({}, disk.write)], options);
      expect((await send(app.url)).status).toBe(507);
      expect(disk.released()).toBe(0);
    });

    test("releases the reserve for the check of a password on any route", async () => {
      const disk = startFullDisk();
      const authenticate = async () => {
        disk.write();
        return { name: "mira" };
      };
      const options = { spendReserve: disk.spendReserve, api: { authenticate } };
      await using app = await serveRoutes([pong], options);
      expect((await fetch(`${app.url}/api/ping`)).status).toBe(200);
      expect(disk.released()).toBe(1);
    });

    test("keeps the reserve from the writes that follow a sign-in", async () => {
      const disk = startFullDisk();
      const authenticate = async () => {
        disk.write();
        return { name: "mira" };
      };
      const options = { spendReserve: disk.spendReserve, api: { authenticate } };
      await using app = await serveRoutes([echo({}, disk.write)], options);
      expect((await send(app.url)).status).toBe(507);
      expect(disk.released()).toBe(1);
    });
  });

  test("a process without file descriptors answers 503 with Retry-After", async () => {
    await using app = await serveRoutes([
      failing(
        Object.assign(new Error("EMFILE: too many open files, open '/x'"), { code: "EMFILE" }),
      ),
    ]);
    const response = await fetch(`${app.url}/api/ping`);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.text()).not.toContain("/x");
  });

  test("a refusal's validation failures are the body, its retry time is a header", async () => {
    const failures = [{ loc: ["body", "name"], msg: "taken", type: "value_error" }];
    await using app = await serveRoutes([
      failing(new AppError("unprocessable", "invalid", { failures, retryAfterSeconds: 3 })),
    ]);
    const response = await fetch(`${app.url}/api/ping`);
    expect([response.status, response.headers.get("retry-after")]).toEqual([422, "3"]);
    expect(await response.json()).toEqual({ detail: failures });
  });

  test("a declared 503 carries the request id like every other 5xx", async () => {
    const offline = route(
      endpoint({
        name: "test.offline",
        method: "GET",
        path: "/api/offline",
        summary: "offline",
        gate: anyone,
        replies: { 503: z.object({ kind: z.string() }) },
      }),
      async () => ({ status: 503, body: { kind: "offline" } }),
    );
    await using app = await serveRoutes([offline]);
    const response = await fetch(`${app.url}/api/offline`);
    expect(response.status).toBe(503);
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f]{20}$/);
  });

  test("an answer against its own schema is a bug while answers are checked", async () => {
    const lying = route(ping, async () => ({
      status: 200,
      body: { ok: "yes" as unknown as boolean },
    }));
    await using app = await serveRoutes([lying]);
    expect((await fetch(`${app.url}/api/ping`)).status).toBe(500);
  });
});

describe("bodies and answers", () => {
  const echo = route(
    endpoint({
      name: "test.echo",
      method: "POST",
      path: "/api/echo",
      summary: "echo",
      gate: anyone,
      body: z.object({ text: z.string() }),
      replies: { 205: z.object({ text: z.string() }), 204: empty },
    }),
    async ({ body }) =>
      body.text === "" ? { status: 204 } : { status: 205, body: { text: body.text } },
  );

  test("a body over the limit is 413, announced or not, and the connection is closed", async () => {
    await using app = await serveRoutes([echo]);
    const big = JSON.stringify({ text: "x".repeat(5000) });
    const announced = await plainRequest(`${app.url}/api/echo`, { method: "POST", body: big });
    expect(announced.statusCode).toBe(413);
    await announced.body.dump();
    const chunked = await plainRequest(`${app.url}/api/echo`, {
      method: "POST",
      body: Readable.from(Array.from({ length: 50 }, () => Buffer.alloc(100, "x"))),
    });
    expect(chunked.statusCode).toBe(413);
    await chunked.body.dump();
  });

  test("205 carries its body and leaves the connection in step", async () => {
    await using app = await serveRoutes([echo]);
    for (let i = 0; i < 2; i += 1) {
      const { statusCode, body } = await plainRequest(`${app.url}/api/echo`, {
        method: "POST",
        body: '{"text":"grüße"}',
      });
      expect([statusCode, await body.json()]).toEqual([205, { text: "grüße" }]);
    }
  });

  test("204 has neither body nor length", async () => {
    await using app = await serveRoutes([echo]);
    const response = await fetch(`${app.url}/api/echo`, { method: "POST", body: '{"text":""}' });
    expect([
      response.status,
      response.headers.get("content-length"),
      await response.text(),
    ]).toEqual([204, null, ""]);
  });
});

describe("paging headers", () => {
  const list = route(
    endpoint({
      name: "test.list",
      method: "GET",
      path: "/api/list",
      summary: "list",
      gate: anyone,
      query: z.object({
        page: z.coerce.number().default(1),
        limit: z.coerce.number().default(10),
        q: z.string().optional(),
      }),
      paging: "link_and_total",
      replies: { 200: z.array(z.number()) },
    }),
    async () => ({ status: 200, body: [], total: 45 }),
  );
  const headersOf = async (query: string) => {
    await using app = await serveRoutes([list]);
    const { headers } = await fetch(`${app.url}/api/list${query}`);
    return [
      headers.get("link"),
      headers.get("x-total-count"),
      headers.get("access-control-expose-headers"),
    ];
  };

  test("the middle of a list links all four ways, in order, keys sorted", async () => {
    expect(await headersOf("?q=a%20b&page=2")).toEqual([
      [
        '<http://croft.example/api/list?page=3&q=a+b>; rel="next"',
        '<http://croft.example/api/list?page=5&q=a+b>; rel="last"',
        '<http://croft.example/api/list?page=1&q=a+b>; rel="first"',
        '<http://croft.example/api/list?page=1&q=a+b>; rel="prev"',
      ].join(","),
      "45",
      "Link, X-Total-Count",
    ]);
  });

  test("past the end only the way back is linked", async () => {
    expect((await headersOf("?page=99"))[0]).toBe(
      '<http://croft.example/api/list?page=1>; rel="first",<http://croft.example/api/list?page=4>; rel="prev"',
    );
  });

  test("a single page has no Link", async () => {
    expect(await headersOf("?limit=50")).toEqual([null, "45", "X-Total-Count"]);
  });
});

test("a body that ends while its caller is authorized is refused when the credentials were revoked meanwhile", async () => {
  const upload = route(
    endpoint({
      name: "test.upload",
      method: "POST",
      path: "/api/upload",
      summary: "upload",
      gate: anyone,
      body: stream("application/octet-stream"),
      replies: { 200: z.object({}) },
    }),
    async ({ body }) => {
      for await (const chunk of body) void chunk;
      return { status: 200, body: {} };
    },
  );
  const authorizing = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  await using app = await serveRoutes([upload], {
    api: {
      authorize: async () => {
        authorizing.resolve();
        await ended.promise;
      },
      isStillSignedIn: async () => false,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const sent = nodeRequest(`${app.url}/api/upload`, {
    method: "POST",
    headers: {
      Authorization: "Bearer mira",
      "Content-Type": "application/octet-stream",
      "Content-Length": "8",
    },
  });
  sent.on("response", ({ statusCode }) => resolve(statusCode)).on("error", reject);
  sent.write("1234");
  await authorizing.promise;
  sent.end("5678");
  // The parser has read the end of the body when the daemon has answered a later request.
  await fetch(`${app.url}/api/ping`);
  ended.resolve();
  expect(await promise).toBe(401);
});
