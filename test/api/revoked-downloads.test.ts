import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { createPerson } from "../support/vault/vault-person.ts";

// Downloads that are under way when their credentials are revoked: these are completed, and the next request is refused.

/** More than the buffers of a connection hold. */
const SIZE = 24_000_000;
let daemon: TestDaemon;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Begins a download, revokes its credentials while it waits, and reads the rest. Returns the bytes that arrived. */
async function downloadAcross(
  path: string,
  authorization: string,
  revoke: () => Promise<unknown>,
): Promise<number> {
  const request = get(`${daemon.url}${path}`, {
    headers: { Authorization: authorization, "User-Agent": "croft-test", "Accept-Language": "*" },
  });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  await revoke();
  expect(response.complete).toBe(false);
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).byteLength;
  return bytes;
}

test("a package whose token is revoked during its download arrives whole, and the next request is refused", async () => {
  const mira = await people.newUser("mira", { visibility: "private" });
  const path = "/api/packages/mira/generic/pack/1/file";
  const stored = { method: "PUT", token: people.tokenOf(mira), body: Buffer.alloc(SIZE, 7) };
  expect((await daemon.request(path, stored)).status).toBe(201);
  const token = await people.newToken(mira, ["read:package"], "reader");
  const next = async () => (await daemon.request(path, { token })).status;
  const bytes = await downloadAcross(path, `token ${token}`, async () => {
    await daemon.request("/api/v1/users/mira/tokens/reader", {
      method: "DELETE",
      basic: "mira:user-password",
    });
    expect(await next()).toBe(401);
  });
  expect(bytes).toBe(SIZE);
  expect(await next()).toBe(401);
});

test("a document arrives whole, and the next request is refused, when its share or session ends during the download", async () => {
  const [owner, recipient] = ["owner", "recipient"].map((name, index) =>
    createPerson(daemon, name, `198.51.100.${index + 1}`),
  );
  if (owner === undefined || recipient === undefined) throw new Error("two people");
  for (const person of [owner, recipient]) {
    await person.register();
    expect((await person.signIn()).status).toBe(200);
  }
  const form = new FormData();
  form.set("file", new File([Buffer.alloc(SIZE, 7)], "large.bin"));
  const { json } = await owner.request("/api/documents/upload", { method: "POST", body: form });
  const path = `/api/documents/${json.id}/content`;
  const shared = await owner.request("/api/shares", {
    json: { document_id: json.id, recipient_handle: recipient.handle, permission: "download" },
  });
  expect(shared.status, shared.text).toBe(201);
  const next = async (person: typeof owner) => (await person.request(path)).status;

  const bytes = await downloadAcross(path, `Bearer ${recipient.accessToken}`, async () => {
    await owner.request(`/api/shares/${shared.json.id}`, { method: "DELETE" });
    expect(await next(recipient)).toBe(404);
  });
  expect(bytes).toBe(SIZE);
  const own = await downloadAcross(path, `Bearer ${owner.accessToken}`, async () => {
    await owner.request("/api/auth/logout-all", { method: "POST" });
    expect(await next(owner)).toBe(401);
  });
  expect(own).toBe(SIZE);
});

test("a document that is deleted during its download arrives whole, and the next request does not find it", async () => {
  const owner = createPerson(daemon, "deleter", "198.51.100.3");
  await owner.register();
  expect((await owner.signIn()).status).toBe(200);
  const form = new FormData();
  form.set("file", new File([Buffer.alloc(SIZE, 7)], "large.bin"));
  const { json } = await owner.request("/api/documents/upload", { method: "POST", body: form });
  const path = `/api/documents/${json.id}`;
  const bytes = await downloadAcross(`${path}/content`, `Bearer ${owner.accessToken}`, async () => {
    expect((await owner.request(path, { method: "DELETE" })).status).toBe(200);
    expect((await owner.request(`${path}/content`)).status).toBe(404);
  });
  expect(bytes).toBe(SIZE);
  expect((await owner.request("/api/auth/me/quota")).json.used_bytes).toBe(0);
});
