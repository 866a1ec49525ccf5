import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createPasswordRules } from "../../../daemon/forge/accounts/password-rules.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

const MINUTE = 60_000;
const NEXT = "another-password";

let daemon: TestDaemon;
let now = Date.now();
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ clock: () => now });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Each request comes from another client unless a test is about its limit. */
let clients = 0;
const nextClient = () => `203.0.113.${(clients += 1) % 250}`;
const post = (path: string, json: unknown, client = nextClient()) =>
  daemon.request(`/api/v1/user/password/${path}`, {
    method: "POST",
    json,
    headers: { "X-Forwarded-For": client },
  });

/** The tokens of all mails to a user, in the order in which they were sent. */
async function mailedTokens(user: string): Promise<string[]> {
  const outbox = join(daemon.home, "outbox");
  const names = await readdir(outbox).catch(() => []);
  const mails = await Promise.all(
    names.toSorted().map((name) => readFile(join(outbox, name), "utf8")),
  );
  return mails
    .map((mail) => mail.replaceAll("=\r\n", "").replaceAll("=3D", "="))
    .filter((mail) => mail.includes(`To: ${user}@example.org`))
    .flatMap((mail) => /\/user\/recover_account\?code=([\w-]+)/.exec(mail)?.[1] ?? []);
}

/** Returns the token of the newest mail once `count` mails have arrived; a job sends them after the request. */
const mailedToken = (user: string, count = 1) =>
  vi.waitFor(
    async () => {
      const tokens = await mailedTokens(user);
      expect(tokens).toHaveLength(count);
      return tokens.at(-1) ?? "";
    },
    { timeout: 60_000, interval: 20 },
  );

const signIn = (user: string, password: string) =>
  daemon.request("/api/v1/user", { basic: `${user}:${password}` });

describe("a forgotten password", () => {
  test("gets another link when the clock was a year ahead while the first one was mailed", async () => {
    const early = await people.newUser();
    now += 365 * 24 * 60 * MINUTE;
    await post("reset", { email: `${early}@example.org` });
    const first = await mailedToken(early);
    now -= 365 * 24 * 60 * MINUTE;
    await post("reset", { email: `${early}@example.org` });
    await mailedToken(early, 2);
    const token = (await mailedTokens(early)).find((each) => each !== first) ?? "";
    expect((await post("reset/confirm", { token: first, new_password: NEXT })).status).toBe(400);
    expect((await post("reset/confirm", { token, new_password: NEXT })).status).toBe(204);
  });

  test("a mailed link sets another password once, ends sessions and keeps tokens", async () => {
    const mira = await people.newUser();
    expect((await post("reset", { email: `${mira.toUpperCase()}@example.org` })).status).toBe(204);
    const token = await mailedToken(mira);
    expect((await signIn(mira, "user-password")).status).toBe(200);
    const weak = await post("reset/confirm", { token, new_password: "short" });
    expect(weak).toMatchObject({ status: 422 });
    expect(weak.json.message).toContain("at least 8 characters");
    expect((await post("reset/confirm", { token, new_password: NEXT })).status).toBe(204);
    expect((await signIn(mira, "user-password")).status).toBe(401);
    expect((await signIn(mira, NEXT)).status).toBe(200);
    expect((await people.by(mira, "GET", "/user")).status).toBe(200);
    const again = await post("reset/confirm", { token, new_password: "third-password" });
    expect(again).toMatchObject({
      status: 400,
      json: { message: "the link is invalid, expired or used" },
    });
  });

  test("unknown, unverified and hidden accounts get the same answer and no mail", async () => {
    const [known, off, other] = [
      await people.newUser(),
      await people.newUser(),
      await people.newUser(),
    ];
    await people.api("PATCH", `/admin/users/${off}`, { login_name: off, prohibit_login: true });
    await people.by(other, "POST", "/user/emails", { emails: ["unproved@example.org"] });
    const addresses = ["nobody@example.org", "unproved@example.org", `${off}@example.org`];
    const answers = await Promise.all(addresses.map((email) => post("reset", { email })));
    const expected = await post("reset", { email: `${known}@example.org` });
    for (const { status, text } of answers)
      expect({ status, text }).toEqual({ status: expected.status, text: expected.text });
    await mailedToken(known);
    for (const user of ["nobody", "unproved", off, other])
      expect(await mailedTokens(user)).toEqual([]);
  });

  test("a reset link expires after an hour, after a newer one, and after a changed password", async () => {
    const mira = await people.newUser();
    const ask = () => post("reset", { email: `${mira}@example.org` });
    await ask();
    const first = await mailedToken(mira);
    now += 4 * MINUTE;
    await ask();
    const second = await mailedToken(mira, 2);
    const use = (token: string) => post("reset/confirm", { token, new_password: NEXT });
    expect((await use(first)).status).toBe(400);
    now += 60 * MINUTE;
    expect((await use(second)).status).toBe(400);
    await ask();
    const third = await mailedToken(mira, 3);
    const change = { current_password: "user-password", new_password: "third-password" };
    const changed = await daemon.request("/api/v1/user/password", {
      basic: `${mira}:user-password`,
      json: change,
    });
    expect(changed.status).toBe(204);
    expect((await use(third)).status).toBe(400);
    expect((await signIn(mira, "third-password")).status).toBe(200);
  });

  test("attack: a link that was mailed to a former address is used after the address changed", async () => {
    const mira = await people.newUser();
    await post("reset", { email: `${mira}@example.org` });
    const token = await mailedToken(mira);
    const email = `${mira}-new@example.org`;
    const changed = await people.api("PATCH", `/admin/users/${mira}`, {
      source_id: 0,
      login_name: mira,
      email,
    });
    expect(changed.status, changed.text).toBe(200);
    expect((await post("reset/confirm", { token, new_password: NEXT })).status).toBe(400);
    expect((await signIn(mira, "user-password")).status).toBe(200);
  });

  test("a link that is requested while the address changes does not work for the former address", async () => {
    const [mira, flag] = [await people.newUser(), await people.newUser()];
    const change = { source_id: 0, login_name: mira, email: `${mira}-new@example.org` };
    await Promise.all([
      post("reset", { email: `${mira}@example.org` }),
      people.api("PATCH", `/admin/users/${mira}`, change),
    ]);
    // Jobs of one kind run one after the other: with this mail the earlier request has been handled.
    await post("reset", { email: `${flag}@example.org` });
    await mailedToken(flag);
    for (const token of await mailedTokens(mira))
      expect((await post("reset/confirm", { token, new_password: NEXT })).status).toBe(400);
    expect((await signIn(mira, "user-password")).status).toBe(200);
  });

  test("a link that is used while the address changes works before the change or not at all", async () => {
    for (let round = 0; round < 5; round += 1) {
      const mira = await people.newUser();
      await post("reset", { email: `${mira}@example.org` });
      const token = await mailedToken(mira);
      const confirm = (password: string) =>
        post("reset/confirm", { token, new_password: password });
      const change = { source_id: 0, login_name: mira, email: `${mira}-new@example.org` };
      const [changed, used] = await Promise.all([
        people.api("PATCH", `/admin/users/${mira}`, change),
        confirm(NEXT),
      ]);
      expect(changed.status, changed.text).toBe(200);
      expect([204, 400]).toContain(used.status);
      const [valid, invalid] =
        used.status === 204 ? [NEXT, "user-password"] : ["user-password", NEXT];
      expect((await signIn(mira, valid)).status).toBe(200);
      expect((await signIn(mira, invalid)).status).toBe(401);
      expect((await confirm("third-password")).status).toBe(400);
      const user = await people.api("GET", `/users/${mira}`);
      expect(user.json.email).toBe(change.email);
    }
  });

  test("an account gets at most one reset mail in three minutes", async () => {
    const mira = await people.newUser();
    const flag = await people.newUser();
    await post("reset", { email: `${mira}@example.org` });
    await mailedToken(mira);
    await post("reset", { email: `${mira}@example.org` });
    // Jobs of one kind run one after the other: with this mail the earlier request has been handled.
    await post("reset", { email: `${flag}@example.org` });
    await mailedToken(flag);
    expect(await mailedTokens(mira)).toHaveLength(1);
  });

  test("of concurrent uses of a reset link exactly one succeeds", async () => {
    const mira = await people.newUser();
    await post("reset", { email: `${mira}@example.org` });
    const token = await mailedToken(mira);
    const answers = await Promise.all(
      ["first-password", "second-password"].map((next) =>
        post("reset/confirm", { token, new_password: next }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 400]);
  });

  test("reset requests and guesses of one client are limited", async () => {
    const statuses = async (path: string, json: unknown, client: string) => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => post(path, json, client)));
      return answers.map(({ status }) => status).toSorted();
    };
    const limited = Array<number>(2).fill(429);
    expect(await statuses("reset", { email: "flood@example.org" }, "198.51.100.1")).toEqual([
      ...Array<number>(10).fill(204),
      ...limited,
    ]);
    const guess = { token: "x".repeat(43), new_password: NEXT };
    expect(await statuses("reset/confirm", guess, "198.51.100.2")).toEqual([
      ...Array<number>(10).fill(400),
      ...limited,
    ]);
  });

  test("the pages request a reset link and accept it", async () => {
    const mira = await people.newUser();
    const page = (path: string, form?: Record<string, string>) =>
      daemon.request(path, {
        headers: {
          Accept: "text/html",
          "Sec-Fetch-Site": "same-origin",
          "X-Forwarded-For": nextClient(),
          ...(form && { "Content-Type": "application/x-www-form-urlencoded" }),
        },
        ...(form && { method: "POST", body: new URLSearchParams(form).toString() }),
      });
    expect((await page("/user/login")).text).toContain("/user/forgot_password");
    expect((await page("/user/forgot_password")).text).toContain("E-mail address");
    const asked = await page("/user/forgot_password", { email: `${mira}@example.org` });
    expect(asked.text).toContain("Look into your mail");
    const code = await mailedToken(mira);
    const opened = await page(`/user/recover_account?code=${code}`);
    expect(opened.text).toContain(`value="${code}"`);
    expect(opened.headers.get("referrer-policy")).toBe("same-origin");
    const differing = { code, password: NEXT, retype: "different" };
    expect(await page("/user/recover_account", differing)).toMatchObject({ status: 422 });
    const wrong = { code: "x", password: NEXT, retype: NEXT };
    expect((await page("/user/recover_account", wrong)).text).toContain("the link is invalid");
    const done = await page("/user/recover_account", { code, password: NEXT, retype: NEXT });
    expect(done.text).toContain("Your password has changed");
    expect((await signIn(mira, NEXT)).status).toBe(200);
    expect(daemon.log.some((line) => JSON.stringify(line).includes(code))).toBe(false);
  });
});

describe("rules of passwords", () => {
  const rules = createPasswordRules({
    lengthMin: 10,
    characters: ["lower", "upper", "digit", "spec"],
    breaches: { isBreached: async (password) => password === "Correct-Horse-7" },
  });

  test.each([
    ["Short-7", "length"],
    ["x".repeat(5000), "size"],
    ["UPPER-CASE-7", "characters"],
    ["lower-case-7", "characters"],
    ["No-Digit-Here", "characters"],
    ["NoSpecial7Sign", "characters"],
    ["Correct-Horse-7", "breach"],
    ["Proper-Horse-7", undefined],
    ["Blank Horse 7", undefined],
  ])("the password %s breaks the rule %s", async (password, rule) => {
    expect((await rules.findBroken(password))?.rule).toBe(rule);
  });

  test("the password rules apply to new users, edits and own passwords", async () => {
    await using strict = await startTestDaemon({
      env: {
        CROFT_RATE_LIMITS: "off",
        CROFT_MIN_PASSWORD_LENGTH: "10",
        CROFT_PASSWORD_COMPLEXITY: "upper,digit",
        CROFT_PASSWORD_CHECK_PWN: "on",
        CROFT_BREACH_URL: "off",
      },
    });
    const token = strict.first?.forge.token ?? "";
    const create = (password: string) =>
      strict.request("/api/v1/admin/users", {
        token,
        json: { username: "mira", email: "m@example.org", password, must_change_password: false },
      });
    const messageOf = async (answer: ReturnType<typeof create>) => (await answer).json.message;
    expect(await messageOf(create("Short-7"))).toBe("PasswordIsRequired");
    expect(await messageOf(create("lower-case-7"))).toBe("PasswordComplexity");
    expect((await create("Correct-Horse-7")).status).toBe(201);
    const edit = await strict.request("/api/v1/admin/users/mira", {
      method: "PATCH",
      token,
      json: { login_name: "mira", password: "lower-case-only" },
    });
    expect(edit).toMatchObject({ status: 400, json: { message: "password not complex enough" } });
    const own = await strict.request("/api/v1/user/password", {
      basic: "mira:Correct-Horse-7",
      json: { current_password: "Correct-Horse-7", new_password: "no-digit-NO" },
    });
    expect(own).toMatchObject({
      status: 422,
      json: { message: "the new password must have a digit" },
    });
  });
});
