import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { startDavStandIn } from "../../stand-ins/dav-server.ts";
import { davUser } from "../../support/cloud/dav-servers.ts";
import { type FaultProxy, startFaultProxy } from "../../support/cloud/fault-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let server: Awaited<ReturnType<typeof startDavStandIn>>;
let proxy: FaultProxy;
let daemon: TestDaemon;
let person: VaultPerson;
let administrator: VaultPerson;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  administrator = createPerson(daemon, "keeper", "198.51.100.250");
  const answer = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
    headers: { "User-Agent": "croft-test" },
  });
  administrator.accessToken = answer.json.access_token;
});
afterAll(() => daemon[Symbol.asyncDispose]());

let people = 0;
beforeEach(async () => {
  server = await startDavStandIn(davUser);
  proxy = await startFaultProxy({ target: server.origin });
  people += 1;
  person = createPerson(daemon, `mira-${people}`, `192.0.2.${people}`);
  await person.register();
  await person.signIn();
  const connected = await person.request("/api/cloud/connections", {
    json: {
      provider: "webdav",
      display_name: "Files",
      settings: { url: `${proxy.origin}/dav`, username: davUser.username },
      credentials: { password: davUser.password },
    },
  });
  expect(connected).toMatchObject({ status: 201 });
  const chosen = await person.request("/api/auth/me/default-storage", {
    method: "PATCH",
    json: { backend: "webdav" },
  });
  expect(chosen).toMatchObject({ status: 200 });
});
afterEach(async () => {
  proxy.faults.clear();
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

function upload(content: string) {
  const body = new FormData();
  body.set("file", new File([content], "note.txt", { type: "text/plain" }));
  return person.request("/api/documents/upload", { method: "POST", body });
}

const view = async (id: string) => (await person.request(`/api/documents/${id}`)).json;

async function findJob(documentId: string) {
  const { json } = await administrator.request(
    "/api/admin/jobs?kind=vault.documents.process&per_page=100",
  );
  return json.items.find((job: { document_id: string }) => job.document_id === documentId);
}

test("an upload to a full storage answers 502, keeps no document, and succeeds once space is free", async () => {
  proxy.faults.fill(0);
  const refused = await upload("no room");
  expect(refused).toMatchObject({
    status: 502,
    json: { detail: "The connected storage is full." },
  });
  expect((await person.request("/api/documents")).json.total).toBe(0);
  proxy.faults.clear();
  expect(await upload("room")).toMatchObject({ status: 201 });
});

test("each way to send a document to a full storage answers 502, and keeps what was there", async () => {
  const { id, sha256 } = (await upload("before")).json;
  const bytes = "after";
  const promise = { filename: "sent.txt", content_type: "text/plain", size_bytes: bytes.length };
  const promised = (await person.request("/api/documents/upload-url", { json: promise })).json;
  const { pathname } = new URL(promised.upload_url);
  const put = { method: "PUT", body: bytes, headers: promised.headers };
  expect((await daemon.request(pathname, put)).status).toBe(204);
  const part = { filename: "parts.txt", size: bytes.length, fingerprint: "one" };
  const begun = (await person.request("/api/documents/upload-sessions", { json: part })).json;
  const session = `/api/documents/upload-sessions/${begun.upload_id}`;
  const headers = { "Upload-Offset": "0", "Content-Type": "application/octet-stream" };
  expect((await person.request(session, { method: "PATCH", body: bytes, headers })).status).toBe(
    200,
  );
  proxy.faults.fill(0);
  const whole = createHash("sha256").update(bytes).digest("hex");
  const answers = [
    await person.request(`/api/documents/${promised.document_id}/confirm`, { method: "POST" }),
    await person.request(`${session}/complete`, { json: { sha256: whole } }),
    await person.request(`/api/documents/${id}/content`, {
      method: "PUT",
      body: bytes,
      headers: { "If-Match": `"${sha256}"`, "Content-Type": "text/plain" },
    }),
  ];
  expect(answers.map(({ status, json }) => [status, json.detail])).toEqual(
    answers.map(() => [502, "The connected storage is full."]),
  );
  proxy.faults.clear();
  expect((await person.request(`/api/documents/${id}/content`)).text).toBe("before");
});

test("an upload to a storage that is away answers 503 and keeps no document", async () => {
  proxy.faults.refuse();
  const refused = await upload("away");
  expect(refused).toMatchObject({ status: 503 });
  expect(refused.json.detail).toContain("Try again later");
  expect(refused.text).not.toContain(proxy.origin);
  proxy.faults.clear();
  expect((await person.request("/api/documents")).json.total).toBe(0);
});

test.each([403, 500])(
  "a deletion that the provider answers with %i keeps the document, and works later",
  async (status) => {
    const { id } = (await upload("kept")).json;
    await vi.waitUntil(async () => (await view(id)).status === "ready", { timeout: 60_000 });
    proxy.answerNext(({ method }) => method === "DELETE", status, {}, "secret words");
    const answer = await person.request(`/api/documents/${id}`, { method: "DELETE" });
    expect(answer).toMatchObject({
      status: 200,
      json: { success: false, cloud_delete_failed: true },
    });
    expect(answer.text).not.toContain("secret words");
    expect(await view(id)).toMatchObject({ id, status: "ready" });
    proxy.faults.clear();
    const again = await person.request(`/api/documents/${id}`, { method: "DELETE" });
    expect(again).toMatchObject({ status: 200, json: { success: true } });
  },
);

test("a document whose storage is away while it is read waits as a job with the reason, and a retry reads it", async () => {
  // Without a byte cache each reading asks the provider.
  const uncached = await person.request("/api/cloud/analysis-settings", {
    method: "PATCH",
    json: { byte_cache_limit_bytes: 0 },
  });
  expect(uncached).toMatchObject({ status: 200 });
  const { id } = (await upload("read me")).json;
  await vi.waitUntil(async () => (await view(id)).status === "ready", { timeout: 60_000 });
  proxy.faults.refuse();
  await person.request(`/api/documents/${id}/classify`, { method: "POST" });
  const job = await vi.waitUntil(
    async () => {
      const found = await findJob(id);
      return found?.last_error == null ? undefined : found;
    },
    { timeout: 60_000, interval: 50 },
  );
  expect(job).toMatchObject({ state: "waiting", attempts: 1 });
  expect(job.last_error).toContain("the provider did not give the bytes");
  expect((await view(id)).status).toBe("processing");
  proxy.faults.clear();
  const path = `/api/admin/jobs/${job.id}/retry`;
  expect(await administrator.request(path, { method: "POST" })).toMatchObject({ status: 200 });
  await vi.waitUntil(async () => (await view(id)).status === "ready", { timeout: 60_000 });
});
