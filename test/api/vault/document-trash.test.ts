import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

const DAY_MS = 24 * 3_600_000;
const START = Date.UTC(2026, 10, 20, 9, 30);
let daemon: TestDaemon;
let now = START;
let people = 0;

beforeAll(async () => {
  daemon = await startTestDaemon({
    clock: () => now,
    env: { CROFT_RATE_LIMITS: "off", CROFT_DOCUMENT_VERSIONS: "2" },
  });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function signedIn(): Promise<VaultPerson> {
  people += 1;
  const person = createPerson(daemon, `keeper-${people}`, `198.51.100.${people}`);
  await person.register();
  expect(await person.signIn()).toMatchObject({ status: 200 });
  return person;
}

async function upload(person: VaultPerson, content: string, name = "note.txt"): Promise<string> {
  const body = new FormData();
  body.set("file", new File([content], name, { type: "text/plain" }));
  const answer = await person.request("/api/documents/upload", { method: "POST", body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.json.id;
}

const remove = (person: VaultPerson, id: string, query = ""): Promise<TestAnswer> =>
  person.request(`/api/documents/${id}${query}`, { method: "DELETE" });
const replace = (person: VaultPerson, id: string, body: string, ifMatch = "*", type?: string) =>
  person.request(`/api/documents/${id}/content`, {
    method: "PUT",
    body,
    headers: { "If-Match": ifMatch, "Content-Type": type ?? "application/octet-stream" },
  });
const usedBytes = async (person: VaultPerson): Promise<number> =>
  (await person.request("/api/auth/me/quota")).json.used_bytes;
const namesOf = async (person: VaultPerson, path: string): Promise<string[]> =>
  (await person.request(path)).json.items.map((item: { filename: string }) => item.filename);
const textOf = async (person: VaultPerson, path: string) => (await person.request(path)).text;

async function administrator(): Promise<VaultPerson> {
  const admin = createPerson(daemon, "keeper", "198.51.100.250");
  const signIn = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
    headers: { "User-Agent": "croft-test" },
  });
  admin.accessToken = signIn.json.access_token;
  return admin;
}

async function setLimit(person: VaultPerson, limitBytes: number): Promise<void> {
  const me = await person.request("/api/auth/me");
  const path = `/api/admin/users/${me.json.id}/quota`;
  const json = { limit_bytes: limitBytes };
  const answer = await (await administrator()).request(path, { method: "PUT", json });
  expect(answer).toMatchObject({ status: 200 });
}

describe("DELETE /api/documents/{id}", () => {
  test("puts the document into the trash, out of lists, search, shares and the used bytes, and a restore returns it", async () => {
    const [owner, other] = [await signedIn(), await signedIn()];
    const id = await upload(owner, "hello", "harvest.txt");
    await owner.request(`/api/documents/${id}`, {
      method: "PATCH",
      json: { filename: "crop.txt" },
    });
    await owner.request("/api/topics", { json: { name: "Farm", description: "" } });
    await owner.request(`/api/documents/${id}`, { method: "PATCH", json: { topics: ["Farm"] } });
    const { handle } = (await other.request("/api/auth/me")).json;
    const share = await owner.request("/api/shares", {
      json: { document_id: id, recipient_handle: handle },
    });
    expect(await remove(owner, id)).toMatchObject({ status: 200, json: { success: true } });
    expect(await remove(owner, id)).toMatchObject({ status: 404 });
    expect(await usedBytes(owner)).toBe(0);
    expect(await namesOf(owner, "/api/documents")).toEqual([]);
    expect((await owner.request("/api/search?q=crop")).json.total).toBe(0);
    for (const [person, path] of [
      [owner, `/api/documents/${id}`],
      [owner, `/api/documents/${id}/content`],
      [owner, `/api/documents/${id}/versions`],
      [other, `/api/documents/${id}`],
      [other, `/api/documents/${id}/content?disposition=inline`],
    ] as const)
      expect(await person.request(path), path).toMatchObject({ status: 404 });
    expect((await owner.request("/api/shares")).json.total).toBe(0);
    expect((await other.request("/api/shares/received")).json.total).toBe(0);
    const sharePath = `/api/shares/${share.json.id}`;
    expect(await owner.request(sharePath, { method: "DELETE" })).toMatchObject({ status: 404 });

    const trash = await owner.request("/api/documents/trash");
    expect(trash.json).toMatchObject({
      total: 1,
      items: [
        {
          id,
          filename: "crop.txt",
          topics: ["Farm"],
          deleted_at: new Date(now).toISOString(),
          expires_at: new Date(now + 30 * DAY_MS).toISOString(),
        },
      ],
    });
    expect(await namesOf(other, "/api/documents/trash")).toEqual([]);
    const path = `/api/documents/${id}/restore`;
    expect(await other.request(path, { method: "POST" })).toMatchObject({ status: 404 });
    const restored = await owner.request(path, { method: "POST" });
    expect(restored).toMatchObject({ status: 200, json: { id, topics: ["Farm"] } });
    expect(await owner.request(path, { method: "POST" })).toMatchObject({ status: 404 });
    expect(await usedBytes(owner)).toBe(5);
    expect((await owner.request("/api/search?q=crop")).json.total).toBe(1);
    expect((await other.request("/api/shares/received")).json.total).toBe(1);
    expect(await textOf(owner, `/api/documents/${id}/content`)).toBe("hello");
  });

  test("deletes at once with permanent=true", async () => {
    const owner = await signedIn();
    const id = await upload(owner, "hello");
    expect(await remove(owner, id, "?permanent=true")).toMatchObject({ json: { success: true } });
    expect(await usedBytes(owner)).toBe(0);
    expect(await namesOf(owner, "/api/documents/trash")).toEqual([]);
    const restore = await owner.request(`/api/documents/${id}/restore`, { method: "POST" });
    expect(restore).toMatchObject({ status: 404 });
  });

  test("releases the bytes once when deletions race", async () => {
    const owner = await signedIn();
    await upload(owner, "stays", "other.txt");
    const id = await upload(owner, "hello");
    const answers = await Promise.all(Array.from({ length: 8 }, () => remove(owner, id)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await usedBytes(owner)).toBe(5);
  });
});

describe("the trash", () => {
  test("is emptied document by document and as a whole, and only by its owner", async () => {
    const [owner, other] = [await signedIn(), await signedIn()];
    const ids = [await upload(owner, "a"), await upload(owner, "b"), await upload(owner, "c")];
    const kept = await upload(owner, "kept", "kept.txt");
    for (const id of ids) await remove(owner, id);
    const path = `/api/documents/trash/${ids[0]}`;
    expect(await other.request(path, { method: "DELETE" })).toMatchObject({ status: 404 });
    expect(await owner.request(path, { method: "DELETE" })).toMatchObject({ status: 204 });
    // A document outside of the trash is not in it.
    const live = await owner.request(`/api/documents/trash/${kept}`, { method: "DELETE" });
    expect(live).toMatchObject({ status: 404 });
    expect(await other.request("/api/documents/trash", { method: "DELETE" })).toMatchObject({
      json: { removed: 0 },
    });
    expect(await owner.request("/api/documents/trash", { method: "DELETE" })).toMatchObject({
      status: 200,
      json: { removed: 2 },
    });
    expect(await namesOf(owner, "/api/documents")).toEqual(["kept.txt"]);
  });

  test("does not restore a document that the quota has no room for", async () => {
    const owner = await signedIn();
    await setLimit(owner, 8);
    const id = await upload(owner, "hello");
    await remove(owner, id);
    await upload(owner, "world", "new.txt");
    const restore = await owner.request(`/api/documents/${id}/restore`, { method: "POST" });
    expect(restore).toMatchObject({ status: 413, json: { detail: "Storage quota exceeded" } });
    expect(await usedBytes(owner)).toBe(5);
    expect((await owner.request("/api/documents/trash")).json.total).toBe(1);
  });

  test("holds no more bytes than the quota allows, and loses the first deleted documents", async () => {
    const owner = await signedIn();
    await setLimit(owner, 10);
    for (const name of ["one.txt", "two.txt", "three.txt"]) {
      await remove(owner, await upload(owner, "12345", name));
      now += 1000;
    }
    expect(await namesOf(owner, "/api/documents/trash")).toEqual(["three.txt", "two.txt"]);
  });
});

describe("PUT /api/documents/{id}/content", () => {
  test("keeps the content before as a version, which counts towards the quota, and restores it", async () => {
    const owner = await signedIn();
    const id = await upload(owner, "first");
    const path = `/api/documents/${id}`;
    const { sha256 } = (await owner.request(path)).json;
    expect(await replace(owner, id, "second text", sha256)).toMatchObject({
      status: 200,
      json: { size_bytes: 11, content_type: "text/plain", filename: "note.txt" },
    });
    const stale = await replace(owner, id, "third", sha256);
    expect(stale).toMatchObject({ status: 412 });
    const missing = await owner.request(`${path}/content`, { method: "PUT", body: "x" });
    expect(missing).toMatchObject({ status: 428 });
    const etag = (await owner.request(`${path}/content`)).headers.get("etag") ?? "";
    expect(await replace(owner, id, "# three", etag, "text/markdown")).toMatchObject({
      json: { content_type: "text/markdown" },
    });
    const listed = (await owner.request(`${path}/versions`)).json;
    expect(listed).toMatchObject({
      total: 3,
      items: [
        { number: 3, is_current: true, content_type: "text/markdown", size_bytes: 7 },
        { number: 2, is_current: false, content_type: "text/plain", size_bytes: 11 },
        { number: 1, is_current: false, size_bytes: 5, sha256 },
      ],
    });
    expect(await usedBytes(owner)).toBe(5 + 11 + 7);
    expect(await textOf(owner, `${path}/versions/1/content`)).toBe("first");
    const part = await owner.request(`${path}/versions/2/content`, {
      headers: { Range: "bytes=7-10" },
    });
    expect(part).toMatchObject({ status: 206, text: "text" });
    expect(await owner.request(`${path}/versions/9/content`)).toMatchObject({ status: 404 });

    const restored = await owner.request(`${path}/versions/1/restore`, { method: "POST" });
    expect(restored).toMatchObject({ status: 200, json: { sha256, content_type: "text/plain" } });
    expect(await textOf(owner, `${path}/content`)).toBe("first");
    const numbers = (await owner.request(`${path}/versions`)).json.items;
    expect(numbers.map(({ number }: { number: number }) => number)).toEqual([4, 3, 2]);
    expect(await usedBytes(owner)).toBe(5 + 11 + 7);
  });

  test("makes no version of equal bytes, and deletes versions beyond those that are kept", async () => {
    const owner = await signedIn();
    const id = await upload(owner, "0");
    await replace(owner, id, "0");
    const path = `/api/documents/${id}/versions`;
    expect((await owner.request(path)).json.total).toBe(1);
    for (const text of ["11", "222", "3333"]) await replace(owner, id, text);
    const { items } = (await owner.request(path)).json;
    expect(items.map((item: { size_bytes: number }) => item.size_bytes)).toEqual([4, 3, 2]);
    expect(await usedBytes(owner)).toBe(9);
    await remove(owner, id);
    expect(await usedBytes(owner)).toBe(0);
    await owner.request(`/api/documents/${id}/restore`, { method: "POST" });
    expect(await usedBytes(owner)).toBe(9);
    await remove(owner, id, "?permanent=true");
    expect(await usedBytes(owner)).toBe(0);
  });

  test("refuses what the quota has no room for, and one of two replacements of one version", async () => {
    const owner = await signedIn();
    await setLimit(owner, 12);
    const id = await upload(owner, "hello");
    const { sha256 } = (await owner.request(`/api/documents/${id}`)).json;
    expect(await replace(owner, id, "12345678")).toMatchObject({ status: 413 });
    expect(await usedBytes(owner)).toBe(5);
    const answers = await Promise.all([
      replace(owner, id, "abc", sha256),
      replace(owner, id, "xyz", sha256),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect(await usedBytes(owner)).toBe(8);
  });

  test("finds the new text, and the text before no more", async () => {
    const owner = await signedIn();
    const id = await upload(owner, "barley and oats");
    await replace(owner, id, "turnips only");
    await expect
      .poll(async () => (await owner.request(`/api/documents/${id}`)).json.extracted_text)
      .toBe("turnips only");
    expect((await owner.request("/api/search?q=turnips")).json.total).toBe(1);
    expect((await owner.request("/api/search?q=barley")).json.total).toBe(0);
  });

  test("is for the owner alone, also where the document is shared", async () => {
    const [owner, other] = [await signedIn(), await signedIn()];
    const id = await upload(owner, "hello");
    const { handle } = (await other.request("/api/auth/me")).json;
    await owner.request("/api/shares", {
      json: { document_id: id, recipient_handle: handle, permission: "download" },
    });
    await replace(owner, id, "world");
    const path = `/api/documents/${id}`;
    expect(await replace(other, id, "mine")).toMatchObject({ status: 404 });
    expect(await other.request(`${path}/versions`)).toMatchObject({ status: 404 });
    expect(await other.request(`${path}/versions/1/content`)).toMatchObject({ status: 404 });
    const restore = await other.request(`${path}/versions/1/restore`, { method: "POST" });
    expect(restore).toMatchObject({ status: 404 });
    expect(await textOf(other, `${path}/content`)).toBe("world");
  });
});

test("deletions, restores and replacements are in the audit trail", async () => {
  const owner = await signedIn();
  const id = await upload(owner, "hello");
  await replace(owner, id, "world");
  await remove(owner, id);
  await owner.request(`/api/documents/${id}/restore`, { method: "POST" });
  await remove(owner, id);
  await owner.request(`/api/documents/trash/${id}`, { method: "DELETE" });
  const admin = await administrator();
  const { handle } = (await owner.request("/api/auth/me")).json;
  const audit = await admin.request(`/api/admin/audit?user_handle=${handle}&event_type=document`);
  type Row = {
    readonly event_type: string;
    readonly resource_id: string;
    readonly metadata: { readonly delete_kind?: string };
  };
  const changes = (audit.json.items as readonly Row[])
    .filter(({ event_type: type }) => type !== "document.classified")
    .toReversed();
  expect(changes.map(({ event_type: type }) => type)).toEqual([
    "document.uploaded",
    "document.content_replaced",
    "document.deleted",
    "document.restored",
    "document.deleted",
    "document.deleted",
  ]);
  expect(changes.flatMap(({ metadata }) => metadata.delete_kind ?? [])).toEqual([
    "trashed",
    "trashed",
    "permanent",
  ]);
});

test("a deletion that names a content deletes no other one", async () => {
  const person = await signedIn();
  const id = await upload(person, "first");
  const seen = (await person.request(`/api/documents/${id}`)).json.sha256 as string;
  expect((await replace(person, id, "second")).status).toBe(200);
  const named = (ifMatch: string) =>
    person.request(`/api/documents/${id}?permanent=true`, {
      method: "DELETE",
      headers: { "If-Match": ifMatch },
    });
  expect((await named(`"${seen}"`)).status).toBe(412);
  expect(await textOf(person, `/api/documents/${id}/content`)).toBe("second");
  const present = (await person.request(`/api/documents/${id}`)).json.sha256 as string;
  expect((await named(`"${seen}", "${present}"`)).status).toBe(200);
  expect((await named("*")).status).toBe(404);
});
