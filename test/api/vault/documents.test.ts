import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let now = Date.UTC(2026, 10, 20, 9, 30);
let people = 0;

beforeAll(async () => {
  daemon = await startTestDaemon({ clock: () => now, env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function signedIn(): Promise<VaultPerson> {
  people += 1;
  const person = createPerson(daemon, `reader-${people}`, `198.51.100.${people}`);
  await person.register();
  expect(await person.signIn()).toMatchObject({ status: 200 });
  return person;
}

function form(content: string | Uint8Array<ArrayBuffer>, name: string, filename?: string) {
  const data = new FormData();
  if (filename !== undefined) data.set("filename", filename);
  data.set("file", new File([content], name, { type: "text/plain" }));
  return data;
}

const upload = (person: VaultPerson, content: string, name = "note.txt"): Promise<TestAnswer> =>
  person.request("/api/documents/upload", { method: "POST", body: form(content, name) });

const usedBytes = async (person: VaultPerson): Promise<number> =>
  (await person.request("/api/auth/me/quota")).json.used_bytes;

const sha256 = (content: string) => createHash("sha256").update(content).digest("hex");

const promise = (person: VaultPerson, body: Readonly<Record<string, unknown>>) =>
  person.request("/api/documents/upload-url", {
    json: { filename: "a.txt", content_type: "text/plain", size_bytes: 5, ...body },
  });

const put = (address: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  daemon.request(new URL(address).pathname, {
    method: "PUT",
    body,
    headers: { "Content-Type": "text/plain", ...headers },
  });

async function administrator(): Promise<VaultPerson> {
  const admin = createPerson(daemon, "keeper", "198.51.100.250");
  const signIn = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
    headers: { "User-Agent": "croft-test" },
  });
  admin.accessToken = signIn.json.access_token;
  return admin;
}

const setLimit = async (person: VaultPerson, limitBytes: number) => {
  const me = await person.request("/api/auth/me");
  const admin = await administrator();
  const answer = await admin.request(`/api/admin/users/${me.json.id}/quota`, {
    method: "PUT",
    json: { limit_bytes: limitBytes },
  });
  expect(answer).toMatchObject({ status: 200 });
};

describe("POST /api/documents/upload", () => {
  test("keeps a name with percent signs and quotes, and the download has it", async () => {
    const person = await signedIn();
    for (const name of ["a%22b.txt", "100%.txt", 'say "hi".txt', "%E4.txt"]) {
      const sent = await person.request("/api/documents/upload", {
        method: "POST",
        body: form("x", "x.txt", name),
      });
      expect(sent.json.filename).toBe(name);
      const { headers } = await person.request(`/api/documents/${sent.json.id}/content`);
      const [, encoded = ""] =
        /filename\*=UTF-8''(.*)$/.exec(headers.get("content-disposition") ?? "") ?? [];
      expect(decodeURIComponent(encoded)).toBe(name);
    }
  });

  test("stores the file, books the quota and returns the document", async () => {
    const person = await signedIn();
    const answer = await upload(person, "hello", "Grüße 😀.txt");
    expect(answer).toMatchObject({ status: 201 });
    expect(answer.json).toMatchObject({
      filename: "Grüße 😀.txt",
      content_type: "text/plain",
      size_bytes: 5,
      sha256: sha256("hello"),
      storage_backend: "internal",
      topics: [],
    });
    expect(await usedBytes(person)).toBe(5);
    const content = await person.request(`/api/documents/${answer.json.id}/content`);
    expect(content.text).toBe("hello");
    expect(content.headers.get("content-disposition")).toBe(
      "attachment; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%F0%9F%98%80.txt",
    );
  });

  test("accepts an empty file", async () => {
    const person = await signedIn();
    const answer = await upload(person, "");
    expect(answer).toMatchObject({ status: 201, json: { size_bytes: 0 } });
    const content = await person.request(`/api/documents/${answer.json.id}/content`);
    expect(content).toMatchObject({ status: 200, text: "" });
  });

  test("refuses names with slashes, control characters and more than 255 bytes", async () => {
    const person = await signedIn();
    for (const name of ["a/b", "a\\b", "..", "a\u0007b", "ü".repeat(128)]) {
      const body = form("x", "x", name);
      const answer = await person.request("/api/documents/upload", { method: "POST", body });
      expect(answer, name).toMatchObject({ status: 422 });
    }
    expect(await usedBytes(person)).toBe(0);
  });

  test("keeps marks that turn the direction of a name, and escapes them in the header of a download", async () => {
    const person = await signedIn();
    const { id, filename } = (await upload(person, "x", "a\u202efdp.exe")).json;
    expect(filename).toBe("a\u202efdp.exe");
    const content = await person.request(`/api/documents/${id}/content`);
    expect(content.headers.get("content-disposition")).toContain("a%E2%80%AEfdp.exe");
  });

  test("refuses a form without a file", async () => {
    const person = await signedIn();
    const body = new FormData();
    body.set("filename", "a.txt");
    expect(await person.request("/api/documents/upload", { method: "POST", body })).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "file"] }] },
    });
  });

  test("never books more than the limit when uploads race for the last bytes", async () => {
    const person = await signedIn();
    await setLimit(person, 35);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => upload(person, "0123456789", `${index}.txt`)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 201, 201, ...Array.from({ length: 17 }, () => 413)]);
    expect(answers.find(({ status }) => status === 413)?.json).toEqual({
      detail: "Storage quota exceeded",
    });
    expect(await usedBytes(person)).toBe(30);
    const list = await person.request("/api/documents");
    expect(list.json).toMatchObject({ total: 3 });
  });

  test("gives two users of the same bytes documents of their own", async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    const first = await upload(one, "the same bytes");
    const second = await upload(other, "the same bytes");
    expect(second).toMatchObject({ status: 201 });
    await one.request(`/api/documents/${first.json.id}`, { method: "DELETE" });
    const content = await other.request(`/api/documents/${second.json.id}/content`);
    expect(content.text).toBe("the same bytes");
  });
});

describe("upload addresses", () => {
  test("take the declared bytes once and become a document on confirmation", async () => {
    const person = await signedIn();
    const address = await promise(person, { sha256: sha256("hello") });
    expect(address).toMatchObject({
      status: 201,
      json: { method: "PUT", headers: { "Content-Type": "text/plain" } },
    });
    expect(await put(address.json.upload_url, "hello")).toMatchObject({ status: 204 });
    expect(await usedBytes(person)).toBe(0);
    expect(await put(address.json.upload_url, "hello")).toMatchObject({ status: 409 });
    const path = `/api/documents/${address.json.document_id}/confirm`;
    const confirmed = await person.request(path, { method: "POST" });
    expect(confirmed).toMatchObject({ status: 200, json: { sha256: sha256("hello") } });
    expect(await person.request(path, { method: "POST" })).toMatchObject({
      status: 200,
      json: { id: confirmed.json.id },
    });
    expect(await usedBytes(person)).toBe(5);
  });

  test("books the quota once when confirmations race", async () => {
    const person = await signedIn();
    const address = await promise(person, {});
    await put(address.json.upload_url, "hello");
    const path = `/api/documents/${address.json.document_id}/confirm`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => person.request(path, { method: "POST" })),
    );
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 200, json: { id: address.json.document_id } });
    expect(await usedBytes(person)).toBe(5);
  });

  test("refuse a body that is larger, smaller, of another hash or of another type", async () => {
    const person = await signedIn();
    const { upload_url: address } = (await promise(person, { sha256: sha256("hello") })).json;
    expect(await put(address, "hello!")).toMatchObject({ status: 413 });
    expect(await put(address, "hell")).toMatchObject({ status: 422 });
    expect(await put(address, "HELLO")).toMatchObject({ status: 422 });
    expect(await put(address, "hello", { "Content-Type": "text/html" })).toMatchObject({
      status: 422,
    });
    expect(await put(address, "hello")).toMatchObject({ status: 204 });
  });

  test("expire after fifteen minutes", async () => {
    const person = await signedIn();
    const address = await promise(person, {});
    now += 15 * 60_000;
    expect(await put(address.json.upload_url, "hello")).toMatchObject({ status: 404 });
    await person.signIn();
    now += 1;
  });

  test("cannot be confirmed by another user or before the bytes arrived", async () => {
    const [person, other] = [await signedIn(), await signedIn()];
    const address = await promise(person, {});
    const path = `/api/documents/${address.json.document_id}/confirm`;
    expect(await person.request(path, { method: "POST" })).toMatchObject({ status: 409 });
    await put(address.json.upload_url, "hello");
    expect(await other.request(path, { method: "POST" })).toMatchObject({ status: 404 });
    expect(await person.request(path, { method: "POST" })).toMatchObject({ status: 200 });
  });

  test("are refused for more bytes than the free quota", async () => {
    const person = await signedIn();
    await setLimit(person, 4);
    expect(await promise(person, {})).toMatchObject({
      status: 413,
      json: { detail: "Storage quota exceeded" },
    });
  });
});

describe("GET /api/documents", () => {
  test("sorts by name, size and time and never shows another user's documents", async () => {
    const [person, other] = [await signedIn(), await signedIn()];
    await upload(other, "theirs", "0.txt");
    for (const [name, content] of [
      ["b.txt", "1"],
      ["A.txt", "333"],
      ["c.txt", "22"],
    ] as const) {
      now += 1000;
      await upload(person, content, name);
    }
    const names = async (query: string): Promise<string[]> =>
      (await person.request(`/api/documents${query}`)).json.items.map(
        (item: { filename: string }) => item.filename,
      );
    expect(await names("")).toEqual(["c.txt", "A.txt", "b.txt"]);
    expect(await names("?sort=name")).toEqual(["A.txt", "b.txt", "c.txt"]);
    expect(await names("?sort=size&order=desc")).toEqual(["A.txt", "c.txt", "b.txt"]);
    expect(await names("?page=2&per_page=2")).toEqual(["b.txt"]);
    expect(await names("?page=9")).toEqual([]);
  });
});

describe("one document", () => {
  test("is not found by another user on any route", async () => {
    const [person, other] = [await signedIn(), await signedIn()];
    const { id } = (await upload(person, "mine")).json;
    for (const [method, path, json] of [
      ["GET", ""],
      ["PATCH", "", { filename: "x" }],
      ["DELETE", ""],
      ["POST", "/classify"],
      ["GET", "/content"],
    ] as const)
      expect(
        await other.request(`/api/documents/${id}${path}`, { method, ...(json && { json }) }),
        `${method} ${path}`,
      ).toMatchObject({ status: 404, json: { detail: "Document not found" } });
  });

  test("renames a document, and releases its quota when it is deleted", async () => {
    const person = await signedIn();
    const { id } = (await upload(person, "mine")).json;
    const path = `/api/documents/${id}`;
    expect(
      await person.request(path, { method: "PATCH", json: { filename: "new name.txt" } }),
    ).toMatchObject({ status: 200, json: { filename: "new name.txt" } });
    expect(await person.request(path, { method: "DELETE" })).toMatchObject({
      status: 200,
      json: { success: true },
    });
    expect(await usedBytes(person)).toBe(0);
    expect(await person.request(path, { method: "DELETE" })).toMatchObject({ status: 404 });
  });

  test("answers ranges, suffixes, If-Range and If-None-Match", async () => {
    const person = await signedIn();
    const { id, sha256: hash } = (await upload(person, "0123456789")).json;
    const get = (headers: Readonly<Record<string, string>>) =>
      person.request(`/api/documents/${id}/content`, { headers });
    expect(await get({ Range: "bytes=2-4" })).toMatchObject({ status: 206, text: "234" });
    expect(await get({ Range: "bytes=-3" })).toMatchObject({ status: 206, text: "789" });
    expect(await get({ Range: "bytes=20-" })).toMatchObject({ status: 416 });
    expect(await get({ Range: "bytes=8-20" })).toMatchObject({ status: 206, text: "89" });
    expect(await get({ Range: "bytes=0-1,4-5" })).toMatchObject({
      status: 200,
      text: "0123456789",
    });
    expect(await get({ Range: "bytes=2-4", "If-Range": '"other"' })).toMatchObject({
      status: 200,
      text: "0123456789",
    });
    expect(await get({ "If-None-Match": `"${hash}"` })).toMatchObject({ status: 304 });
  });

  test("is shown inline only where the type cannot run script", async () => {
    const person = await signedIn();
    const html = new FormData();
    html.set("file", new File(["<script>alert(1)</script>"], "a.html", { type: "text/html" }));
    const { id } = (await person.request("/api/documents/upload", { method: "POST", body: html }))
      .json;
    const page = await person.request(`/api/documents/${id}/content?disposition=inline`);
    expect(page.headers.get("content-disposition")).toMatch(/^attachment/);
    expect(page.headers.get("content-security-policy")).toContain("sandbox");
    const text = (await upload(person, "plain")).json;
    const inline = await person.request(`/api/documents/${text.id}/content?disposition=inline`);
    expect(inline.headers.get("content-disposition")).toBe("inline");
    expect(inline.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });
});

describe("filters of the list", () => {
  test("find documents without a topic, of a type and of given bytes", async () => {
    const person = await signedIn();
    await person.request("/api/topics", { json: { name: "Filed" } });
    const filed = (await upload(person, "filed", "filed.txt")).json;
    const open = (await upload(person, "open", "open.txt")).json;
    const changed = await person.request(`/api/documents/${filed.id}`, {
      method: "PATCH",
      json: { topics: ["filed"] },
    });
    expect(Date.parse(changed.json.updated_at)).toBeGreaterThan(Date.parse(filed.updated_at) - 1);
    const idsOf = async (query: string) =>
      (await person.request(`/api/documents?sort=name&${query}`)).json.items.map(
        ({ id }: { id: string }) => id,
      );
    expect(await idsOf("has_topics=false")).toEqual([open.id]);
    expect(await idsOf("has_topics=true")).toEqual([filed.id]);
    expect(await idsOf("content_type=Text/Plain")).toEqual([filed.id, open.id]);
    expect(await idsOf("content_type=text/markdown")).toEqual([]);
    expect(await idsOf(`sha256=${filed.sha256.toUpperCase()}`)).toEqual([filed.id]);
    expect(await idsOf("q=%20")).toEqual([filed.id, open.id]);
    expect(await idsOf("q=!!")).toEqual([]);
    const other = await signedIn();
    expect((await other.request(`/api/documents?sha256=${filed.sha256}`)).json.total).toBe(0);
    expect((await person.request("/api/documents?sha256=x")).status).toBe(422);
  });
});

describe("topics", () => {
  const create = (person: VaultPerson, name: string) =>
    person.request("/api/topics", { json: { name } });

  test("are one when they differ only in case or accents", async () => {
    const person = await signedIn();
    expect(await create(person, "Résumé")).toMatchObject({
      status: 201,
      json: { name: "Résumé", description: "", is_system: false },
    });
    expect(await create(person, "RESUME")).toMatchObject({ status: 409 });
    expect(await create(await signedIn(), "resume")).toMatchObject({ status: 201 });
  });

  test.each([
    ["Straße", ["STRASSE", "strasse", "STRAẞE"]],
    ["ıstanbul", ["ISTANBUL", "İstanbul"]],
    ["ΟΔΟΣ", ["οδος", "οδοσ"]],
  ])("%s is one with %j: letters whose case changes their number or form", async (name, others) => {
    const person = await signedIn();
    expect(await create(person, name)).toMatchObject({ status: 201 });
    for (const other of others) expect(await create(person, other)).toMatchObject({ status: 409 });
  });

  test("of another user are not found, and system topics are not a user's to change", async () => {
    const [person, other] = [await signedIn(), await signedIn()];
    const own = (await create(person, "Taxes")).json;
    for (const method of ["PATCH", "DELETE"])
      expect(
        await other.request(`/api/topics/${own.id}`, { method, json: { name: "x" } }),
      ).toMatchObject({ status: 404 });
    const admin = await administrator();
    const system = await admin.request("/api/admin/topics", { json: { name: "Invoices" } });
    expect(system).toMatchObject({ status: 201, json: { is_system: true } });
    expect(
      await person.request(`/api/topics/${system.json.id}`, { method: "DELETE" }),
    ).toMatchObject({ status: 404 });
    expect(await admin.request(`/api/topics/${own.id}`, { method: "DELETE" })).toMatchObject({
      status: 404,
    });
    const listed = (await person.request("/api/topics")).json.items as { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(["Invoices", "Taxes"]);
    expect(
      await admin.request(`/api/topics/${system.json.id}`, { method: "DELETE" }),
    ).toMatchObject({ status: 204 });
  });

  test("are set on a document by name, and filter the list", async () => {
    const person = await signedIn();
    await create(person, "Travel");
    const { id } = (await upload(person, "text")).json;
    await upload(person, "other");
    expect(
      await person.request(`/api/documents/${id}`, {
        method: "PATCH",
        json: { topics: ["travel"] },
      }),
    ).toMatchObject({ status: 200, json: { topics: ["Travel"] } });
    expect((await person.request("/api/documents?topic=TRAVEL")).json).toMatchObject({
      total: 1,
      items: [{ id }],
    });
    expect(
      await person.request(`/api/documents/${id}`, {
        method: "PATCH",
        json: { topics: ["nonsense"] },
      }),
    ).toMatchObject({ status: 422, json: { detail: [{ loc: ["body", "topics", "0"] }] } });
  });
});

describe("shares", () => {
  const share = (person: VaultPerson, id: string, handle: string, permission?: string) =>
    person.request("/api/shares", {
      json: { document_id: id, recipient_handle: handle, ...(permission && { permission }) },
    });

  test("let the recipient see the document without its text, and view it in place only", async () => {
    const [owner, recipient] = [await signedIn(), await signedIn()];
    const { id } = (await upload(owner, "shared text")).json;
    const shared = await share(owner, id, recipient.handle.toUpperCase());
    expect(shared).toMatchObject({
      status: 201,
      json: { permission: "view", recipient_handle: recipient.handle },
    });
    const seen = await recipient.request(`/api/documents/${id}`);
    expect(seen).toMatchObject({ status: 200, json: { id } });
    expect(seen.json).not.toHaveProperty("extracted_text");
    expect((await recipient.request("/api/documents")).json.total).toBe(0);
    const content = (query: string) => recipient.request(`/api/documents/${id}/content${query}`);
    expect(await content("?disposition=inline")).toMatchObject({
      status: 200,
      text: "shared text",
    });
    expect(await content("")).toMatchObject({ status: 403 });
    await owner.request(`/api/shares/${shared.json.id}`, {
      method: "PATCH",
      json: { permission: "download" },
    });
    expect(await content("")).toMatchObject({ status: 200 });
    for (const [method, json] of [["PATCH", { filename: "x" }], ["DELETE"]] as const)
      expect(
        await recipient.request(`/api/documents/${id}`, { method, ...(json && { json }) }),
      ).toMatchObject({ status: 404 });
  });

  test("do not show a recipient the owner's topics, and answer no confirmation of a recipient", async () => {
    const [owner, recipient] = [await signedIn(), await signedIn()];
    await owner.request("/api/topics", { json: { name: "Divorce" } });
    const { id } = (await upload(owner, "words about a divorce")).json;
    await expect
      .poll(async () => (await owner.request(`/api/documents/${id}`)).json.classification)
      .toMatchObject({ topic: "Divorce" });
    await share(owner, id, recipient.handle);
    expect((await recipient.request(`/api/documents/${id}`)).json).toMatchObject({
      id,
      topics: [],
      classification: null,
    });
    const confirm = (person: VaultPerson) =>
      person.request(`/api/documents/${id}/confirm`, { method: "POST" });
    expect(await confirm(owner)).toMatchObject({ status: 200 });
    expect(await confirm(recipient)).toMatchObject({ status: 404 });
  });

  test("show a document in place whose client knew no type, once its bytes are read", async () => {
    const [owner, recipient] = [await signedIn(), await signedIn()];
    const body = new FormData();
    body.set("file", new File(["plain words"], "note", { type: "application/octet-stream" }));
    const sent = await owner.request("/api/documents/upload", { method: "POST", body });
    await share(owner, sent.json.id, recipient.handle);
    await expect
      .poll(async () => (await owner.request(`/api/documents/${sent.json.id}`)).json.content_type)
      .toBe("text/plain");
    const path = `/api/documents/${sent.json.id}/content?disposition=inline`;
    expect(await recipient.request(path)).toMatchObject({ status: 200, text: "plain words" });
  });

  test("tell the type of a picture without text, and of a name, whose client knew no type", async () => {
    const owner = await signedIn();
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    for (const [bytes, name, type] of [
      [png, "photo", "image/png"],
      [Buffer.alloc(64), "tune.mp3", "audio/mpeg"],
      [Buffer.alloc(64), "blob", "application/octet-stream"],
    ] as const) {
      const body = new FormData();
      body.set("file", new File([bytes], name, { type: "application/octet-stream" }));
      const sent = await owner.request("/api/documents/upload", { method: "POST", body });
      await expect
        .poll(async () => (await owner.request(`/api/documents/${sent.json.id}`)).json)
        .toMatchObject({ status: "ready", content_type: type });
    }
  });

  test("end at once for the next range of a download", async () => {
    const [owner, recipient] = [await signedIn(), await signedIn()];
    const { id } = (await upload(owner, "0123456789")).json;
    const shared = await share(owner, id, recipient.handle, "download");
    const range = (headers: Readonly<Record<string, string>>) =>
      recipient.request(`/api/documents/${id}/content`, { headers });
    expect(await range({ Range: "bytes=0-4" })).toMatchObject({ status: 206 });
    expect(
      await owner.request(`/api/shares/${shared.json.id}`, { method: "DELETE" }),
    ).toMatchObject({ status: 204 });
    expect(await range({ Range: "bytes=5-9" })).toMatchObject({ status: 404 });
    expect((await recipient.request("/api/shares/received")).json.total).toBe(0);
  });

  test("are refused with oneself, an unknown or inactive handle, an administrator, and twice", async () => {
    const [owner, recipient] = [await signedIn(), await signedIn()];
    const { id } = (await upload(owner, "text")).json;
    for (const handle of [owner.handle, "nobody-here", "keeper"])
      expect(await share(owner, id, handle)).toMatchObject({
        status: 422,
        json: { detail: [{ loc: ["body", "recipient_handle"] }] },
      });
    expect(await share(owner, id, recipient.handle)).toMatchObject({ status: 201 });
    expect(await share(owner, id, recipient.handle)).toMatchObject({ status: 409 });
    expect(await share(recipient, id, owner.handle)).toMatchObject({ status: 404 });
    const admin = await administrator();
    const me = (await recipient.request("/api/auth/me")).json;
    await admin.request(`/api/admin/users/${me.id}/status`, {
      method: "PATCH",
      json: { is_active: false },
    });
    const other = (await upload(owner, "more")).json;
    expect(await share(owner, other.id, recipient.handle)).toMatchObject({ status: 422 });
  });

  test("of a document that is deleted meanwhile are made before or not found", async () => {
    const [owner, recipient] = [await signedIn(), await signedIn()];
    for (let round = 0; round < 10; round += 1) {
      const { id } = (await upload(owner, "short-lived")).json;
      const remove = owner.request(`/api/documents/${id}`, { method: "DELETE" });
      const [shared] = await Promise.all([share(owner, id, recipient.handle), remove]);
      expect([201, 404]).toContain(shared.status);
    }
    expect((await recipient.request("/api/shares/received")).json.total).toBe(0);
  });

  test("of another user are not found, for the recipient as well", async () => {
    const [owner, recipient] = [await signedIn(), await signedIn()];
    const { id } = (await upload(owner, "text")).json;
    const shared = (await share(owner, id, recipient.handle)).json;
    for (const method of ["PATCH", "DELETE"])
      expect(
        await recipient.request(`/api/shares/${shared.id}`, {
          method,
          json: { permission: "download" },
        }),
      ).toMatchObject({ status: 404, json: { detail: "Share not found" } });
  });

  test("and documents go with a deleted user, and are recorded in the audit trail", async () => {
    const [owner, recipient] = [await signedIn(), await signedIn()];
    const { id } = (await upload(owner, "text")).json;
    await share(owner, id, recipient.handle);
    const admin = await administrator();
    const audit = await admin.request(
      `/api/admin/audit?event_type=share&user_handle=${owner.handle}`,
    );
    expect(audit.json.items[0]).toMatchObject({ event_type: "share.created" });
    const me = (await owner.request("/api/auth/me")).json;
    expect(await admin.request(`/api/admin/users/${me.id}`, { method: "DELETE" })).toMatchObject({
      status: 200,
    });
    expect(await recipient.request(`/api/documents/${id}`)).toMatchObject({ status: 404 });
  });
});
