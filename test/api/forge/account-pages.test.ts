import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createPageVisitor, type PageVisitor } from "../../support/forge/page-visitor.ts";
import { toPng } from "../../support/png.ts";

let daemon: TestDaemon;
let visit: (name: string, password: string) => Promise<PageVisitor>;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto"]) await people.newUser(name);
  visit = createPageVisitor(() => daemon);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const page = "/user/settings/sessions";
const idsIn = (text: string) =>
  [...text.matchAll(/name="id" value="([0-9a-f]{64})"/g)].map(([, id = ""]) => id);
const isSignedIn = async ({ get }: PageVisitor) => (await get("/mira")).text.includes("Sign out");

test("a person sees the sessions with their browsers and ends one, all others, and none of another person", async () => {
  const otto = await visit("otto", "user-password");
  const [first, second, third] = [
    await visit("mira", "user-password"),
    await visit("mira", "user-password"),
    await visit("mira", "user-password"),
  ];
  const shown = (await first.get(page)).text;
  expect(shown.match(/this browser/g)).toHaveLength(1);
  expect(shown).toContain("127.0.0.1");
  const ids = idsIn(shown);
  expect(ids).toHaveLength(2);
  expect(idsIn((await otto.get(page)).text)).toEqual([]);

  // The id of a session of another person ends nothing.
  expect((await otto.send(page, { action: "end", id: ids[0] ?? "" })).status).toBe(303);
  for (const visitor of [first, second, third]) expect(await isSignedIn(visitor)).toBe(true);
  expect((await first.send(page, { action: "end", id: ids[0] ?? "" })).to).toBe(page);
  const left = [await isSignedIn(second), await isSignedIn(third)];
  expect(left.toSorted()).toEqual([false, true]);
  expect((await first.send(page, { action: "end_others" })).to).toBe(page);
  expect([await isSignedIn(first), await isSignedIn(second), await isSignedIn(third)]).toEqual([
    true,
    false,
    false,
  ]);
  expect(await isSignedIn(otto)).toBe(true);
  const anonymous = await fetch(`${daemon.url}${page}`, { redirect: "manual" });
  expect(anonymous.status).toBe(303);
});

test("the pictures of an account, an organization and a repository are uploaded and removed", async () => {
  const mira = await visit("mira", "user-password");
  const otto = await visit("otto", "user-password");
  const repo = await people.newRepository("mira");
  await by("mira", "POST", "/orgs", { username: "works" });
  const places = [
    ["/user/settings/avatar", "/user"],
    ["/org/works/settings/avatar", "/orgs/works"],
    [`/mira/${repo}/settings/avatar`, `/repos/mira/${repo}`],
  ] as const;
  for (const [path, operation] of places) {
    const addressOf = async () => (await by("mira", "GET", operation)).json.avatar_url;
    const before = await addressOf();
    expect((await mira.upload(path, { action: "set" }, toPng(8, 8))).status).toBe(303);
    const after: string = await addressOf();
    expect(after).not.toBe(before);
    expect((await mira.get(path)).text).toContain(`src="${new URL(after).pathname}"`);
    const refused = await mira.upload(path, { action: "set" }, Buffer.from("<svg/>"));
    expect(refused.status).toBe(422);
    const large = await mira.upload(path, { action: "set" }, Buffer.alloc(1024 * 1024 + 1));
    expect([large.status, large.text.includes("larger than 1 MiB")]).toEqual([422, true]);
    if (path !== places[0][0])
      expect((await otto.upload(path, { action: "set" }, toPng(8, 8))).status).not.toBe(303);
    expect(await addressOf()).toBe(after);
    expect((await mira.send(path, { action: "delete" })).to).toBe(path);
    expect(await addressOf()).not.toBe(after);
  }
});

test("the chosen appearance is that of every page of the person", async () => {
  const mira = await visit("mira", "user-password");
  expect((await mira.get("/mira")).text).not.toContain("data-theme");
  const profile = { action: "update", email_notifications: "enabled", theme: "dark" };
  expect((await mira.send("/user/settings", profile)).status).toBe(303);
  expect((await mira.get("/mira")).text).toContain('<html lang="en" data-theme="dark">');
  await by("mira", "PATCH", "/user/settings", { theme: '"><script>' });
  expect((await mira.get("/mira")).text).not.toContain("data-theme");
});

test("a person with too many wrong passwords is told when to try again", async () => {
  await using limited = await startTestDaemon();
  const keeper = await createPageVisitor(() => limited)("keeper", limited.first?.password ?? "");
  const next = "another-password-1";
  const change = () =>
    keeper.send("/user/settings/change_password", {
      current: "wrong",
      password: next,
      retype: next,
    });
  for (let round = 0; round < 10; round += 1) {
    const wrong = await change();
    expect([wrong.status, wrong.headers.get("retry-after")]).toEqual([422, null]);
  }
  const refused = await change();
  expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
  expect(refused.text).toContain("Change your password");

  const answers: Response[] = [];
  // Ten are checked.
  for (let round = 0; round < 11; round += 1)
    answers.push(
      await fetch(`${limited.url}/user/login`, {
        method: "POST",
        body: new URLSearchParams({ user_name: "keeper", password: "wrong" }),
        headers: { origin: limited.url },
      }),
    );
  expect(answers[0]?.headers.get("retry-after")).toBeNull();
  const last = answers.at(-1);
  expect([last?.status, Number(last?.headers.get("retry-after")) > 0]).toEqual([429, true]);
});
