import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { createHostCheck, loopbackHosts } from "../../../../daemon/http/host-check.ts";

const check = createHostCheck({
  allowedHosts: [...loopbackHosts(7420), "croft.example", "named.example:8443"],
  allowedOrigins: ["https://app.example"],
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

  test("refuses a second Host header and a target in absolute form", () => {
    const twice = ["Host", "localhost:7420", "hOsT", "evil.example"];
    expect(check(request({ host: "localhost:7420" }, { rawHeaders: twice }))?.status).toBe(421);
    const absolute = request({ host: "localhost:7420" }, { url: "http://evil.example/api" });
    expect(check(absolute)?.status).toBe(421);
  });
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
