import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import {
  createHostCheck,
  loopbackHosts,
  rewriteAbsoluteTarget,
} from "../../../../daemon/http/host-check.ts";

const check = createHostCheck({
  allowedHosts: [...loopbackHosts(7420), "croft.example", "named.example:8443"],
  allowedOrigins: ["https://app.example"],
  ownOrigins: ["https://croft.example"],
});

function request(
  headers: Record<string, string>,
  {
    method = "GET",
    url = "/api/v1/version",
    rawHeaders,
  }: { method?: string; url?: string; rawHeaders?: string[] } = {},
): IncomingMessage {
  const raw = rawHeaders ?? Object.entries(headers).flat();
  return { headers, rawHeaders: raw, method, url } as unknown as IncomingMessage;
}

describe("attack: DNS rebinding and Host confusion", () => {
  test.each([
    "127.0.0.1:7420",
    "localhost:7420",
    "LOCALHOST:7420",
    "[::1]:7420",
    "croft.example",
    "croft.example:9999",
    "named.example:8443",
  ])("answers for %s", (host) => {
    expect(check(request({ host }))).toBeUndefined();
  });

  test.each([
    "",
    "evil.example",
    "evil.example:7420",
    "127.0.0.1",
    "127.0.0.1:80",
    "localhost.:7420",
    "localhost:7420:7420",
    "user@localhost:7420",
    "127.0.0.1:7420@evil.example",
    "[::1]",
    "[::ffff:127.0.0.1]:7420",
    "0x7f000001:7420",
    "named.example",
    "named.example:80",
    "sub.croft.example",
  ])("refuses %j with 421", (host) => {
    expect(check(request({ host }))?.status).toBe(421);
  });

  test("refuses a second Host header and a target with another host", () => {
    const twice = ["Host", "localhost:7420", "hOsT", "evil.example"];
    expect(check(request({ host: "localhost:7420" }, { rawHeaders: twice }))?.status).toBe(421);
    const absolute = request({ host: "localhost:7420" }, { url: "http://evil.example/api" });
    expect(check(absolute)?.status).toBe(421);
  });
});

describe("a target in absolute form", () => {
  const rewritten = (url: string, host = "localhost:7420") => {
    const message = request({ host }, { url });
    rewriteAbsoluteTarget(message);
    return { url: message.url, status: check(message)?.status };
  };

  test.each([
    ["http://localhost:7420/api/v1/version?a=b", "/api/v1/version?a=b"],
    ["HTTP://LOCALHOST:7420/x//y", "/x//y"],
    ["https://localhost:7420", "/"],
    ["http://localhost:7420?q=1", "/?q=1"],
    ["http://localhost:7420//evil.example/x", "//evil.example/x"],
  ])("%s is the path when its host is that of Host", (url, path) =>
    expect(rewritten(url)).toEqual({ url: path, status: undefined }),
  );

  test.each([
    "http://evil.example/api",
    "http://localhost:7421/",
    "http://user@localhost:7420/",
    "http://localhost:7420@evil.example/",
    "http://localhost:7420#/api",
    "http:///api",
    "ftp://localhost:7420/",
    "localhost:7420",
    "*",
  ])("%s is refused with 421", (url) => expect(rewritten(url)).toEqual({ url, status: 421 }));

  test("a host that is not allowed is refused, though Host names it too", () =>
    expect(rewritten("http://evil.example/api", "evil.example").status).toBe(421));
});

describe("attack: cross-site request from a browser", () => {
  const host = "localhost:7420";
  const post = (headers: Record<string, string>) =>
    check(request({ host, ...headers }, { method: "POST" }));

  test("lets clients that are not browsers and same-origin pages through", () => {
    expect(post({})).toBeUndefined();
    expect(
      post({ origin: "http://localhost:7420", "sec-fetch-site": "same-origin" }),
    ).toBeUndefined();
    expect(post({ "sec-fetch-site": "none" })).toBeUndefined();
    expect(post({ origin: "https://app.example", "sec-fetch-site": "cross-site" })).toBeUndefined();
  });

  test("lets pages of the public address through when a proxy replaces Host, and a default port in Host", () => {
    const own = { origin: "https://croft.example", "sec-fetch-site": "same-origin" };
    expect(post(own)).toBeUndefined();
    const withPort = (origin: string, name: string) =>
      check(request({ origin, host: name }, { method: "POST" }))?.status;
    expect(withPort("https://croft.example", "croft.example:443")).toBeUndefined();
    expect(withPort("http://croft.example", "croft.example:80")).toBeUndefined();
    expect(withPort("http://croft.example", "croft.example:443")).toBe(403);
    expect(withPort("https://named.example", "named.example:8443")).toBe(403);
    expect(post({ ...own, "sec-fetch-site": "cross-site" })?.status).toBe(403);
  });

  test.each([
    { origin: "http://evil.example" },
    { origin: "null" },
    { origin: "http://localhost:7421" },
    { origin: "http://127.0.0.1:7420" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "http://localhost:7420", "sec-fetch-site": "cross-site" },
  ])("refuses an unsafe method with %j", (headers) => {
    expect(post(headers as Record<string, string>)?.status).toBe(403);
  });

  test("leaves reading alone", () => {
    expect(check(request({ host, origin: "http://evil.example" }))).toBeUndefined();
  });
});
