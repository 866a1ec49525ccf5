import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Agent } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { webdav } from "../../../../../storage/cloud/webdav/provider.ts";
import { PROBE_VERSION } from "../../../../../storage/cloud/webdav/probe.ts";
import { testProviderDeps } from "../../../../support/cloud/vault-cloud.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const signal = new AbortController().signal;
const LAST_MODIFIED = "Sat, 21 Nov 2026 15:16:14 GMT";

interface Shown {
  readonly time?: string;
  readonly tag: string | undefined;
  readonly size: number | undefined;
}

/** The file `a` of a server: `shown` determines its properties, `get` its bytes. */
async function open(
  shown: () => Shown,
  get: (response: ServerResponse, range: string | undefined) => void,
) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.method ?? "");
    request.resume();
    if (request.method === "GET") {
      get(response, request.headers.range);
      return;
    }
    const { tag, size, time = LAST_MODIFIED } = shown();
    const props = [
      "<D:resourcetype/>",
      `<D:getlastmodified>${time}</D:getlastmodified>`,
      tag === undefined ? "" : `<D:getetag>"${tag}"</D:getetag>`,
      size === undefined ? "" : `<D:getcontentlength>${size}</D:getcontentlength>`,
    ].join("");
    response.writeHead(207, { date: "Sat, 21 Nov 2026 16:00:00 GMT" });
    response.end(
      `<D:multistatus xmlns:D="DAV:"><D:response><D:href>/dav/a</D:href><D:propstat><D:prop>${props}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>`,
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const agent = new Agent();
  closers.push(
    async () => agent.destroy(),
    async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  );
  const outcome = await webdav.connect(
    {
      connectionId: "c",
      settings: {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/dav/`,
        username: "anna",
      },
      credentials: { password: "secret" },
      probeResult: { version: PROBE_VERSION, writable: true, etag: "fine" },
      saveCredentials: async () => undefined,
      signal,
    },
    { ...testProviderDeps("/", Date.now), guarded: agent },
  );
  if (outcome.kind !== "ok") throw new Error(outcome.kind);
  const { provider } = outcome;
  let isKept: boolean | undefined;
  return {
    requests,
    /** Whether the last bytes read may be kept. */
    isKept: () => isKept,
    async read(range?: { start: number; end: number }) {
      const answer = await provider.read({ id: "a", range, signal });
      if (answer.kind !== "ok") return answer.kind;
      isKept = answer.item.unsettled !== true;
      return [answer.item.version, String(await buffer(answer.stream))];
    },
  };
}

const version = (tag: string, size: number) => `:${tag}:${size}:${Date.parse(LAST_MODIFIED)}`;

describe("bytes of another version than was looked at", () => {
  test("distinguishes versions within one second by their tags and caches each under its own version", async () => {
    let tag = "one";
    const { read } = await open(
      () => ({ tag, size: 5 }),
      (response) => {
        // Rewritten between the look and the bytes.
        tag = "two";
        response.writeHead(200, { etag: '"two"', "last-modified": LAST_MODIFIED });
        response.end("22222");
      },
    );
    expect(await read()).toEqual([version("two", 5), "22222"]);
  });

  test("accepts a server that has two tags for every file while the first one is unchanged", async () => {
    const { read, requests } = await open(
      () => ({ tag: "listed", size: 5 }),
      (response) => {
        response.writeHead(200, { etag: '"sent"', "last-modified": LAST_MODIFIED });
        response.end("11111");
      },
    );
    expect(await read()).toEqual([version("listed", 5), "11111"]);
    expect(requests).toEqual(["PROPFIND", "GET", "PROPFIND"]);
  });

  test.each([
    ["the time of the answer", { "last-modified": "Sat, 21 Nov 2026 15:59:59 GMT" }],
    ["a tag of its own and no time", { etag: '"sent"' }],
  ])("reads from a server that always sends %s, without caching", async (_what, headers) => {
    const { read, isKept } = await open(
      () => ({ tag: "listed", size: 5 }),
      (response) => response.writeHead(200, headers).end("11111"),
    );
    expect(await read()).toEqual([version("listed", 5), "11111"]);
    expect(isKept()).toBe(false);
  });

  test("distinguishes versions by their times", async () => {
    let time = LAST_MODIFIED;
    const { read, isKept } = await open(
      () => ({ tag: undefined, size: 5, time }),
      (response) => {
        time = "Sat, 21 Nov 2026 15:17:00 GMT";
        response.writeHead(200, { "last-modified": time }).end("22222");
      },
    );
    const at = Date.parse("2026-11-21T15:17:00Z");
    expect(await read()).toEqual([`:5-${at}:5:${at}`, "22222"]);
    expect(isKept()).toBe(true);
  });

  test.each([
    "2026-11-21T15:16:14.250Z",
    "2026-11-21T16:16:14+01:00",
    "Sat, 21 Nov 2026 15:16:14",
    "Sat Nov 21 15:16:14 2026",
    "2026-11-21 15:16:14",
  ])("accepts another format of the same time: %s", async (time) => {
    const { read, requests, isKept } = await open(
      () => ({ tag: "one", size: 5, time }),
      (response) => response.writeHead(200, { "last-modified": LAST_MODIFIED }).end("11111"),
    );
    expect((await read())[1]).toBe("11111");
    expect([requests, isKept()]).toEqual([["PROPFIND", "GET"], true]);
  });

  test("bytes of another length than listed are refused", async () => {
    let size = 5;
    const { read } = await open(
      () => ({ tag: undefined, size }),
      (response) => {
        size = 3;
        response.end("333");
      },
    );
    expect(await read()).toEqual([
      `:3-${Date.parse(LAST_MODIFIED)}:3:${Date.parse(LAST_MODIFIED)}`,
      "333",
    ]);
  });

  test("a file whose length always differs from the listing cannot be read, also not by ranges", async () => {
    const { read } = await open(
      () => ({ tag: "one", size: 5 }),
      (response, range) => {
        if (range === undefined) return response.end("333");
        response.writeHead(206, { "content-range": "bytes 1-2/3" });
        return response.end("33");
      },
    );
    expect(await read()).toBe("changed");
    expect(await read({ start: 1, end: 2 })).toBe("changed");
  });
});
