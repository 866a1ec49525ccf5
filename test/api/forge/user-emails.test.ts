import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const username of ["mira", "nora"]) await people.newUser(username);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const list = async () => (await by("mira", "GET", "/user/emails")).json;
const add = (emails: unknown, token = people.tokenOf("mira")) =>
  api("POST", "/user/emails", { emails }, token);
const remove = (emails: readonly string[]) => by("mira", "DELETE", "/user/emails", { emails });

test("addresses are added and removed, except the primary one", async () => {
  const [primary] = await list();
  expect(primary).toMatchObject({ email: "mira@example.org", primary: true, verified: true });
  const added = await add(["two@example.org", "Three@example.org"]);
  expect(added.status).toBe(201);
  expectWireShape("Email", added.json);
  expect(added.json).toMatchObject([
    { email: "two@example.org", verified: false, primary: false, username: "mira" },
    { email: "Three@example.org", verified: false, primary: false },
  ]);
  expect((await list()).map(({ email }: { email: string }) => email)).toEqual([
    "mira@example.org",
    "two@example.org",
    "Three@example.org",
  ]);
  const found = await api("GET", "/admin/emails/search?q=three@ex");
  expect(found.json).toMatchObject([{ email: "Three@example.org", username: "mira" }]);
  expect((await remove(["THREE@example.org", "two@example.org"])).status).toBe(204);
  expect(await list()).toHaveLength(1);
  expect((await api("GET", "/admin/emails/search?q=three@ex")).json).toEqual([]);
  const refused = await remove(["mira@example.org"]);
  expect([refused.status, refused.json.message]).toEqual([
    422,
    "the primary e-mail address cannot be deleted [email: mira@example.org]",
  ]);
});

test.each<[string, unknown, string]>([
  [
    "another user's",
    ["fine@example.org", "NORA@example.org"],
    "Email address has been used: NORA@example.org",
  ],
  [
    "the same twice",
    ["x@example.org", "X@example.org"],
    "Email address has been used: X@example.org",
  ],
  [
    "what is not an address",
    ["fine@example.org", "no address"],
    "e-mail address contains unsupported character [email: no address]",
  ],
  ["nothing", [], "Email list empty"],
  ["a text", "x@example.org", "[]: a value has the wrong type, expected array"],
  [
    "too many",
    Array.from({ length: 20 }, (_, index) => `a${index}@example.org`),
    "a user has at most 20 e-mail addresses",
  ],
])("adding %s adds nothing", async (_what, emails, message) => {
  const answer = await add(emails);
  expect(answer.status).toBe(422);
  expect(answer.json.message).toContain(message);
  expect(await list()).toHaveLength(1);
});

test("a user cannot take over another user's e-mail address", async () => {
  const answer = await remove(["nora@example.org"]);
  expect([answer.status, answer.json.message]).toEqual([
    404,
    "Email address does not exist [email: nora@example.org]",
  ]);
});

test("an unverified e-mail address does not sign in, and one that an administrator added does", async () => {
  await add(["claimed@example.org"]);
  const signIn = (email: string) =>
    daemon.request("/api/v1/user", { basic: `${email}:user-password` });
  expect((await signIn("claimed@example.org")).status).toBe(401);
  const sudo = await daemon.request("/api/v1/user/emails", {
    token: people.admin,
    headers: { Sudo: "mira" },
    json: { emails: ["checked@example.org"] },
  });
  expect(sudo.json).toMatchObject([{ verified: true, username: "mira" }]);
  expect((await signIn("checked@example.org")).status).toBe(200);
  await remove(["claimed@example.org", "checked@example.org"]);
  expect((await signIn("checked@example.org")).status).toBe(401);
});

test("an address is free again after its owner is deleted", async () => {
  await api("POST", "/admin/users", {
    username: "passing",
    email: "passing@example.org",
    password: "user-password",
  });
  await api("DELETE", "/admin/users/passing");
  expect((await add(["passing@example.org"])).status).toBe(201);
  expect((await api("GET", "/admin/emails/search?q=passing")).json).toMatchObject([
    { username: "mira" },
  ]);
});
