import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Agent } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { webdav } from "../../../../../storage/cloud/webdav/provider.ts";
import { testProviderDeps } from "../../../../support/cloud/vault-cloud.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const signal = new AbortController().signal;
const LAST_MODIFIED = "Sat, 21 Nov 2026 15:16:14 GMT";

interface Shown {
  readonly tag: string | undefined;
  readonly size: number | undefined;
}

/** The file `a` of a server: what it shows is up to `shown`, its bytes are up to `get`. */
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
    const { tag, size } = shown();
    const props = [
      "<D:resourcetype/>",
      `<D:getlastmodified>${LAST_MODIFIED}</D:getlastmodified>`,
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
      facts: { version: 1, writable: true, etag: "fine" },
      saveCredentials: async () => undefined,
      signal,
    },
    { ...testProviderDeps("/", Date.now), guarded: agent },
  );
  if (outcome.kind !== "ok") throw new Error(outcome.kind);
  const { provider } = outcome;
  return {
    requests,
    async read(range?: { start: number; end: number }) {
      const answer = await provider.read({ id: "a", range, signal });
      if (answer.kind !== "ok") return answer.kind;
      return [answer.item.version, String(await buffer(answer.stream))];
    },
  };
}

const version = (tag: string, size: number) => `:${tag}:${size}:${Date.parse(LAST_MODIFIED)}`;

describe("bytes of another version than was looked at", () => {
  test("within the same second are told by their tag, and go under their own version", async () => {
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

  test("a server that has two tags for everything is believed when it still tells the first", async () => {
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

  test("of another length are not taken for what was listed", async () => {
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

  test("of another length for good are nothing that can be given, in parts neither", async () => {
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
