import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

const BASE = "/api/shares/invitations";
const PASSWORD = "Correct-Horse-7-Battery";
const DAY_MS = 24 * 3600 * 1000;

let daemon: TestDaemon;
let mira: VaultPerson;
let otto: VaultPerson;
let documentId: string;
let now = Date.UTC(2026, 10, 20, 9, 30);

beforeAll(async () => {
  daemon = await startTestDaemon({
    clock: () => now,
    env: { CROFT_RATE_LIMITS: "off", CROFT_VAULT_INVITATIONS: "users" },
  });
  mira = createPerson(daemon, "mira", "198.51.100.1");
  otto = createPerson(daemon, "otto", "198.51.100.2");
  for (const person of [mira, otto]) {
    await person.register();
    await person.signIn();
  }
  documentId = await upload("report.txt");
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function upload(name: string): Promise<string> {
  const body = new FormData();
  body.set("file", new File(["words"], name, { type: "text/plain" }));
  return (await mira.request("/api/documents/upload", { method: "POST", body })).json.id as string;
}

const invite = (email: string, more: object = {}) =>
  mira.request(BASE, { json: { document_id: documentId, recipient_email: email, ...more } });

const accept = (secret: string, handle: string, password = PASSWORD) =>
  daemon.request(`${BASE}/accept`, { json: { secret, handle, password } });

/** The secret in the newest mail to an address. */
async function secretFor(email: string): Promise<string> {
  let found: string | undefined;
  await expect
    .poll(async () => {
      const folder = join(daemon.home, "outbox");
      const names = await readdir(folder).catch(() => []);
      const mails = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
      const mine = mails.filter((text) => text.includes(`To: ${email}`));
      found = mine
        .map((text) => /\/vault\/join\/([\w-]{32})/.exec(text.replaceAll("=\r\n", ""))?.[1])
        .at(-1);
      return found;
    })
    .toBeDefined();
  return found ?? "";
}

const page = (path: string) => daemon.request(path);

test("a share with an address becomes its recipient's with the account that the mail leads to", async () => {
  const sent = await invite("ada@example.org", { permission: "download" });
  expect([sent.status, sent.json.recipient_email, sent.json.permission]).toEqual([
    201,
    "ada@example.org",
    "download",
  ]);
  expect((await invite("ada@example.org")).status).toBe(409);
  const secret = await secretFor("ada@example.org");
  const shown = await page(`/vault/join/${secret}`);
  expect([shown.status, shown.text.includes("report.txt")]).toEqual([200, true]);
  expect((await accept(secret, "ada", "short")).status).toBe(422);
  expect((await accept(secret, "mira")).status).toBe(409);
  const accepted = await accept(secret, "ada");
  expect([accepted.status, accepted.json]).toEqual([201, { handle: "ada", shares: 1 }]);
  expect((await accept(secret, "ada2")).status).toBe(404);
  expect((await page(`/vault/join/${secret}`)).status).toBe(410);

  const ada = createPerson(daemon, "ada", "198.51.100.3");
  const signedIn = await daemon.request("/api/auth/login", {
    json: { email: "ada@example.org", password: PASSWORD },
    headers: { "User-Agent": "croft-test", "X-Forwarded-For": "198.51.100.3" },
  });
  ada.accessToken = signedIn.json.access_token as string;
  const received = (await ada.request("/api/shares/received")).json;
  expect(received.items).toMatchObject([
    { document_id: documentId, owner_handle: "mira", permission: "download" },
  ]);
  expect((await mira.request(BASE)).json.total).toBe(0);
});

test("the sender cannot tell an address with an account from one without, and only that account claims it", async () => {
  const known = await invite("otto@example.org");
  const unknown = await invite("nobody@example.org");
  const shapeOf = ({ status, json }: typeof known) => [status, Object.keys(json as object)];
  expect(shapeOf(known)).toEqual(shapeOf(unknown));
  expect((await mira.request(BASE)).json.total).toBe(2);
  const secret = await secretFor("otto@example.org");
  expect((await mira.request(`${BASE}/claim`, { json: { secret } })).status).toBe(404);
  expect((await accept(secret, "otto-again")).status).toBe(409);
  const claimed = await otto.request(`${BASE}/claim`, { json: { secret } });
  expect([claimed.status, claimed.json]).toEqual([200, { handle: "otto", shares: 1 }]);
  expect((await otto.request("/api/shares/received")).json.total).toBe(1);
});

test("a revoked or expired invitation gives nothing, and only its sender revokes it", async () => {
  const { json } = await invite("late@example.org");
  const secret = await secretFor("late@example.org");
  const revoke = (person: VaultPerson) =>
    person.request(`${BASE}/${json.id}`, { method: "DELETE" });
  expect((await revoke(otto)).status).toBe(404);
  expect((await revoke(mira)).status).toBe(204);
  expect((await accept(secret, "late")).status).toBe(404);

  await invite("slow@example.org");
  const slow = await secretFor("slow@example.org");
  now += 14 * DAY_MS + 1;
  expect((await accept(slow, "slow")).status).toBe(404);
  await mira.signIn();
  expect((await invite("slow@example.org")).status).toBe(201);
});

test("nobody invites with another person's document or to their own address, and anonymous callers do not", async () => {
  await otto.signIn();
  const json = { document_id: documentId, recipient_email: "eve@example.org" };
  expect((await otto.request(BASE, { json })).status).toBe(404);
  expect((await daemon.request(BASE, { json })).status).toBe(401);
  expect((await invite("mira@example.org")).status).toBe(422);
  expect((await invite("no address")).status).toBe(422);
});

test("users do not invite unless the administrator of the server allows it", async () => {
  await using other = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  const person = createPerson(other, "mira", "198.51.100.1");
  await person.register();
  await person.signIn();
  const json = {
    document_id: "0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8",
    recipient_email: "a@example.org",
  };
  const refused = await person.request(BASE, { json });
  expect([refused.status, String(refused.json.detail)]).toEqual([
    403,
    expect.stringContaining("administrators"),
  ]);
});
