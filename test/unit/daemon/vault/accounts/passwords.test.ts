import { describe, expect, test } from "vitest";
import { assertStrong } from "../../../../../daemon/vault/accounts/password-rules.ts";
import { setVaultUserActive } from "../../../../../storage/tables/vault/users.ts";
import {
  auditTrail,
  cheapHasher,
  client,
  credentials,
  identify,
  openTestAccounts,
  OTHER_STRONG,
  register,
  signIn,
  STRONG,
  type TestAccounts,
} from "../../../../support/vault/vault-accounts.ts";

describe("the strength of a password", () => {
  test.each([
    ["Abcdefgh-12", "at least 12 characters"],
    ["Abcdefgh-1😀", "at least 12 characters"],
    ["abcdefghi-123", "an upper-case letter"],
    ["ABCDEFGHI-123", "a lower-case letter"],
    ["Abcdefghijkl-", "a digit"],
    ["Abcdefghi1234", "a special character"],
    ["Äbcdéfghi1234", "a special character"],
  ])("the password %s lacks %s", (password, wish) => {
    expect(() => assertStrong(password)).toThrow(`Password must have ${wish}`);
  });

  test.each(["Abcdefgh-123", "Ünïcödé 12 ñ", "Ωmega-ωmega-٣", "Ab1 😀😀😀😀😀😀😀😀", STRONG])(
    "%s is enough",
    (password) => {
      expect(() => assertStrong(password)).not.toThrow();
    },
  );
});

const refused = (code: string, message: string) => ({ code, message });
const breachedText = "This password has appeared in a data breach. Please choose a different one.";

describe("changing the password", () => {
  async function open() {
    const accounts = await openTestAccounts();
    await register(accounts);
    const tokens = await signIn(accounts);
    const caller = await identify(accounts, tokens);
    const change = (current: string, next: string) =>
      accounts.passwords.change(
        caller,
        { current, next },
        client({ refreshToken: tokens.refreshToken }),
      );
    return { accounts, tokens, change };
  }

  test("checks the current one, then the look-up, then the strength", async () => {
    const { accounts, change } = await open();
    accounts.breached.add("weak");
    await expect(change("wrong", "weak")).rejects.toMatchObject(
      refused("invalid_credentials", "Current password is incorrect"),
    );
    await expect(change(STRONG, "weak")).rejects.toMatchObject(
      refused("unprocessable", breachedText),
    );
    accounts.breached.clear();
    await expect(change(STRONG, "weak")).rejects.toMatchObject(
      refused("unprocessable", "Password must have at least 12 characters"),
    );
    await signIn(accounts);
    await accounts.db.close();
  });

  test("leaves the old one useless, records it, and ends the others' sessions", async () => {
    const { accounts, change } = await open();
    await signIn(accounts);
    await signIn(accounts);
    expect(await change(STRONG, OTHER_STRONG)).toBe(2);
    expect((await auditTrail(accounts)).at(-1)).toMatchObject({
      eventType: "auth.password_changed",
      metadata: { sessions_revoked: 2 },
    });
    await expect(accounts.signIn.signIn(credentials(), client())).rejects.toMatchObject({
      code: "invalid_credentials",
    });
    await signIn(accounts, { password: OTHER_STRONG });
    await accounts.db.close();
  });

  test("exactly one of two concurrent password changes succeeds", async () => {
    const { accounts, change } = await open();
    const results = await Promise.allSettled([
      change(STRONG, OTHER_STRONG),
      change(STRONG, `${OTHER_STRONG}!`),
    ]);
    const lost = results.find((result) => result.status === "rejected");
    expect(lost?.reason).toMatchObject({ message: "Current password is incorrect" });
    await accounts.db.close();
  });

  test("changing the password is no way to try passwords: ten checks in 15 minutes, right or wrong", async () => {
    const { accounts, change } = await open();
    for (let attempt = 0; attempt < 10; attempt += 1)
      await expect(change("wrong", OTHER_STRONG)).rejects.toMatchObject({
        code: "invalid_credentials",
      });
    await expect(change(STRONG, OTHER_STRONG)).rejects.toMatchObject({ code: "rate_limited" });
    accounts.now += 900_000;
    await change(STRONG, OTHER_STRONG);
    await accounts.db.close();
  });
});

describe("resetting the password", () => {
  const badLink = refused("invalid_argument", "Invalid or expired reset link");

  async function linkFor(accounts: TestAccounts, email = "mira@example.org"): Promise<string> {
    await accounts.passwords.requestReset(email);
    await accounts.runJobs();
    const text = accounts.mails.at(-1)?.text ?? "";
    return new URL(/https:\S+/.exec(text)?.[0] ?? "").searchParams.get("token") ?? "";
  }

  test("mails a link to the page, once per waiting request, and nothing to strangers", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    await accounts.passwords.requestReset("nobody@example.org");
    await accounts.runJobs();
    expect(accounts.mails).toEqual([]);
    await linkFor(accounts);
    expect(accounts.mails).toMatchObject([{ to: "mira@example.org" }]);
    expect(accounts.mails[0]?.text).toContain(
      "https://vault.example.org/password-reset/confirm?token=",
    );
  });

  test("a reset link works once, ends all sessions and access tokens, and does not sign in", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const tokens = await signIn(accounts);
    const link = await linkFor(accounts);
    expect(await accounts.passwords.isUsable(link)).toBe(true);
    await accounts.passwords.confirmReset(link, OTHER_STRONG, client());
    // The page of the link shows no form any more.
    expect(await accounts.passwords.isUsable(link)).toBe(false);
    expect(await accounts.passwords.isUsable("no token")).toBe(false);
    await expect(identify(accounts, tokens)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(
      accounts.sessions.refresh(client({ refreshToken: tokens.refreshToken })),
    ).rejects.toMatchObject({ message: "Session revoked" });
    await expect(
      accounts.passwords.confirmReset(link, `${OTHER_STRONG}!`, client()),
    ).rejects.toMatchObject(badLink);
    await signIn(accounts, { password: OTHER_STRONG });
    expect((await auditTrail(accounts)).at(-2)).toMatchObject({
      eventType: "auth.password_reset",
      metadata: { sessions_revoked: 1 },
    });
  });

  test("checks the link, then the strength, then the look-up, then the user", async () => {
    await using accounts = await openTestAccounts();
    const user = await register(accounts);
    const link = await linkFor(accounts);
    await accounts.db.transaction((tx) => setVaultUserActive(tx, user.id, false));
    accounts.breached.add(STRONG);
    const confirm = (token: string, next: string) =>
      accounts.passwords.confirmReset(token, next, client());
    await expect(confirm("x", "weak")).rejects.toMatchObject(badLink);
    await expect(confirm(link, "weak")).rejects.toMatchObject({ code: "unprocessable" });
    await expect(confirm(link, STRONG)).rejects.toMatchObject(
      refused("unprocessable", breachedText),
    );
    await expect(confirm(link, OTHER_STRONG)).rejects.toMatchObject(badLink);
    await accounts.db.run("DELETE FROM vault_users");
    await expect(confirm(link, "weak")).rejects.toMatchObject({ code: "unprocessable" });
    await expect(confirm(link, OTHER_STRONG)).rejects.toMatchObject(badLink);
  });

  test("exactly one of two concurrent uses of a reset link succeeds", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const link = await linkFor(accounts);
    const results = await Promise.allSettled(
      [OTHER_STRONG, `${OTHER_STRONG}!`].map((next) =>
        accounts.passwords.confirmReset(link, next, client()),
      ),
    );
    const lost = results.filter((result) => result.status === "rejected");
    expect(lost.map(({ reason }) => reason)).toMatchObject([badLink]);
  });

  test("refuses links that ran out, of changed passwords, of other keys and of other kinds", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const link = await linkFor(accounts);
    const { accessToken } = await signIn(accounts);
    const confirm = (token: string) =>
      accounts.passwords.confirmReset(token, OTHER_STRONG, client());
    for (const token of [accessToken, "", `${link}x`, link.replace(/^[^.]*/, "e30")])
      await expect(confirm(token)).rejects.toMatchObject(badLink);
    await using elsewhere = await openTestAccounts({
      db: accounts.db,
      keys: { ...accounts.deps.keys, deriveAll: () => [new Uint8Array(32).fill(9)] },
    });
    await expect(confirm(await linkFor(elsewhere))).rejects.toMatchObject(badLink);
    accounts.now += 3_600_000;
    await expect(confirm(link)).rejects.toMatchObject(badLink);
    const fresh = await linkFor(accounts);
    await accounts.db.run("UPDATE vault_users SET password_hash = 'another'");
    await expect(confirm(fresh)).rejects.toMatchObject(badLink);
  });

  test("admits users again who had to change their password", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    await accounts.db.run("UPDATE vault_users SET password_must_change = 1");
    await accounts.passwords.confirmReset(await linkFor(accounts), OTHER_STRONG, client());
    await signIn(accounts, { password: OTHER_STRONG });
  });
});

test("a password is the same however its accents were composed, because requests are normalised", async () => {
  const { password } = await import("../../../../../daemon/contract/vault/common.ts");
  expect(password.parse("Café-Café-123".normalize("NFD"))).toBe("Café-Café-123".normalize("NFC"));
  expect(password.safeParse("ä".repeat(512)).success).toBe(true);
  expect(password.safeParse("ä".repeat(513)).success).toBe(false);
  expect(password.safeParse("broken \ud800").success).toBe(false);
  expect((await cheapHasher.verify(await cheapHasher.hash("x"), "x")).fits).toBe(true);
});
