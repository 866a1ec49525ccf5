import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Agent } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import type { CloudProvider, ProbeResult } from "../../../../../storage/cloud/provider.ts";
import { webdav } from "../../../../../storage/cloud/webdav/provider.ts";
import { PROBE_VERSION } from "../../../../../storage/cloud/webdav/probe.ts";
import { testProviderDeps } from "../../../../support/cloud/vault-cloud.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const signal = new AbortController().signal;
const plainFacts: ProbeResult = { version: PROBE_VERSION, writable: true, etag: "fine" };

/** A connection to `/b x` of a server that says whatever `answer` does. */
async function connect(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  probeResult: ProbeResult | "none" = plainFacts,
) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume();
    answer(request, response);
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
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const outcome = await webdav.connect(
    {
      connectionId: "c",
      settings: { url: `${origin}/b x/`, username: "anna" },
      credentials: { password: "secret" },
      probeResult: probeResult === "none" ? undefined : probeResult,
      saveCredentials: async () => undefined,
      signal,
    },
    { ...testProviderDeps("/", Date.now), guarded: agent },
  );
  return { outcome, requests, origin };
}

async function open(body: string, probeResult?: ProbeResult): Promise<CloudProvider> {
  const { outcome } = await connect((_request, response) => {
    response.writeHead(207, {
      "content-type": 'text/xml; charset="utf-8"',
      date: "Sat, 21 Nov 2026 15:16:15 GMT",
    });
    response.end(body);
  }, probeResult);
  if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
  return outcome.provider;
}

async function list(body: string, probeResult?: ProbeResult) {
  const provider = await open(body, probeResult);
  return provider.list({ folder: "", signal });
}

const multistatus = (responses: string) =>
  `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">${responses}</D:multistatus>`;
const folder = (href: string) =>
  `<D:response><D:href>${href}</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`;
const file = (href: string, props = "<D:getcontentlength>5</D:getcontentlength>") =>
  `<D:response><D:href>${href}</D:href><D:propstat><D:prop><D:resourcetype/>${props}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`;

describe("responses of real servers", () => {
  const modified = "<x:getlastmodified>Sat, 21 Nov 2026 15:16:14 GMT</x:getlastmodified>";

  test("Apache: prefixes by the property, escapes in lower case, weak tags at first", async () => {
    const props = `${modified.replaceAll("x:", "lp1:")}<lp1:getcontentlength>5</lp1:getcontentlength>\n<lp1:getetag>W/"5-660cad76f7924"</lp1:getetag>`;
    const outcome = await list(
      `<?xml version="1.0" encoding="utf-8"?>
<D:multistatus xmlns:D="DAV:" xmlns:ns0="DAV:">
<D:response xmlns:lp1="DAV:" xmlns:lp2="http://apache.org/dav/props/" xmlns:g0="DAV:">
<D:href>/b%20x/</D:href>
<D:propstat><D:prop><lp1:resourcetype><D:collection/></lp1:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>
<D:propstat><D:prop><g0:getcontentlength/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>
</D:response>
<D:response xmlns:lp1="DAV:" xmlns:lp2="http://apache.org/dav/props/" xmlns:g0="DAV:">
<D:href>/b%20x/50%20%25%20%c3%a9%23.txt</D:href>
<D:propstat><D:prop><lp1:resourcetype/>${props}</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>
</D:response>
</D:multistatus>`,
      { ...plainFacts, etag: "coarse" },
    );
    expect(outcome).toEqual({
      kind: "ok",
      items: [
        {
          id: "50 % \u00e9#.txt",
          name: "50 % \u00e9#.txt",
          kind: "file",
          parent: "",
          contentType: "text/plain",
          size: 5,
          modifiedAt: Date.UTC(2026, 10, 21, 15, 16, 14),
          etag: "5-660cad76f7924-5-1795274174000",
          version: ":5-660cad76f7924-5-1795274174000:5:1795274174000",
          unsettled: true,
        },
      ],
    });
  });

  test("nginx: no tags, so that size and time have to do", async () => {
    const outcome = await list(
      multistatus(
        folder("/b%20x/") +
          `<D:response><D:href>/b%20x/a.txt</D:href><D:propstat><D:prop>${modified.replaceAll("x:", "D:")}<D:getcontentlength>5</D:getcontentlength><D:resourcetype></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`,
      ),
      { ...plainFacts, etag: "none" },
    );
    expect(outcome).toMatchObject({
      items: [{ name: "a.txt", etag: "5-1795274174000", unsettled: true }],
    });
  });

  test("rclone: empty elements among the properties that were not found", async () => {
    const outcome = await list(
      `<?xml version="1.0" encoding="UTF-8"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>/b%20x/</D:href><D:propstat><D:prop><D:resourcetype><D:collection xmlns:D="DAV:"/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat><D:propstat><D:prop><D:getcontentlength></D:getcontentlength><D:getetag></D:getetag></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response><D:response><D:href>/b%20x/a</D:href><D:propstat><D:prop><D:resourcetype></D:resourcetype><D:getcontentlength>5</D:getcontentlength><D:getetag>"18ea1859d4e00b365"</D:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>`,
    );
    expect(outcome).toMatchObject({ items: [{ name: "a", size: 5, etag: "18ea1859d4e00b365" }] });
  });

  test("others: whole addresses, unquoted tags, raw characters, the folder itself last", async () => {
    const outcome = await list(
      multistatus(
        file("http://other.host/b%20x/a#b?.txt", "<D:getetag>unquoted</D:getetag>") +
          folder("http://other.host/b%20x/sub/") +
          folder("http://other.host/b%20x"),
      ),
    );
    expect(outcome).toMatchObject({
      items: [
        { name: "a#b?.txt", etag: "unquoted", size: undefined },
        { name: "sub", kind: "folder", etag: undefined, version: undefined },
      ],
    });
  });

  test("a status of one item is about that item alone", async () => {
    const status = (href: string, line: string) =>
      `<D:response><D:href>${href}</D:href><D:status>HTTP/1.1 ${line}</D:status></D:response>`;
    const outcome = await list(
      multistatus(
        folder("/b%20x/") +
          status("/b%20x/gone", "404 Not Found") +
          status("/b%20x/secret", "403 Forbidden") +
          file("/b%20x/a"),
      ),
    );
    expect(outcome).toMatchObject({ items: [{ name: "secret", size: undefined }, { name: "a" }] });
  });

  test("an item whose type the server does not give is unknown, not a file", async () => {
    const href = (path: string) => `<D:response><D:href>${path}</D:href>`;
    const outcome = await list(
      multistatus(
        folder("/b%20x/") +
          `${href("/b%20x/busy/")}<D:status>HTTP/1.1 503 Service Unavailable</D:status></D:response>` +
          `${href("/b%20x/locked/")}<D:propstat><D:prop><D:resourcetype/></D:prop>
             <D:status>HTTP/1.1 403 Forbidden</D:status></D:propstat></D:response>` +
          file("/b%20x/a"),
      ),
    );
    expect(outcome).toMatchObject({ kind: "ok", unknown: ["busy", "locked"] });
  });

  test("a server behind a proxy may see itself under another path", async () => {
    const body = multistatus(folder("/inner/") + file("/inner/a"));
    expect(await list(body)).toMatchObject({ kind: "offline", note: "foreign_href" });
    expect(await list(body, { ...plainFacts, href_base: "inner" })).toMatchObject({
      items: [{ id: "a" }],
    });
  });
});

describe("hostile listings", () => {
  test("entities and document types are refused", async () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aaaa">]><D:multistatus xmlns:D="DAV:">${folder("/b%20x/")}${file("/b%20x/&a;")}</D:multistatus>`;
    expect(await list(bomb)).toMatchObject({ kind: "offline", note: "xml_doctype" });
  });

  test("an href of another server fails the whole listing, so that no item counts as deleted", async () => {
    for (const href of [
      "/b%20x/../etc/passwd",
      "/b%20x/%2e%2e/etc",
      "/b%20x/..%2Fetc",
      "/b%20x/..",
    ])
      expect(await list(multistatus(folder("/b%20x/") + file(href)))).toMatchObject({
        kind: "offline",
        note: "impossible_href",
      });
    for (const href of ["/etc/passwd", "/b%20x/deep/er", "https://evil.example/"])
      expect(await list(multistatus(folder("/b%20x/") + file(href)))).toMatchObject({
        kind: "offline",
        note: "foreign_href",
      });
  });

  test("an empty response, a truncated one and an HTML page do not mean an empty folder", async () => {
    for (const body of [
      multistatus(""),
      multistatus(folder("/b%20x/")).slice(0, -5),
      "<html><body>Back soon</body></html>",
      '<D:error xmlns:D="DAV:"/>',
      "",
    ])
      expect((await list(body)).kind).toBe("offline");
  });

  test("fails the listing of a folder that is unreadable right now, even when other items are reported", async () => {
    const self = (line: string) =>
      `<D:response><D:href>/b%20x/</D:href><D:status>HTTP/1.1 ${line}</D:status></D:response>`;
    for (const [line, kind] of [
      ["503 Service Unavailable", "offline"],
      ["500 Internal Server Error", "offline"],
      ["401 Unauthorized", "reauth"],
      ["403 Forbidden", "forbidden"],
      ["423 Locked", "locked"],
      ["404 Not Found", "stale"],
    ] as const) {
      expect((await list(multistatus(self(line)))).kind).toBe(kind);
      expect((await list(multistatus(self(line) + file("/b%20x/a")))).kind).toBe(kind);
    }
  });

  test("an item that is unavailable at the moment does not count as deleted", async () => {
    const one = (line: string) =>
      multistatus(
        `<D:response><D:href>/b%20x/a</D:href><D:status>HTTP/1.1 ${line}</D:status></D:response>`,
      );
    for (const [line, kind] of [
      ["503 Service Unavailable", "offline"],
      ["403 Forbidden", "forbidden"],
      ["404 Not Found", "not_found"],
      ["410 Gone", "not_found"],
    ] as const)
      expect((await (await open(one(line))).stat({ id: "a", signal })).kind).toBe(kind);
  });

  test("endless properties are not kept", async () => {
    const props = Array.from({ length: 5000 }, (_, at) => `<D:p${at}>x</D:p${at}>`).join("");
    const outcome = await list(multistatus(folder("/b%20x/") + file("/b%20x/a", props)));
    expect(outcome).toMatchObject({ items: [{ name: "a", size: undefined }] });
  });

  test("leaves out names that are not UTF-8, and lists repeated ones once", async () => {
    const outcome = await list(
      multistatus(
        folder("/b%20x/") + file("/b%20x/%e9.txt") + file("/b%20x/a") + file("/b%20x/%61"),
      ),
    );
    expect(outcome.kind === "ok" && outcome.items.map(({ name }) => name)).toEqual(["a"]);
  });

  test("invalid numbers become undefined", async () => {
    const outcome = await list(
      multistatus(
        folder("/b%20x/") +
          file(
            "/b%20x/a",
            "<D:getcontentlength>-3</D:getcontentlength><D:getlastmodified>yesterday</D:getlastmodified>",
          ),
      ),
    );
    expect(outcome).toMatchObject({ items: [{ size: undefined, modifiedAt: undefined }] });
  });

  test("many entries are read as they come", async () => {
    const { outcome } = await connect((_request, response) => {
      response.writeHead(207);
      response.write(`<D:multistatus xmlns:D="DAV:">${folder("/b%20x/")}`);
      let at = 0;
      const more = () => {
        while (at < 20_000) {
          if (!response.write(file(`/b%20x/${at++}`))) return void response.once("drain", more);
        }
        response.end("</D:multistatus>");
      };
      more();
    });
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const listed = await outcome.provider.list({ folder: "", signal });
    expect(listed.kind === "ok" && listed.items.length).toBe(20_000);
  });
});

describe("connecting", () => {
  const refusals: [number, Record<string, string>, unknown][] = [
    [401, {}, { kind: "reauth" }],
    [403, {}, { kind: "forbidden" }],
    [404, {}, { kind: "invalid_setting", setting: "url", reason: "folder_missing" }],
    [405, {}, { kind: "invalid_setting", setting: "url", reason: "not_webdav" }],
    [200, {}, { kind: "invalid_setting", setting: "url", reason: "not_webdav" }],
    [
      302,
      { location: "https://elsewhere.example/" },
      { kind: "invalid_setting", setting: "url", reason: "redirected_elsewhere" },
    ],
    [500, {}, { kind: "offline" }],
    [429, { "retry-after": "9" }, { kind: "rate_limited", retryAfterSeconds: 9 }],
    [503, { "retry-after": "9" }, { kind: "rate_limited", retryAfterSeconds: 9 }],
    [503, { "retry-after": "9", "x-nextcloud-maintenance-mode": "1" }, { kind: "offline" }],
  ];

  test.each(refusals)(
    "maps the status %i at connecting to %o",
    async (status, headers, expected) => {
      const { outcome, requests } = await connect((_request, response) => {
        response.writeHead(status, headers).end("secret text");
      }, "none");
      expect(outcome).toMatchObject(expected as object);
      expect(JSON.stringify(outcome)).not.toContain("secret");
      // One request to get the challenge, one with credentials.
      expect(requests).toEqual(["PROPFIND /b%20x/", "PROPFIND /b%20x/"]);
    },
  );

  test("connecting with a probe result sends no request", async () => {
    const { outcome, requests } = await connect((_request, response) => {
      response.writeHead(500).end();
    });
    expect([outcome.kind, requests]).toEqual(["ok", []]);
  });

  test("a read-only server gets no assumed capabilities", async () => {
    const { outcome } = await connect((request, response) => {
      if (request.method === "PROPFIND")
        response.writeHead(207).end(multistatus(folder("/b%20x/")));
      else response.writeHead(403).end();
    }, "none");
    expect(outcome).toMatchObject({
      kind: "ok",
      probeResult: { writable: false },
      provider: { capabilities: { quota: false, versionResolutionMs: 1_000 } },
    });
  });

  test("an address that is not permitted is the setting's fault", async () => {
    const refusing = new Agent({
      connect: (_options, callback) =>
        callback(Object.assign(new Error("no"), { code: "ERR_ADDRESS_REFUSED" }), null),
    });
    closers.push(async () => refusing.destroy());
    const outcome = await webdav.connect(
      {
        connectionId: "c",
        settings: { url: "http://169.254.169.254/", username: "anna" },
        credentials: { password: "secret" },
        probeResult: undefined,
        saveCredentials: async () => undefined,
        signal,
      },
      { ...testProviderDeps("/", Date.now), guarded: refusing },
    );
    expect(outcome).toEqual({
      kind: "invalid_setting",
      setting: "url",
      reason: "address_refused",
    });
  });
});

describe("redirects", () => {
  test("one that only adds a slash is followed, any other is a failure", async () => {
    const { outcome, requests } = await connect((request, response) => {
      if (request.url === "/b%20x/sub") response.writeHead(301, { location: "/b%20x/sub/" }).end();
      else if (request.url === "/b%20x/sub/")
        response.writeHead(207).end(multistatus(folder("/b%20x/sub/")));
      else response.writeHead(301, { location: "http://169.254.169.254/b%20x/else/" }).end();
    });
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const { provider } = outcome;
    expect(await provider.stat({ id: "sub", signal })).toMatchObject({ item: { kind: "folder" } });
    expect((await provider.stat({ id: "else", signal })).kind).toBe("offline");
    expect(requests).toEqual([
      "PROPFIND /b%20x/sub",
      "PROPFIND /b%20x/sub/",
      "PROPFIND /b%20x/else",
    ]);
  });
});
