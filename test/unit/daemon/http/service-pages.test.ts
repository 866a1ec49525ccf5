import type { ServerResponse } from "node:http";
import { describe, expect, test, vi } from "vitest";
import type { ServerRequest } from "../../../../daemon/http/handle.ts";
import { createMetrics } from "../../../../daemon/http/metrics.ts";
import { createServicePages } from "../../../../daemon/http/service-pages.ts";

const makePages = (
  stalledMs = 0,
  metricsToken?: string,
  probe: () => Promise<unknown> = async () => undefined,
) =>
  createServicePages({
    metricsToken,
    metrics: createMetrics("1", () => 0),
    version: "1",
    accepts: () => true,
    probe,
    jobsStalledMs: () => stalledMs,
    hasSpace: async () => true,
    backupState: async () => undefined,
    documents: [],
    redirects: new Map(),
  });

/** The status and body of a page for a connection from `peer` that speaks for `address`. */
async function answerOf(
  pages: ReturnType<typeof makePages>,
  path: string,
  peer: string,
  address: string,
  headers: Readonly<Record<string, string>> = {},
) {
  let status = 0;
  let body: unknown;
  const response = {
    req: { method: "GET", headers, socket: { remoteAddress: peer } },
    writeHead: (given: number) => (status = given),
    end: (text: unknown) => (body = text),
  };
  const [request, page] = [{ address } as ServerRequest, pages.get(path)];
  await page?.(request, response as unknown as ServerResponse);
  return { status, body: String(body) };
}

test("a database that does not answer makes the daemon not ready within seconds", async () => {
  vi.useFakeTimers();
  try {
    const answering = answerOf(
      makePages(0, undefined, () => new Promise(() => undefined)),
      "/readyz",
      "::1",
      "::1",
    );
    await vi.advanceTimersByTimeAsync(3_000);
    const { status, body } = await answering;
    expect([status, JSON.parse(body)]).toEqual([503, { status: "not ready" }]);
  } finally {
    vi.useRealTimers();
  }
});

const statusFor = async (peer: string, address: string) =>
  (await answerOf(makePages(), "/metrics", peer, address)).status;

test("a queue of jobs that has not moved for half a minute makes the daemon not ready", async () => {
  const ready = async (stalledMs: number) => {
    const { status, body } = await answerOf(makePages(stalledMs), "/readyz", "::1", "::1");
    return { status, body: JSON.parse(body) as unknown };
  };
  expect(await ready(30_000)).toEqual({ status: 200, body: { status: "ready" } });
  expect(await ready(30_001)).toEqual({
    status: 503,
    body: { status: "not ready", jobs: "stalled" },
  });
});

describe("/metrics are for this machine", () => {
  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::ffff:127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
  ])("%s may read them", async (peer, address) => {
    expect(await statusFor(peer, address)).toBe(200);
  });

  test.each([
    ["x-forwarded-for", "127.0.0.1"],
    ["forwarded", "for=127.0.0.1"],
    ["via", "1.1 proxy"],
    ["host", "forge.example.org"],
  ])("metrics are refused behind a proxy of this machine that sends %s", async (name, value) => {
    const answer = await answerOf(makePages(), "/metrics", "::1", "::1", { [name]: value });
    expect(answer.status).toBe(403);
  });

  test("metrics are for everybody with the token of the settings, and then for nobody without it", async () => {
    const pages = makePages(0, "token of Prometheus");
    const status = async (headers: Readonly<Record<string, string>>) =>
      (await answerOf(pages, "/metrics", "192.0.2.9", "192.0.2.9", headers)).status;
    expect(await status({ authorization: "Bearer token of Prometheus" })).toBe(200);
    expect(await status({ authorization: "Bearer another" })).toBe(403);
    expect(await status({})).toBe(403);
    expect((await answerOf(pages, "/metrics", "::1", "::1")).status).toBe(403);
  });

  test.each([
    ["a machine of the network", "192.168.1.9", "192.168.1.9"],
    ["one that says in a header that it is this machine", "192.168.1.9", "127.0.0.1"],
    ["one behind a proxy of this machine", "127.0.0.1", "203.0.113.7"],
  ])("metrics are refused for %s", async (_who, peer, address) => {
    expect(await statusFor(peer, address)).toBe(403);
  });
});

test("the reference is a page for each document, with a policy that lets nothing leave the server", async () => {
  const info = { title: "croft API", version: "1", description: "All of it." };
  const endpoints = async () => [];
  const pages = createServicePages({
    metrics: createMetrics("1", () => 0),
    version: "1",
    accepts: () => true,
    probe: async () => undefined,
    jobsStalledMs: () => 0,
    hasSpace: async () => true,
    backupState: async () => undefined,
    documents: [{ name: "forge", paths: ["/openapi/forge.json"], info, endpoints }],
    redirects: new Map(),
  });
  const list = await answerOf(pages, "/docs", "::1", "::1");
  expect(list).toMatchObject({ status: 200, body: expect.stringContaining('href="docs/forge"') });
  const page = await answerOf(pages, "/docs/forge", "::1", "::1");
  expect(page.body).toContain('data-document="../openapi/forge.json"');
  const script = await answerOf(pages, "/docs/swagger-ui-bundle.js", "::1", "::1");
  expect(script.body).toContain("SwaggerUIBundle");
  expect([...pages.keys()].filter((path) => path.startsWith("/docs"))).toEqual([
    "/docs",
    "/docs/forge",
    "/docs/swagger-ui.css",
    "/docs/swagger-ui-bundle.js",
    "/docs/viewer.css",
    "/docs/viewer.js",
  ]);
});
