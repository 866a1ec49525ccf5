import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let people = 0;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Keeper {
  readonly person: VaultPerson;
  readonly connection: string;
  /** The connected folder. */
  readonly root: string;
  upload(content: string, name?: string): ReturnType<VaultPerson["request"]>;
  files(): Promise<string[]>;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

async function signedIn(): Promise<VaultPerson> {
  people += 1;
  const person = createPerson(daemon, `keeper-${people}`, `198.51.100.${people}`);
  await person.register();
  await person.signIn();
  return person;
}

/** A user whose documents go to a connected folder. */
async function keeper(): Promise<Keeper> {
  const person = await signedIn();
  const root = join(daemon.home, "files", person.handle, "papers");
  await mkdir(root, { recursive: true });
  const connected = await person.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: "Papers", settings: { root: "papers" } },
  });
  expect(connected).toMatchObject({ status: 201 });
  const chosen = await person.request("/api/auth/me/default-storage", {
    method: "PATCH",
    json: { backend: "local_folder" },
  });
  expect(chosen).toMatchObject({ status: 200 });
  return {
    person,
    root,
    connection: connected.json.id,
    upload(content, name = "note.txt") {
      const body = new FormData();
      body.set("file", new File([content], name, { type: "text/plain" }));
      return person.request("/api/documents/upload", { method: "POST", body });
    },
    files: () => readdir(join(root, "croft")),
  };
}

const content = (person: VaultPerson, id: string, headers: Record<string, string> = {}) =>
  person.request(`/api/documents/${id}/content`, { headers });

async function processed(person: VaultPerson, id: string) {
  return vi.waitUntil(
    async () => {
      const { json } = await person.request(`/api/documents/${id}`);
      return ["ready", "classification_failed"].includes(json.status) ? json : undefined;
    },
    { timeout: 60_000, interval: 50 },
  );
}

test("an upload to connected storage is a document and uses no quota", async () => {
  const { person, root, upload, files } = await keeper();
  const made = await upload("the letter of the landlord", "letter.txt");
  expect(made).toMatchObject({
    status: 201,
    json: {
      filename: "letter.txt",
      size_bytes: 26,
      sha256: sha256("the letter of the landlord"),
      storage_backend: "local_folder",
    },
  });
  expect((await person.request("/api/auth/me/quota")).json.used_bytes).toBe(0);
  const [name = "", ...others] = await files();
  expect(others).toEqual([]);
  expect(name).toMatch(/^letter [0-9a-f]{12}\.txt$/);
  expect(await readFile(join(root, "croft", name), "utf8")).toBe("the letter of the landlord");
  const { id } = made.json;
  expect(await processed(person, id)).toMatchObject({
    status: "ready",
    extracted_text: "the letter of the landlord",
  });
  const found = await person.request("/api/search?q=landlord");
  expect(found.json).toMatchObject({ total: 1, items: [{ document: { id } }] });
});

test("content, ranges and conditional requests are answered as for other documents", async () => {
  const { person, upload } = await keeper();
  const { id } = (await upload("0123456789")).json;
  const whole = await content(person, id);
  expect(whole).toMatchObject({ status: 200, text: "0123456789" });
  expect(whole.headers.get("content-disposition")).toContain("note.txt");
  const etag = whole.headers.get("etag") ?? "";
  expect(await content(person, id, { "If-None-Match": etag })).toMatchObject({ status: 304 });
  expect(await content(person, id, { Range: "bytes=2-4" })).toMatchObject({
    status: 206,
    text: "234",
  });
  expect(await content(person, id, { Range: "bytes=-3", "If-Range": etag })).toMatchObject({
    status: 206,
    text: "789",
  });
  expect(await content(person, id, { Range: "bytes=50-" })).toMatchObject({ status: 416 });
});

test("an empty file, equal names and equal bytes are files of their own", async () => {
  const { person, upload, files } = await keeper();
  const answers = await Promise.all([upload(""), upload("same"), upload("same")]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(await files()).toHaveLength(3);
  expect(await content(person, answers[0].json.id)).toMatchObject({ status: 200, text: "" });
  expect(await content(person, answers[2].json.id)).toMatchObject({ status: 200, text: "same" });
});

test("a name of 255 bytes is shortened for the storage and kept by the document", async () => {
  const { upload, files } = await keeper();
  const filename = `${"ü".repeat(125)}x.txt`;
  expect(Buffer.byteLength(filename)).toBe(255);
  expect(await upload("x", filename)).toMatchObject({ status: 201, json: { filename } });
  const [name = ""] = await files();
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
});

test("a recipient reads a shared document through its owner's connection, until the share ends", async () => {
  const { person, upload } = await keeper();
  const recipient = await signedIn();
  const { id } = (await upload("for you")).json;
  expect(await content(recipient, id)).toMatchObject({ status: 404 });
  const share = await person.request("/api/shares", {
    json: { document_id: id, recipient_handle: recipient.handle, permission: "download" },
  });
  expect(await content(recipient, id)).toMatchObject({ status: 200, text: "for you" });
  await person.request(`/api/shares/${share.json.id}`, { method: "DELETE" });
  expect(await content(recipient, id)).toMatchObject({ status: 404 });
});

test("a deletion deletes the provider's file first; remove_only leaves it", async () => {
  const { person, upload, files } = await keeper();
  const [first, second] = [(await upload("one")).json, (await upload("two")).json];
  const gone = await person.request(`/api/documents/${first.id}`, { method: "DELETE" });
  expect(gone).toMatchObject({ status: 200, json: { success: true } });
  expect(await files()).toHaveLength(1);
  const removed = await person.request(`/api/documents/${second.id}?remove_only=true`, {
    method: "DELETE",
  });
  expect(removed.json).toEqual({ success: true });
  expect(await files()).toHaveLength(1);
  expect((await person.request("/api/documents")).json.total).toBe(0);
  expect((await person.request("/api/auth/me/quota")).json.used_bytes).toBe(0);
});

test("a provider that fails keeps the record: 200 cloud_delete_failed, and 502 for the content", async () => {
  const { person, root, upload } = await keeper();
  const { id } = (await upload("kept")).json;
  await processed(person, id);
  await rename(root, `${root}-away`);
  const refused = await person.request(`/api/documents/${id}`, { method: "DELETE" });
  expect(refused.status).toBe(200);
  expect(refused.json).toEqual({ success: false, cloud_delete_failed: true });
  expect(await person.request(`/api/documents/${id}`)).toMatchObject({ status: 200 });
  const away = await upload("more");
  expect(away).toMatchObject({ status: 503, json: { detail: expect.any(String) } });
  expect(away.text).not.toContain(root);
  await rename(`${root}-away`, root);
  expect(await content(person, id)).toMatchObject({ status: 200, text: "kept" });
  const deleted = await person.request(`/api/documents/${id}`, { method: "DELETE" });
  expect(deleted.json).toEqual({ success: true });
});

test("a file that is missing at the provider answers 502, and its record can be deleted", async () => {
  const { person, connection, root, upload, files } = await keeper();
  const { id } = (await upload("x".repeat(300_000))).json;
  await processed(person, id);
  for (const name of await files()) await rm(join(root, "croft", name));
  const listed = `/api/cloud/connections/${connection}/items?parent_ref=croft&refresh=true`;
  expect(await person.request(listed)).toMatchObject({ status: 200 });
  expect(await content(person, id)).toMatchObject({
    status: 502,
    json: { detail: "The connected storage no longer has the file of this document." },
  });
  const deleted = await person.request(`/api/documents/${id}`, { method: "DELETE" });
  expect(deleted.json).toEqual({ success: true });
});

test("a file that was edited at the provider is served and analysed as it is now", async () => {
  const { person, connection, root, upload, files } = await keeper();
  const { id } = (await upload("first")).json;
  await processed(person, id);
  const [name = ""] = await files();
  const path = join(root, "croft", name);
  await writeFile(path, "second and longer");
  await utimes(path, new Date(), new Date(Date.now() + 5_000));
  const listed = `/api/cloud/connections/${connection}/items?parent_ref=croft&refresh=true`;
  expect(await person.request(listed)).toMatchObject({ status: 200 });
  await person.request(`/api/documents/${id}/classify`, { method: "POST" });
  expect(await processed(person, id)).toMatchObject({
    extracted_text: "second and longer",
    size_bytes: 17,
    sha256: sha256("second and longer"),
  });
  expect(await content(person, id)).toMatchObject({ status: 200, text: "second and longer" });
  const deleted = await person.request(`/api/documents/${id}`, { method: "DELETE" });
  expect(deleted.json).toEqual({ success: true });
  expect(await files()).toEqual([]);
});

test("a file that was renamed through the service is still the document's", async () => {
  const { person, connection, upload, files } = await keeper();
  const { id } = (await upload("moved")).json;
  const [name = ""] = await files();
  const item = `/api/cloud/connections/${connection}/items/croft/${encodeURIComponent(name)}`;
  const renamed = await person.request(`${item}/rename`, {
    method: "PATCH",
    json: { new_name: "other.txt" },
  });
  expect(renamed).toMatchObject({ status: 200 });
  expect(await content(person, id)).toMatchObject({ status: 200, text: "moved" });
});

test("documents of a removed connection stay as records: 502, no deletion but remove_only, 409 for uploads", async () => {
  const { person, connection, upload, files } = await keeper();
  const { id } = (await upload("orphan")).json;
  await processed(person, id);
  await person.request(`/api/cloud/connections/${connection}`, { method: "DELETE" });
  expect(await content(person, id)).toMatchObject({ status: 502 });
  const refused = await person.request(`/api/documents/${id}`, { method: "DELETE" });
  expect(refused.json).toEqual({ success: false, cloud_delete_failed: true });
  const upload409 = await upload("more");
  expect(upload409).toMatchObject({ status: 409 });
  expect(upload409.json.detail).toContain("local_folder");
  const removed = await person.request(`/api/documents/${id}?remove_only=true`, {
    method: "DELETE",
  });
  expect(removed.json).toEqual({ success: true });
  expect(await files()).toHaveLength(1);
});

test("an upload by address goes to the connected storage when it is confirmed, once", async () => {
  const { person, files } = await keeper();
  const address = await person.request("/api/documents/upload-url", {
    json: { filename: "a.txt", content_type: "text/plain", size_bytes: 5 },
  });
  await daemon.request(new URL(address.json.upload_url).pathname, {
    method: "PUT",
    body: "hello",
    headers: { "Content-Type": "text/plain" },
  });
  const confirm = () =>
    person.request(`/api/documents/${address.json.document_id}/confirm`, { method: "POST" });
  const answers = await Promise.all([confirm(), confirm(), confirm()]);
  for (const answer of answers)
    expect(answer).toMatchObject({
      status: 200,
      json: { id: address.json.document_id, storage_backend: "local_folder" },
    });
  expect(await files()).toHaveLength(1);
  expect((await person.request("/api/documents")).json.total).toBe(1);
  expect((await person.request("/api/auth/me/quota")).json.used_bytes).toBe(0);
});

test("a file named like the folder for documents is a clear refusal", async () => {
  const { root, upload } = await keeper();
  await writeFile(join(root, "croft"), "in the way");
  expect(await upload("x")).toMatchObject({
    status: 409,
    json: { detail: expect.stringContaining("croft") },
  });
});

test("auto_analyze leaves files of documents to the documents", async () => {
  const { person, connection, upload } = await keeper();
  await person.request("/api/cloud/analysis-settings", {
    method: "PATCH",
    json: { auto_analyze: true },
  });
  const { id } = (await upload("found once only")).json;
  await processed(person, id);
  const items = await person.request(
    `/api/cloud/connections/${connection}/items?parent_ref=croft&refresh=true`,
  );
  expect(items.json.items).toMatchObject([{ analysis_status: "none" }]);
  expect((await person.request("/api/search?q=once")).json.total).toBe(1);
});
