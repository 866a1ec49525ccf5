import { connect } from "node:net";
import { Readable } from "node:stream";
import { request as plainRequest } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../daemon/contract/all.ts";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { withOneDaemon } from "../support/skip.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}

/** The port of a daemon itself, past the proxy of several. */
const portOfDaemon = () => Number(new URL(daemon.urls[0] ?? daemon.url).port);

/** Sends raw bytes and returns the response until the connection is closed. */
/** Node ends a connection whose client has ended its side first, unless the answer is there at once: a proxy takes longer. */
async function sendRaw(text: string, { endsFirst = true } = {}): Promise<string> {
  const port = portOfDaemon();
  const socket = connect(port, "127.0.0.1");
  if (endsFirst) socket.end(text);
  else socket.write(text);
  let answer = "";
  for await (const chunk of socket) answer += (chunk as Buffer).toString();
  return answer;
}

describe("pages outside both APIs", () => {
  test("/healthz and /readyz report that the daemon runs and can read its database", async () => {
    expect((await daemon.request("/healthz")).json).toEqual({ status: "ok" });
    expect((await daemon.request("/readyz")).json).toMatchObject({ status: "ready" });
  });

  withOneDaemon("/metrics counts requests by operation, in Prometheus' format", async () => {
    await daemon.request("/api/v1/version");
    const { text, headers } = await daemon.request("/metrics");
    expect(headers.get("content-type")).toContain("text/plain");
    expect(text).toMatch(
      /croft_http_requests_total\{route="forge\.version[^"]*",method="GET",status="200"\} \d/,
    );
    expect(text).toContain("croft_process_resident_memory_bytes");
  });

  test.each(["forge", "vault"])(
    "/openapi/%s.json describes that API and not the other",
    async (api) => {
      const { json } = await daemon.request(`/openapi/${api}.json`);
      expect(json.openapi).toBe("3.1.0");
      const paths = Object.keys(json.paths);
      expect(paths.length).toBeGreaterThan(3);
      const isVault = (path: string) =>
        /^\/(?:api\/(?!v1\/|packages\/|actions_pipeline\/)|oauth\/start\/|[sr]\/\{secret\})/.test(
          path,
        );
      for (const path of paths) expect(isVault(path)).toBe(api === "vault");
      for (const path of paths) expect(path).not.toContain(":");
    },
  );

  test.each(["forge", "vault"])("/openapi/%s.json is valid", async (api) => {
    const { json } = await daemon.request(`/openapi/${api}.json`);
    const names: string[] = [];
    for (const [path, item] of Object.entries<Record<string, Operation>>(json.paths)) {
      const inPath = [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name);
      for (const operation of Object.values(item)) {
        names.push(operation.operationId);
        const declared = (operation.parameters ?? []).filter((one) => one.in === "path");
        expect(declared.map(({ name }) => name).toSorted(), path).toEqual(inPath.toSorted());
        expect(Object.keys(operation.responses), path).toContain("default");
      }
    }
    expect(new Set(names).size).toBe(names.length);
    const references = [...JSON.stringify(json).matchAll(/"\$ref":"([^"]+)"/g)];
    const known = Object.keys(json.components.schemas).map((key) => `#/components/schemas/${key}`);
    expect([...new Set(references.map(([, to]) => to))].toSorted()).toEqual(known.toSorted());
  });

  test("anything else is a plain 404, a wrong method a plain 405", async () => {
    expect(await daemon.request("/nothing")).toMatchObject({
      status: 404,
      text: "404 page not found\n",
    });
    expect((await daemon.request("/healthz", { method: "POST", body: "" })).status).toBe(405);
  });
});

test.each([
  ["a page", "GET /healthz"],
  ["a page with the wrong method", "POST /healthz"],
  ["an unknown address", "POST /user/login"],
  ["an unknown operation", "POST /api/v1/nothing"],
])("the connection is closed after the answer when a body for %s never ends", async (_, line) => {
  const port = portOfDaemon();
  const socket = connect(port, "127.0.0.1");
  socket.write(`${line} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 900000\r\n\r\na`);
  let answer = "";
  for await (const chunk of socket) answer += (chunk as Buffer).toString();
  expect(answer).toMatch(/^HTTP\/1\.1 \d{3} .*^connection: close/ims);
});

describe("two separate APIs", () => {
  test("each has its own 404, in its own words", async () => {
    const forge = await daemon.request("/api/v1/nothing");
    expect([forge.status, forge.text]).toEqual([404, "404 page not found\n"]);
    const vault = await daemon.request("/api/auth/nothing");
    expect([vault.status, vault.json]).toEqual([404, { detail: "Not Found" }]);
  });

  test("forge paths are normalised, vault paths are not", async () => {
    expect((await daemon.request("/api/v1//version/")).json).toEqual({ version: "28.2.0" });
    expect((await daemon.request("/api//auth/me")).status).toBe(404);
  });

  test("a broken escape is refused by both", async () => {
    const forge = await sendRaw(
      `GET /api/v1/users/%zz HTTP/1.1\r\nHost: ${new URL(daemon.url).host}\r\nConnection: close\r\n\r\n`,
      { endsFirst: false },
    );
    expect(forge).toContain("400 Bad Request: unable to unescape path");
    expect(forge).toMatch(/^X-Frame-Options: SAMEORIGIN\r$/im);
    const vault = await sendRaw(
      `GET /api/auth/%zz HTTP/1.1\r\nHost: ${new URL(daemon.url).host}\r\nConnection: close\r\n\r\n`,
      { endsFirst: false },
    );
    expect(vault).toMatch(/^HTTP\/1\.1 4\d\d /);
  });
});

describe("attack: another site or another name", () => {
  test("a foreign Host is 421 before any route sees it", async () => {
    const { statusCode, body } = await plainRequest(`${daemon.url}/api/v1/version`, {
      headers: { host: "evil.example" },
    });
    expect(statusCode).toBe(421);
    expect(await body.json()).toEqual({ message: expect.stringContaining("CROFT_ALLOWED_HOSTS") });
  });

  test("a foreign page cannot post, and no answer carries CORS headers", async () => {
    const answer = await daemon.request("/api/auth/login", {
      json: { email: "a@example.org", password: "x" },
      headers: { Origin: "http://evil.example" },
    });
    expect(answer.status).toBe(403);
    const read = await daemon.request("/api/v1/version", {
      headers: { Origin: "http://evil.example" },
    });
    expect(read.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("a foreign page is refused in the words of each protocol", async () => {
    const refuse = (path: string, method: string) =>
      daemon.request(path, { method, headers: { Origin: "http://evil.example" }, body: "{}" });
    const npm = await refuse("/api/packages/keeper/npm/pack", "PUT");
    expect([npm.status, npm.json.error]).toEqual([403, npm.json.message]);
    const git = await refuse("/keeper/hut/git-receive-pack", "POST");
    expect([git.status, git.headers.get("content-type")]).toEqual([
      403,
      "text/plain; charset=utf-8",
    ]);
    expect(git.text).toMatch(/^Requests from other sites are refused\./);
  });
});

describe("a search for a text with NUL", () => {
  const searches = (allEndpoints as readonly Endpoint[]).filter(
    ({ query, name }) => query?.shape["q"] !== undefined && name.startsWith("forge."),
  );

  test.each(searches.map(({ name, path }) => [name, path]))("%s finds nothing", async (_, path) => {
    const token = daemon.first?.forge.token ?? "";
    const names = { owner: "keeper", repo: "hut", org: "works" };
    await daemon.request("/api/v1/user/repos", { token, json: { name: "hut", auto_init: true } });
    await daemon.request("/api/v1/orgs", { token, json: { username: "works" } });
    const filled = path.replace(
      /:(owner|repo|org)/g,
      (_all, name: keyof typeof names) => names[name],
    );
    const found = await daemon.request(`${filled}?q=a%00`, { token });
    expect(found.status).toBeOneOf([200, 422]);
    const list = found.json.data ?? found.json;
    if (found.status === 200 && Array.isArray(list)) expect(list).toEqual([]);
  });
});

describe("attack: request smuggling and malformed HTTP", () => {
  const host = () => `Host: ${new URL(daemon.url).host}\r\n`;

  test.each([
    [
      "both lengths",
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n",
    ],
    ["two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
    ["a folded header", "X-Folded: a\r\n b\r\nTransfer-Encoding: \r\n chunked\r\n\r\n0\r\n\r\n"],
    ["an unknown coding", "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"],
    ["a broken chunk size", "Transfer-Encoding: chunked\r\n\r\nzz\r\n"],
  ])("%s is refused and the connection closed", async (_name, rest) => {
    const answer = await sendRaw(
      `POST /api/auth/login HTTP/1.1\r\n${host()}Content-Type: application/json\r\n${rest}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });

  test("a header without end and a huge header are cut off", async () => {
    const answer = await sendRaw(
      `GET /healthz HTTP/1.1\r\n${host()}X-Big: ${"x".repeat(40_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  test.each([
    ["of a byte", "1\r\na\r\n", 20_000],
    ["of a byte with an extension", "1;a=b\r\na\r\n", 20_000],
  ])("a body of very many chunks %s ends with its connection", async (_name, chunk, count) => {
    const head = `POST /api/v1/markdown/raw HTTP/1.1\r\n${host()}Transfer-Encoding: chunked\r\n\r\n`;
    await expect(
      sendRaw(`${head}${chunk.repeat(count)}0\r\n\r\n`).catch((error: NodeJS.ErrnoException) =>
        error.code === "ECONNRESET" || error.code === "EPIPE" ? "" : Promise.reject(error),
      ),
    ).resolves.toBe("");
  });

  test("a body of many chunks of lines is accepted", async () => {
    const { statusCode, body } = await plainRequest(`${daemon.url}/api/v1/markdown/raw`, {
      method: "POST",
      body: Readable.from(Array(20_000).fill(`${"a".repeat(39)}\n`)),
    });
    expect(statusCode).toBe(200);
    await body.dump();
  });
});
