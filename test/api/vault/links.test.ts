import { Agent, type IncomingMessage, request as sendNode } from "node:http";
import { text } from "node:stream/consumers";
import { fromBufferPromise } from "yauzl";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

const DAY_MS = 24 * 3_600_000;
let daemon: TestDaemon;
let now = Date.UTC(2026, 10, 20, 9, 30);
let people = 0;

beforeAll(async () => {
  daemon = await startTestDaemon({ clock: () => now });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function signedIn(): Promise<VaultPerson> {
  people += 1;
  // A new window for the limits of addresses.
  now += 61_000;
  const person = createPerson(daemon, `sender-${people}`, `198.51.100.${people}`);
  await person.register();
  expect(await person.signIn()).toMatchObject({ status: 200 });
  return person;
}

async function upload(
  person: VaultPerson,
  content: string | Uint8Array<ArrayBuffer>,
  name = "plan.txt",
  type = "text/plain",
): Promise<string> {
  const body = new FormData();
  body.set("file", new File([content], name, { type }));
  const answer = await person.request("/api/documents/upload", { method: "POST", body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.json.id;
}

const createLink = (person: VaultPerson, json: Readonly<Record<string, unknown>>) =>
  person.request("/api/links", { json });

async function linkTo(
  person: VaultPerson,
  json: Readonly<Record<string, unknown>>,
): Promise<{ readonly id: string; readonly path: string }> {
  const answer = await createLink(person, json);
  expect(answer).toMatchObject({ status: 201 });
  return { id: answer.json.id, path: new URL(answer.json.url).pathname };
}

/** A visitor without an account, from an address of their own. */
const visit = (
  path: string,
  {
    address = "203.0.113.1",
    headers = {},
    ...init
  }: {
    readonly address?: string;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: FormData;
  } = {},
): Promise<TestAnswer> =>
  daemon.request(path, { ...init, headers: { "X-Forwarded-For": address, ...headers } });

function passwordForm(password: string): FormData {
  const body = new FormData();
  body.set("password", password);
  return body;
}

function files(...sent: readonly (readonly [name: string, content: string])[]): FormData {
  const body = new FormData();
  for (const [name, content] of sent) body.append("file", new File([content], name));
  return body;
}

const namesOf = async (person: VaultPerson): Promise<string[]> =>
  (await person.request("/api/documents")).json.items
    .map(({ filename }: { filename: string }) => filename)
    .toSorted();

function assertPrivate({ headers }: TestAnswer): void {
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("x-robots-tag")).toContain("noindex");
}

describe("a link to a document", () => {
  test("shows name, size, sender and a preview, and gives the file", async () => {
    const owner = await signedIn();
    const id = await upload(owner, "<b>sow</b> in spring", "plan.txt");
    const answer = await createLink(owner, { document_id: id });
    expect(answer.json).toMatchObject({
      kind: "download",
      name: "plan.txt",
      status: "active",
      document_id: id,
      has_password: false,
      max_downloads: null,
      downloads: 0,
      expires_at: new Date(now + 7 * DAY_MS).toISOString(),
    });
    expect(answer.json.url).toMatch(/\/s\/[\w-]{32}$/);
    const path = new URL(answer.json.url).pathname;
    const page = await visit(path);
    expect(page).toMatchObject({ status: 200 });
    assertPrivate(page);
    for (const part of ["plan.txt", "20 bytes", "sender-", "&lt;b&gt;sow&lt;/b&gt;"])
      expect(page.text).toContain(part);
    const file = await visit(`${path}/download`);
    expect(file).toMatchObject({ status: 200, text: "<b>sow</b> in spring" });
    assertPrivate(file);
    expect(file.headers.get("content-disposition")).toContain("attachment");
    expect(file.headers.get("content-security-policy")).toContain("sandbox");
    const part = await visit(`${path}/download`, { headers: { Range: "bytes=14-19" } });
    expect(part).toMatchObject({ status: 206, text: "spring" });
    const shown = await visit(`${path}/preview`);
    expect(shown.headers.get("content-disposition")).toBe("inline");
    await visit(`${path}/download`, { method: "HEAD" });
    const seen = await owner.request(`/api/links/${answer.json.id}`);
    expect(seen.json).toMatchObject({ downloads: 1, url: answer.json.url });
    // The page of a file that could run script shows no preview.
    const svg = await linkTo(owner, {
      document_id: await upload(owner, "<svg/>", "a.svg", "image/svg+xml"),
    });
    const inline = await visit(`${svg.path}/preview`);
    expect(inline.headers.get("content-disposition")).toContain("attachment");
  });

  test("is its owner's alone, ends when it is revoked or expires, and comes back with its document", async () => {
    const [owner, other] = [await signedIn(), await signedIn()];
    const id = await upload(owner, "hello");
    const { handle } = (await other.request("/api/auth/me")).json;
    await owner.request("/api/shares", { json: { document_id: id, recipient_handle: handle } });
    expect(await createLink(other, { document_id: id })).toMatchObject({ status: 404 });
    const link = await linkTo(owner, { document_id: id, expires_at: null });
    const path = `/api/links/${link.id}`;
    expect(await other.request(path)).toMatchObject({ status: 404 });
    expect(await other.request(path, { method: "PATCH", json: {} })).toMatchObject({ status: 404 });
    expect(await other.request(path, { method: "DELETE" })).toMatchObject({ status: 404 });
    expect((await other.request("/api/links")).json.total).toBe(0);

    await owner.request(`/api/documents/${id}`, { method: "DELETE" });
    expect(await visit(link.path)).toMatchObject({ status: 404 });
    expect((await owner.request(path)).json).toMatchObject({ status: "unavailable" });
    await owner.request(`/api/documents/${id}/restore`, { method: "POST" });
    expect(await visit(`${link.path}/download`)).toMatchObject({ status: 200 });

    const expires_at = new Date(now + DAY_MS).toISOString();
    const changed = await owner.request(path, {
      method: "PATCH",
      json: { expires_at, name: "For you" },
    });
    expect(changed.json).toMatchObject({ expires_at, name: "For you" });
    expect((await visit(link.path)).text).toContain("For you");
    now += DAY_MS;
    expect(await visit(`${link.path}/download`)).toMatchObject({ status: 410 });
    await owner.signIn();
    expect((await owner.request(path)).json).toMatchObject({ status: "expired" });
    await owner.request(path, { method: "PATCH", json: { expires_at: null } });
    expect(await visit(link.path)).toMatchObject({ status: 200 });
    expect(await owner.request(path, { method: "DELETE" })).toMatchObject({ status: 204 });
    expect(await visit(link.path)).toMatchObject({ status: 404 });
    expect(await visit(`/s/${"x".repeat(32)}`)).toMatchObject({ status: 404 });
  });

  test("refuses values that do not belong to its kind, and a time in the past", async () => {
    const owner = await signedIn();
    const document_id = await upload(owner, "x");
    for (const [json, field] of [
      [{}, "document_id"],
      [{ document_id, document_ids: [document_id] }, "document_id"],
      [{ document_id, max_files: 1 }, "max_files"],
      [{ kind: "upload", document_id }, "document_id"],
      [{ document_id, expires_at: new Date(now - 1).toISOString() }, "expires_at"],
      [{ document_id, max_downloads: 0 }, "max_downloads"],
      [{ kind: "upload", topic_ids: ["01a1fdff-ed3d-7ce1-8986-d032f4367fd1"] }, "topic_ids"],
    ] as const) {
      const answer = await createLink(owner, json);
      expect(answer, JSON.stringify(json)).toMatchObject({ status: 422 });
      expect(answer.json.detail[0].loc).toContain(field);
    }
  });
});

describe("a link for a number of downloads", () => {
  test("gives one download to two visitors at once, and shows no preview", async () => {
    const owner = await signedIn();
    const link = await linkTo(owner, {
      document_id: await upload(owner, "only once"),
      max_downloads: 1,
    });
    const page = await visit(link.path);
    expect(page.text).toContain("one more time");
    expect(page.text).not.toContain("only once");
    expect(await visit(`${link.path}/preview`)).toMatchObject({ status: 404 });
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        visit(`${link.path}/download`, { address: `203.0.113.${at % 2}` }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(410)]);
    expect(await visit(link.path)).toMatchObject({ status: 410 });
    const { json } = await owner.request(`/api/links/${link.id}`);
    expect(json).toMatchObject({ downloads: 1, status: "used_up" });
  });

  test("lets the address whose download broke off repeat it, once", async () => {
    const owner = await signedIn();
    const content = new Uint8Array(24 * 1024 * 1024).fill(7);
    const link = await linkTo(owner, {
      document_id: await upload(owner, content, "large.bin", "application/octet-stream"),
      max_downloads: 1,
    });
    await breakOff(`${link.path}/download`, "203.0.113.5");
    await expect
      .poll(async () => (await visit(`${link.path}/download`, { address: "203.0.113.6" })).status)
      .toBe(410);
    await expect
      .poll(async () => (await visit(`${link.path}/download`, { address: "203.0.113.5" })).status, {
        timeout: 60_000,
      })
      .toBe(200);
    const again = await visit(`${link.path}/download`, { address: "203.0.113.5" });
    expect(again).toMatchObject({ status: 410 });
  });
});

/** Begins a download and closes the connection after its first bytes. */
function breakOff(path: string, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const agent = new Agent();
    const sent = sendNode(daemon.url + path, { agent, headers: { "X-Forwarded-For": address } });
    sent.once("error", reject);
    sent.once("response", (response) => {
      response.once("data", () => {
        response.destroy();
        agent.destroy();
        resolve();
      });
      response.on("error", () => undefined);
    });
    sent.end();
  });
}

describe("a password", () => {
  test("opens a link for an hour in the browser that gave it, until it is changed", async () => {
    const owner = await signedIn();
    const link = await linkTo(owner, {
      document_id: await upload(owner, "secret text"),
      password: "open sesame",
    });
    const closed = await visit(link.path);
    expect(closed).toMatchObject({ status: 403 });
    assertPrivate(closed);
    expect(closed.text).not.toContain("plan.txt");
    expect(await visit(`${link.path}/download`)).toMatchObject({ status: 403 });
    const post = { method: "POST", body: passwordForm("open sesame") };
    expect(await visit(link.path, { method: "POST", body: passwordForm("wrong") })).toMatchObject({
      status: 403,
    });
    const opened = await visit(link.path, post);
    expect(opened).toMatchObject({ status: 303 });
    const cookie = opened.headers.get("set-cookie") ?? "";
    expect(cookie).toContain(`Path=${link.path};`);
    expect(cookie).toContain("HttpOnly");
    const headers = { Cookie: cookie.split(";")[0] ?? "" };
    expect(await visit(`${link.path}/download`, { headers })).toMatchObject({
      status: 200,
      text: "secret text",
    });
    now += 3_600_001;
    expect(await visit(`${link.path}/download`, { headers })).toMatchObject({ status: 403 });
    const renewed = await visit(link.path, post);
    const fresh = { Cookie: renewed.headers.get("set-cookie")?.split(";")[0] ?? "" };
    await owner.signIn();
    await owner.request(`/api/links/${link.id}`, { method: "PATCH", json: { password: "other" } });
    expect(await visit(link.path, { headers: fresh })).toMatchObject({ status: 403 });
    await owner.request(`/api/links/${link.id}`, { method: "PATCH", json: { password: null } });
    expect(await visit(link.path)).toMatchObject({ status: 200 });
  });
});

describe("a link that receives files", () => {
  test("takes files as documents of its owner with its topics, within its limits, and shows nothing of the vault", async () => {
    const owner = await signedIn();
    await upload(owner, "private", "private.txt");
    const topic = await owner.request("/api/topics", { json: { name: "Inbox", description: "" } });
    const link = await linkTo(owner, {
      kind: "upload",
      max_files: 3,
      max_bytes: 20,
      message: "Please send the scans.",
      topic_ids: [topic.json.id],
    });
    expect(link.path).toMatch(/^\/r\//);
    const page = await visit(link.path);
    expect(page).toMatchObject({ status: 200 });
    assertPrivate(page);
    expect(page.text).toContain("Please send the scans.");
    expect(page.text).not.toContain("private.txt");
    const body = files(["../a\u0007b.txt", "12345"], ["big.txt", "x".repeat(30)], ["c.txt", "xyz"]);
    const sent = await visit(link.path, { method: "POST", body });
    expect(sent).toMatchObject({ status: 200 });
    expect(sent.text).toContain("Thank you");
    expect(sent.text).toContain("2 files have arrived");
    expect(sent.text).toMatch(/big\.txt<\/bdi>: it is too large/);
    expect(await namesOf(owner)).toEqual(["a_b.txt", "c.txt", "private.txt"]);
    const listed = await owner.request("/api/documents?topic=Inbox");
    expect(listed.json.total).toBe(2);
    const one = await visit(link.path, { method: "POST", body: files(["d.txt", "d"]) });
    expect(one.text).toContain("One file has arrived");
    const more = await visit(link.path, { method: "POST", body: files(["e.txt", "e"]) });
    expect(more).toMatchObject({ status: 410 });
    const { json } = await owner.request(`/api/links/${link.id}`);
    expect(json).toMatchObject({ files: 3, received_bytes: 9, status: "used_up" });
    expect((await owner.request("/api/auth/me/quota")).json.used_bytes).toBe(7 + 9);
  });

  test("stops reading a file that is far beyond its bytes, and says what was not read", async () => {
    const owner = await signedIn();
    const link = await linkTo(owner, { kind: "upload", max_bytes: 20 });
    const body = files(
      ["a.txt", "12345"],
      ["big.txt", "x".repeat(40 * 1024 * 1024)],
      ["c.txt", "xyz"],
    );
    const sent = await visit(link.path, { method: "POST", body });
    expect(sent).toMatchObject({ status: 200 });
    expect(sent.text).toContain("One file has arrived");
    expect(sent.text).toMatch(/big\.txt<\/bdi>: it is too large; files after it were not read/);
    expect(await namesOf(owner)).toEqual(["a.txt"]);
    const again = await visit(link.path, { method: "POST", body: files(["c.txt", "xyz"]) });
    expect(again.text).toContain("One file has arrived");
  });

  test("never takes more files than its limit when visitors send at once, and a password keeps it", async () => {
    const owner = await signedIn();
    const link = await linkTo(owner, { kind: "upload", max_files: 2, password: "pw" });
    const send = (headers: Readonly<Record<string, string>>) =>
      visit(link.path, { method: "POST", body: files(["a.txt", "a"]), headers });
    expect(await send({})).toMatchObject({ status: 403 });
    const opened = await visit(`${link.path}/unlock`, {
      method: "POST",
      body: passwordForm("pw"),
    });
    expect(opened).toMatchObject({ status: 303 });
    const headers = { Cookie: opened.headers.get("set-cookie")?.split(";")[0] ?? "" };
    await Promise.all(Array.from({ length: 6 }, () => send(headers)));
    expect(await namesOf(owner)).toEqual(["a.txt", "a.txt"]);
    // A link to receive files gives none.
    const secret = link.path.split("/").at(-1);
    expect(await visit(`/s/${secret}`)).toMatchObject({ status: 404 });
  });
});

/** Sends the beginning of a form, whose last file never ends; returns the answer. */
async function sendBeginning(
  path: string,
  address: string,
  names: readonly string[],
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = sendNode(new URL(path, daemon.url), {
    method: "POST",
    agent: false,
    headers: {
      "X-Forwarded-For": address,
      "Content-Type": "multipart/form-data; boundary=x",
      "Content-Length": 1024 ** 3,
    },
  });
  sent.on("response", resolve).on("error", reject);
  const head = (name: string) =>
    `--x\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
  sent.write(names.map((name) => `${head(name)}content`).join("\r\n"));
  const answer = await promise;
  const received = { status: answer.statusCode, text: await text(answer) };
  sent.destroy();
  return received;
}

test("a link that takes no more refuses a file before it has arrived", async () => {
  const owner = await signedIn();
  const link = await linkTo(owner, { kind: "upload", max_files: 1 });
  const first = await sendBeginning(link.path, "203.0.113.7", ["a.txt", "b.txt"]);
  expect(first).toMatchObject({ status: 200 });
  expect(first.text).toMatch(/b\.txt<\/bdi>: this link receives no more files/);
  expect(await namesOf(owner)).toEqual(["a.txt"]);
  expect(await sendBeginning(link.path, "203.0.113.7", ["c.txt"])).toMatchObject({ status: 410 });
  const locked = await linkTo(owner, { kind: "upload", password: "pw" });
  expect(await sendBeginning(locked.path, "203.0.113.7", ["d.txt"])).toMatchObject({ status: 403 });
  expect(await sendBeginning("/r/unknown", "203.0.113.7", ["e.txt"])).toMatchObject({
    status: 404,
  });
});

test("a link to an item of connected storage gives its file, and ends with it", async () => {
  const owner = await signedIn();
  const made = await owner.request("/api/cloud/connections", {
    json: {
      provider: "local_folder",
      display_name: "Papers",
      settings: { root: "." },
      credentials: {},
    },
  });
  expect(made).toMatchObject({ status: 201 });
  const base = `/api/cloud/connections/${made.json.id}`;
  const body = new FormData();
  body.set("file", new File(["from the folder"], "note.txt"));
  const sent = await owner.request(`${base}/items/upload`, { method: "POST", body });
  const item_id = sent.json.provider_item_id;
  const json = { connection_id: made.json.id, item_id };
  const link = await linkTo(owner, json);
  expect(await visit(`${link.path}/download`)).toMatchObject({
    status: 200,
    text: "from the folder",
  });
  const renamed = await owner.request(`${base}/items/${item_id}/rename`, {
    method: "PATCH",
    json: { new_name: "renamed.txt" },
  });
  expect(renamed).toMatchObject({ status: 200 });
  expect((await visit(link.path)).text).toContain("renamed.txt");
  const seen = (await owner.request(`/api/links/${link.id}`)).json;
  expect(seen).toMatchObject({ connection_id: made.json.id, item_id: "renamed.txt" });
  await owner.request(`${base}/items/renamed.txt`, { method: "DELETE" });
  expect(await visit(link.path)).toMatchObject({ status: 404 });
  const other = await signedIn();
  expect(await createLink(other, json)).toMatchObject({ status: 404 });
});

test("several documents, and a folder of connected storage, are a ZIP archive", async () => {
  const owner = await signedIn();
  const ids = [await upload(owner, "one", "same.txt"), await upload(owner, "two", "same.txt")];
  const link = await linkTo(owner, { document_ids: ids, max_downloads: 1 });
  expect((await visit(link.path)).text).toContain("2 documents");
  const archive = await readArchive(`${link.path}/download`);
  expect(archive).toEqual({ "same.txt": "one", "same (1).txt": "two" });
  expect(await visit(`${link.path}/download`)).toMatchObject({ status: 410 });

  const { json: connection } = await owner.request("/api/cloud/connections", {
    json: {
      provider: "local_folder",
      display_name: "Papers",
      settings: { root: "." },
      credentials: {},
    },
  });
  const base = `/api/cloud/connections/${connection.id}`;
  const addFolder = async (name: string, parent_ref: string | null): Promise<string> =>
    (await owner.request(`${base}/folders`, { json: { parent_ref, name } })).json.provider_item_id;
  const addFile = (name: string, parent_ref: string) => {
    const body = new FormData();
    body.set("parent_ref", parent_ref);
    body.set("file", new File([name], name));
    return owner.request(`${base}/items/upload`, { method: "POST", body });
  };
  const folder = await addFolder("2026", null);
  const inner = await addFolder("May", folder);
  await addFile("a.txt", folder);
  await addFile("b.txt", inner);
  const shared = await linkTo(owner, { connection_id: connection.id, item_id: folder });
  expect((await visit(shared.path)).text).toContain("Download as ZIP");
  expect(await readArchive(`${shared.path}/download`)).toEqual({
    "a.txt": "a.txt",
    "May/b.txt": "b.txt",
  });
});

/** Downloads a ZIP archive; returns the texts of its files by their names. */
async function readArchive(path: string): Promise<Record<string, string>> {
  const answer = await fetch(daemon.url + path, { headers: { "X-Forwarded-For": "203.0.113.1" } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/zip");
  const zip = await fromBufferPromise(Buffer.from(await answer.arrayBuffer()));
  const files: Record<string, string> = {};
  for await (const entry of zip.eachEntry())
    files[entry.fileName] = await text(await zip.openReadStreamPromise(entry));
  return files;
}

test("a deactivated owner's links end at once", async () => {
  const owner = await signedIn();
  const link = await linkTo(owner, { document_id: await upload(owner, "x") });
  const admin = createPerson(daemon, "keeper", "198.51.100.250");
  const signIn = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
    headers: { "User-Agent": "croft-test" },
  });
  admin.accessToken = signIn.json.access_token;
  const me = await owner.request("/api/auth/me");
  const path = `/api/admin/users/${me.json.id}/status`;
  await admin.request(path, { method: "PATCH", json: { is_active: false } });
  expect(await visit(`${link.path}/download`)).toMatchObject({ status: 404 });
  const audit = await admin.request(
    `/api/admin/audit?user_handle=${me.json.handle}&event_type=share`,
  );
  expect(audit.json.items.map((item: { event_type: string }) => item.event_type)).toEqual([
    "share.link_created",
  ]);
});

test("every address of a link asks for its password, and says when the link has ended", async () => {
  const person = await signedIn();
  const document = await upload(person, "text");
  const form = () => ({ method: "POST", body: passwordForm("another") });
  const opening = async (limits: object) => {
    const download = await linkTo(person, { kind: "download", document_id: document, ...limits });
    const received = await linkTo(person, { kind: "upload", ...limits });
    return async () => {
      const answers = await Promise.all([
        visit(download.path),
        visit(download.path, form()),
        visit(`${download.path}/download`),
        visit(`${download.path}/preview`),
        visit(received.path),
        visit(`${received.path}/unlock`, form()),
        visit(received.path, { method: "POST", body: files(["one.txt", "one"]) }),
      ]);
      return [...new Set(answers.map(({ status }) => status))];
    };
  };
  const openLocked = await opening({ password: "long enough words" });
  expect(await openLocked()).toEqual([403]);
  const openEnded = await opening({ expires_at: new Date(now + DAY_MS).toISOString() });
  now += 2 * DAY_MS;
  expect(await openEnded()).toEqual([410]);
});
