import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { ServerRequest } from "../../../../daemon/http/handle.ts";
import { createMetrics } from "../../../../daemon/http/metrics.ts";
import { createServicePages } from "../../../../daemon/http/service-pages.ts";

/** The status of /metrics for a connection from `peer` that speaks for `address`. */
async function statusFor(peer: string, address: string): Promise<number> {
  const pages = createServicePages({
    metrics: createMetrics("1"),
    version: "1",
    accepts: () => true,
    probe: async () => undefined,
    hasSpace: async () => true,
    backupState: async () => undefined,
    documents: [],
    html: new Map(),
    redirects: new Map(),
  });
  let status = 0;
  const response = {
    req: { method: "GET", socket: { remoteAddress: peer } },
    writeHead: (given: number) => (status = given),
    end: () => undefined,
  };
  const [request, page] = [{ address } as ServerRequest, pages.get("/metrics")];
  await page?.(request, response as unknown as ServerResponse);
  return status;
}

describe("/metrics are for this machine", () => {
  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::ffff:127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
  ])("%s may read them", async (peer, address) => {
    expect(await statusFor(peer, address)).toBe(200);
  });

  test.each([
    ["a machine of the network", "192.168.1.9", "192.168.1.9"],
    ["one that says in a header that it is this machine", "192.168.1.9", "127.0.0.1"],
    ["one behind a proxy of this machine", "127.0.0.1", "203.0.113.7"],
  ])("metrics are refused for %s", async (_who, peer, address) => {
    expect(await statusFor(peer, address)).toBe(403);
  });
});
