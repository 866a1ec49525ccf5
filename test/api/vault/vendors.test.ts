import { describe, expect, test } from "vitest";
import { dropboxClient, startDropboxServer } from "../../stand-ins/dropbox-server.ts";
import { googleClient, startGoogleDriveServer } from "../../stand-ins/google-drive-server.ts";
import type { OAuthServer } from "../../stand-ins/oauth-server.ts";
import { oneDriveClient, startOneDriveServer } from "../../stand-ins/onedrive-server.ts";
import type { Served } from "../../stand-ins/serve.ts";
import { startTestDaemon } from "../../support/daemon.ts";
import { openOauthBrowser } from "../../support/vault/oauth-browser.ts";
import { createPerson } from "../../support/vault/vault-person.ts";

interface Vendor {
  readonly start: () => Promise<Served & { readonly oauth: OAuthServer }>;
  readonly variables: string;
  readonly client: { readonly id: string; readonly secret: string };
}

const vendors: Readonly<Record<string, Vendor>> = {
  google_drive: { start: startGoogleDriveServer, variables: "GOOGLE", client: googleClient },
  onedrive: { start: startOneDriveServer, variables: "ONEDRIVE", client: oneDriveClient },
  dropbox: { start: startDropboxServer, variables: "DROPBOX", client: dropboxClient },
};

describe.each(Object.entries(vendors))("%s", (type, { start, variables, client }) => {
  test("a vendor is connected, used, renewed and used again after a restart", async () => {
    await using vendor = await start();
    const env = {
      [`CROFT_${variables}_CLIENT_ID`]: client.id,
      [`CROFT_${variables}_CLIENT_SECRET`]: client.secret,
      [`CROFT_${variables}_BASE_URL`]: vendor.origin,
      CROFT_ONEDRIVE_TENANT_ID: "common",
    };
    await using daemon = await startTestDaemon({ env });
    const mira = createPerson(daemon, "mira", "192.0.2.1");
    await mira.register();
    await mira.signIn();
    const begun = await mira.request(`/api/cloud/authorize/${type}`);
    expect([begun.status, begun.text]).toEqual([200, expect.any(String)]);
    const page = await openOauthBrowser(daemon).signIn(begun.json.authorization_url);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("is connected")]);

    const { items } = (await mira.request("/api/cloud/connections")).json;
    expect(items).toMatchObject([{ provider: type, status: "connected" }]);
    const base = `/api/cloud/connections/${items[0].id}`;
    const form = new FormData();
    form.set("file", new File(["twelve bytes"], "note.txt"));
    const uploaded = await mira.request(`${base}/items/upload`, { method: "POST", body: form });
    expect([uploaded.status, uploaded.json.kind]).toEqual([200, "uploaded"]);

    for (let round = 1; round <= 2; round++) {
      vendor.oauth.expireTokens();
      const listing = await mira.request(`${base}/items?refresh=true`);
      expect(listing.json).toMatchObject({ refresh_state: "fresh", items: [{ name: "note.txt" }] });
      expect(vendor.oauth.renewals()).toBe(round);
    }
    await daemon.stop();
    // Where refresh tokens rotate, the first ones are long spent.
    vendor.oauth.expireTokens();
    await using again = await startTestDaemon({ env, home: daemon.home });
    const same = createPerson(again, "mira", "192.0.2.1");
    await same.signIn();
    const id = encodeURIComponent(uploaded.json.provider_item_id);
    const got = await same.request(`${base}/items/${id}/download`);
    expect([got.status, got.text]).toEqual([200, "twelve bytes"]);
  });
});

test("google_drive: a listing by name holds all that have it", async () => {
  await using vendor = await startGoogleDriveServer();
  await using daemon = await startTestDaemon({
    env: {
      CROFT_GOOGLE_CLIENT_ID: googleClient.id,
      CROFT_GOOGLE_CLIENT_SECRET: googleClient.secret,
      CROFT_GOOGLE_BASE_URL: vendor.origin,
    },
  });
  const mira = createPerson(daemon, "mira", "192.0.2.1");
  await mira.register();
  await mira.signIn();
  const begun = await mira.request("/api/cloud/authorize/google_drive");
  await openOauthBrowser(daemon).signIn(begun.json.authorization_url);
  const owner = "ann@example.org";
  const { id: parent } = vendor.store.rootOf(owner);
  for (const text of ["first", "second"])
    vendor.store.add(
      { owner, name: "twin.txt", mimeType: "text/plain", parent },
      Buffer.from(text),
    );
  const [connection] = (await mira.request("/api/cloud/connections")).json.items;
  const base = `/api/cloud/connections/${connection.id}`;
  const { items, next_cursor: next } = (await mira.request(`${base}/items?name=twin.txt`)).json;
  expect([items.map(({ name }: { name: string }) => name), next]).toEqual([
    ["twin.txt", "twin.txt"],
    null,
  ]);
});
