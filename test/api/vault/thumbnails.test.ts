import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { png, receipt } from "../../support/scans.ts";
import { createPageBrowser } from "../../support/vault/page-browser.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let people = 0;
beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function signedIn(): Promise<VaultPerson> {
  people += 1;
  const person = createPerson(daemon, `drawer-${people}`, `198.51.100.${people}`);
  await person.register();
  expect(await person.signIn()).toMatchObject({ status: 200 });
  return person;
}

async function upload(
  person: VaultPerson,
  content: Uint8Array<ArrayBuffer>,
  name: string,
  type: string,
): Promise<string> {
  const body = new FormData();
  body.set("file", new File([content], name, { type }));
  const answer = await person.request("/api/documents/upload", { method: "POST", body });
  expect(answer.status).toBe(201);
  return answer.json.id;
}

const get = (person: VaultPerson, id: string, headers: Readonly<Record<string, string>> = {}) =>
  person.request(`/api/documents/${id}/thumbnail`, { headers });

test("a picture has a thumbnail, for those who see the document and as long as it has this content", async () => {
  const [owner, reader, other] = [await signedIn(), await signedIn(), await signedIn()];
  const id = await upload(owner, png(receipt), "receipt.png", "image/png");
  const path = `/api/documents/${id}`;
  const first = await get(owner, id);
  expect(first).toMatchObject({ status: 200 });
  expect(first.headers.get("content-type")).toBe("image/png");
  expect(first.headers.get("cache-control")).toBe("private, no-cache");
  expect(first.headers.get("x-content-type-options")).toBe("nosniff");
  expect(first.text).toContain("PNG");
  const etag = first.headers.get("etag") ?? "";
  expect(await get(owner, id, { "If-None-Match": etag })).toMatchObject({ status: 304 });

  expect(await get(other, id)).toMatchObject({
    status: 404,
    json: { detail: "Document not found" },
  });
  expect(await daemon.request(`${path}/thumbnail`)).toMatchObject({ status: 401 });
  expect(await get(reader, id)).toMatchObject({ status: 404 });
  const share = await owner.request("/api/shares", {
    json: { document_id: id, recipient_handle: reader.handle },
  });
  expect((await get(reader, id)).headers.get("etag")).toBe(etag);
  await owner.request(`/api/shares/${share.json.id}`, { method: "DELETE" });
  expect(await get(reader, id)).toMatchObject({ status: 404 });

  const white = { ...receipt, rows: Buffer.alloc(receipt.rows.length, 255) };
  const replaced = await owner.request(`${path}/content`, {
    method: "PUT",
    body: png(white),
    headers: { "If-Match": "*", "Content-Type": "image/png" },
  });
  expect(replaced).toMatchObject({ status: 200 });
  const second = await get(owner, id);
  expect(second).toMatchObject({ status: 200 });
  expect(second.headers.get("etag")).not.toBe(etag);
  await owner.request(path, { method: "DELETE" });
  expect(await get(owner, id)).toMatchObject({ status: 404 });
}, 180_000);

test("a file that cannot be drawn is refused with the reason, and at once the next time", async () => {
  const person = await signedIn();
  const refused = (reason: string) => ({
    status: 404,
    json: { detail: `This document has no thumbnail: ${reason}.` },
  });
  const text = await upload(person, Buffer.from("words"), "a.txt", "text/plain");
  expect(await get(person, text)).toMatchObject(refused("only pictures and PDF files are drawn"));
  const whole = png(receipt);
  const cut = await upload(person, whole.subarray(0, whole.length - 200), "cut.png", "image/png");
  const bomb = png({ width: 100_000, height: 100_000, rows: Buffer.alloc(12_500) });
  const large = await upload(person, bomb, "bomb.png", "image/png");
  for (const _time of [1, 2]) {
    expect(await get(person, cut)).toMatchObject(refused("the file is damaged"));
    expect(await get(person, large)).toMatchObject(refused("it has too many pixels or bytes"));
  }
  const both = await Promise.all([get(person, cut), get(person, cut)]);
  expect(both.map(({ status }) => status)).toEqual([404, 404]);
});

test("tiles show the picture of a document, and an icon of its kind where there is none", async () => {
  const person = await signedIn();
  const picture = await upload(person, png(receipt), "receipt.png", "image/png");
  const text = await upload(person, Buffer.from("words"), "a.txt", "text/plain");
  const broken = await upload(person, Buffer.from("no picture"), "b.png", "image/png");
  const browser = createPageBrowser(daemon, "198.51.100.200");
  await browser.signIn(person.email);
  const tiles = await browser.open("/vault?view=tiles");
  expect(tiles.text).toContain(`src="/vault/d/${picture}/thumbnail"`);
  expect(tiles.text).not.toContain(`/vault/d/${text}/thumbnail`);
  expect(tiles.text).toContain("<svg");
  const shown = await browser.open(`/vault/d/${picture}/thumbnail`);
  expect(shown.headers.get("etag")).toBe((await get(person, picture)).headers.get("etag"));
  // A browser would draw the sign of a missing picture over the icon.
  const clear = await browser.open(`/vault/d/${broken}/thumbnail`);
  expect([clear.status, clear.headers.get("content-type")]).toEqual([200, "image/png"]);
});

test("a document in connected storage has the picture of the version that other programs have written", async () => {
  const owner = await signedIn();
  const root = join(daemon.home, "files", owner.handle, "pictures");
  await mkdir(root, { recursive: true });
  const connected = await owner.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: "Pictures", settings: { root: "pictures" } },
  });
  expect(connected).toMatchObject({ status: 201 });
  const json = { backend: "local_folder" };
  await owner.request("/api/auth/me/default-storage", { method: "PATCH", json });
  const id = await upload(owner, png(receipt), "receipt.png", "image/png");
  const before = await get(owner, id);
  expect(before).toMatchObject({ status: 200 });
  const folder = join(root, "croft");
  const [name = ""] = await readdir(folder);
  await writeFile(join(folder, name), "no picture any more");
  const items = `/api/cloud/connections/${connected.json.id}/items`;
  const top = await owner.request(`${items}?refresh=true`);
  const parent = top.json.items[0].provider_item_id;
  await owner.request(`${items}?refresh=true&parent_ref=${encodeURIComponent(parent)}`);
  expect(await get(owner, id)).toMatchObject({ status: 404 });
  await writeFile(join(folder, name), png(receipt));
  await owner.request(`${items}?refresh=true&parent_ref=${encodeURIComponent(parent)}`);
  const after = await get(owner, id);
  expect([after.status, after.headers.get("etag")]).toEqual([200, before.headers.get("etag")]);
});
