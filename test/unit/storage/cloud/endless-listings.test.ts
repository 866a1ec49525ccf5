import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent } from "undici";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { cloudProviderTypes } from "../../../../storage/cloud/registry.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";

const agent = new Agent();
afterAll(() => agent.destroy());
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const signal = new AbortController().signal;
const time = "2026-11-21T15:16:14Z";

/** A page of one and the same item, and the promise of another one; of each vendor's root. */
const pages: Readonly<Record<string, (at: number, origin: string) => object>> = {
  google_drive: (at) => ({
    files: [{ id: "a", name: "a", mimeType: "text/plain", size: "1", modifiedTime: time }],
    nextPageToken: `page ${at}`,
  }),
  dropbox: (at) => ({
    entries: [{ ".tag": "file", id: "id:a", name: "a", path_lower: "/a", rev: "1", size: 1 }],
    has_more: true,
    cursor: `page ${at}`,
  }),
  onedrive: (at, origin) => ({
    value: [{ id: "a", name: "a", parentReference: { id: "root" }, file: {}, size: 1 }],
    "@odata.nextLink": `${origin}/v1.0/next?page=${at}`,
  }),
};

describe("attack: a vendor with an endless listing", () => {
  test.each(Object.entries(pages))(
    "stops the endless listing of %s and returns no partial result",
    async (type, page) => {
      let asked = 0;
      const server = createServer((request, response) => {
        request.resume();
        const body = page(++asked, origin);
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      closers.push(async () => {
        server.closeAllConnections();
        await new Promise((done) => server.close(done));
      });
      const vendor = cloudProviderTypes.find((each) => each.type === type);
      const outcome = await vendor?.connect(
        {
          connectionId: "c",
          settings: {},
          credentials: { access_token: "t", refresh_token: "r" },
          probeResult: { account: "a", root: "root", drive_id: "d", root_id: "root" },
          saveCredentials: async () => undefined,
          signal,
        },
        {
          ...testProviderDeps("/nowhere", Date.now),
          direct: agent,
          server: { googleBaseUrl: origin, dropboxBaseUrl: origin, onedriveBaseUrl: origin },
        },
      );
      if (outcome?.kind !== "ok") throw new Error(outcome?.kind);
      expect(await outcome.provider.list({ folder: "", signal })).toEqual({
        kind: "offline",
        sent: true,
        note: "listing_without_end",
      });
      expect(asked).toBeLessThan(1_100);
    },
  );
});
