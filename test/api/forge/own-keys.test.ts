import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startForgeApp, type ForgeApp } from "../../support/forge/forge-app.ts";

const keys = "/api/v1/user/keys";
const orgs = "/api/v1/user/orgs";
let app: ForgeApp;
let mira: string;
let nora: string;

beforeAll(async () => {
  app = await startForgeApp();
  for (const username of ["mira", "nora"]) await app.addUser({ username });
  mira = await app.tokenOf("mira");
  nora = await app.tokenOf("nora");
});
afterAll(() => app[Symbol.asyncDispose]());

/** A fresh ed25519 key as OpenSSH writes it. */
function newKey(): string {
  const { publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const part = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const blob = Buffer.concat([part(Buffer.from("ssh-ed25519")), part(raw)]);
  return `ssh-ed25519 ${blob.toString("base64")} mira@laptop`;
}

test("a user adds, finds and deletes their own keys only", async () => {
  const key = newKey();
  const made = await app.request(keys, { token: mira, json: { title: "laptop", key } });
  expect(made).toMatchObject({
    status: 201,
    json: { title: "laptop", key, key_type: "user", user: { login: "mira" } },
  });
  const again = await app.request(keys, { token: nora, json: { title: "other", key } });
  expect(again.status).toBe(422);
  await app.request(keys, { token: mira, json: { title: "desk", key: newKey() } });
  const listed = await app.request(`${keys}?limit=1`, { token: mira });
  expect(listed.json).toMatchObject([{ title: "laptop" }]);
  expect(listed.headers.get("x-total-count")).toBe("2");
  const { id, fingerprint } = made.json;
  const found = await app.request(`${keys}?fingerprint=${encodeURIComponent(fingerprint)}`, {
    token: mira,
  });
  expect(found.json).toMatchObject([{ id }]);
  expect((await app.request(keys, { token: nora })).json).toEqual([]);
  for (const method of ["GET", "DELETE"]) {
    expect((await app.request(`${keys}/${id}`, { token: nora, method })).status).toBe(404);
    expect((await app.request(`${keys}/999`, { token: mira, method })).status).toBe(404);
  }
  // Administrators have their own route for others' keys.
  expect((await app.request(`${keys}/${id}`, { token: app.token })).status).toBe(404);
  expect((await app.request(`${keys}/${id}`, { token: mira })).json.id).toBe(id);
  expect((await app.request(`${keys}/${id}`, { token: mira, method: "DELETE" })).status).toBe(204);
  expect((await app.request(`${keys}/${id}`, { token: mira })).status).toBe(404);
});

test("a user sees their own organizations, and with a public-only token the public ones", async () => {
  for (const [username, visibility] of [
    ["zoo", "private"],
    ["arc", "public"],
  ])
    await app.request("/api/v1/admin/users/mira/orgs", {
      token: app.token,
      json: { username, visibility },
    });
  const names = async (token: string) =>
    (await app.request(orgs, { token })).json.map((org: { name: string }) => org.name);
  expect(await names(mira)).toEqual(["arc", "zoo"]);
  expect(await names(nora)).toEqual([]);
  expect(await names(await app.tokenOf("mira", ["public-only", "read:organization"]))).toEqual([
    "arc",
  ]);
});
