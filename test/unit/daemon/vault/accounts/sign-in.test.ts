import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { findVaultUser, setVaultUserActive } from "../../../../../storage/tables/vault/users.ts";
import { demandPasswordChange } from "../../../../../storage/tables/vault/users.ts";
import {
  auditTrail,
  cheapHasher,
  client,
  credentials,
  enrol,
  identify,
  openTestAccounts,
  OTHER_STRONG,
  register,
  signIn,
  STRONG,
  totpCode,
} from "../../../../support/vault/vault-accounts.ts";

const wrong = { code: "invalid_credentials", message: "Incorrect email or password" };

describe("signing in, step by step", () => {
  test("1: the eleventh attempt within 15 minutes is refused before any account is looked up", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const begun = accounts.now;
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await signIn(accounts);
      await expect(
        accounts.signIn.signIn(credentials({ password: "wrong" }), client()),
      ).rejects.toMatchObject(wrong);
    }
    const records = (await auditTrail(accounts)).length;
    await expect(accounts.signIn.signIn(credentials(), client())).rejects.toMatchObject({
      code: "rate_limited",
      message: "Too many login attempts. Try again in 15 minutes.",
      data: { retryAfterSeconds: 900, rateLimit: 10 },
    });
    expect(await auditTrail(accounts)).toHaveLength(records);
    accounts.now = begun + 899_999;
    await expect(accounts.signIn.signIn(credentials(), client())).rejects.toMatchObject({
      code: "rate_limited",
    });
    accounts.now = begun + 900_000;
    await signIn(accounts);
  });

  test("1: the counter is of one address, known or not", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const nobody = credentials({ email: "nobody@example.org" });
    for (let attempt = 0; attempt < 10; attempt += 1)
      await expect(accounts.signIn.signIn(nobody, client())).rejects.toMatchObject(wrong);
    await expect(accounts.signIn.signIn(nobody, client())).rejects.toMatchObject({
      code: "rate_limited",
    });
    await signIn(accounts);
  });

  test("2: an unknown address and a wrong password are one answer and one kind of record", async () => {
    await using accounts = await openTestAccounts();
    const user = await register(accounts);
    const attempts = [
      credentials({ password: "wrong" }),
      credentials({ email: "nobody@example.org" }),
    ];
    for (const attempt of attempts)
      await expect(accounts.signIn.signIn(attempt, client())).rejects.toMatchObject(wrong);
    const emailHash = (email: string) => hash("sha256", email, "hex").slice(0, 16);
    expect(await auditTrail(accounts)).toMatchObject([
      {
        eventType: "auth.login_failed",
        userId: user.id,
        actorId: undefined,
        ipAddress: "203.0.113.7",
        metadata: { email_hash: emailHash("mira@example.org") },
      },
      {
        eventType: "auth.login_failed",
        userId: undefined,
        metadata: { email_hash: emailHash("nobody@example.org") },
      },
    ]);
  });

  test("2: the password for an unknown address is checked against a decoy hash", async () => {
    const checked: string[] = [];
    await using accounts = await openTestAccounts({
      hasher: {
        ...cheapHasher,
        verify: (stored, password) => {
          checked.push(stored);
          return cheapHasher.verify(stored, password);
        },
      },
    });
    await register(accounts);
    await expect(
      accounts.signIn.signIn(credentials({ email: "nobody@example.org" }), client()),
    ).rejects.toMatchObject(wrong);
    expect(checked).toEqual([""]);
  });

  test("step 3: the deactivation of an account is reported only with the right password", async () => {
    await using accounts = await openTestAccounts();
    const user = await register(accounts);
    await accounts.db.transaction((tx) => setVaultUserActive(tx, user.id, false));
    await expect(
      accounts.signIn.signIn(credentials({ password: "wrong" }), client()),
    ).rejects.toMatchObject(wrong);
    await expect(accounts.signIn.signIn(credentials(), client())).rejects.toMatchObject({
      code: "invalid_credentials",
      message: "Account deactivated",
    });
  });

  test("4: a user who must change the password gets no tokens, even with a valid code", async () => {
    await using accounts = await openTestAccounts();
    const user = await register(accounts);
    await accounts.db.transaction((tx) => demandPasswordChange(tx, user.id));
    expect(await accounts.signIn.signIn(credentials({ totpCode: "123456" }), client())).toEqual({
      kind: "password_change_required",
      userId: user.id,
    });
  });

  test("5: the second factor is required", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    await enrol(accounts);
    expect(await accounts.signIn.signIn(credentials(), client())).toEqual({
      kind: "totp_required",
      challenge: expect.any(String),
    });
  });

  test("6: the code from the app wins over a backup code", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const { secret, backupCodes } = await enrol(accounts);
    const [backupCode] = backupCodes;
    await expect(
      accounts.signIn.signIn(credentials({ totpCode: "000000", backupCode }), client()),
    ).rejects.toMatchObject({ code: "invalid_credentials", message: "Incorrect code" });
    await signIn(accounts, { totpCode: totpCode(secret, accounts.now), backupCode });
    // It was not touched.
    await signIn(accounts, { backupCode });
  });

  test("7: a backup code signs in once and leaves a record", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const { backupCodes } = await enrol(accounts);
    const [backupCode] = backupCodes;
    await signIn(accounts, { backupCode });
    await expect(
      accounts.signIn.signIn(credentials({ backupCode }), client()),
    ).rejects.toMatchObject({
      code: "invalid_credentials",
      message: "Invalid or already used code",
    });
    expect((await auditTrail(accounts)).slice(-2)).toMatchObject([
      { eventType: "auth.backup_code_used", metadata: {} },
      { eventType: "auth.login", metadata: { totp_used: false } },
    ]);
  });

  test("8: the record states whether a code was used, and the cookie has the requested lifetime", async () => {
    await using accounts = await openTestAccounts();
    const user = await register(accounts);
    expect(await signIn(accounts)).toMatchObject({ refreshSeconds: 57_600 });
    expect(await signIn(accounts, { rememberMe: true })).toMatchObject({
      refreshSeconds: 2_592_000,
    });
    const { secret } = await enrol(accounts);
    await signIn(accounts, { totpCode: totpCode(secret, accounts.now) });
    const logins = (await auditTrail(accounts)).filter(
      ({ eventType }) => eventType === "auth.login",
    );
    expect(logins.map(({ metadata }) => metadata)).toEqual([
      { totp_used: false },
      { totp_used: false },
      { totp_used: false },
      { totp_used: true },
    ]);
    expect(logins[0]).toMatchObject({ userId: user.id, actorId: user.id });
  });

  test("gives tokens that are good for the same client", async () => {
    await using accounts = await openTestAccounts();
    const user = await register(accounts);
    const tokens = await signIn(accounts);
    expect(await identify(accounts, tokens)).toMatchObject({
      userId: user.id,
      handle: "mira",
      email: "mira@example.org",
      role: "user",
      sessionId: expect.any(String),
      address: "203.0.113.7",
    });
  });
});

describe("while a sign-in is being checked", () => {
  /** A hasher that does something else between the check of a password and its answer. */
  const meanwhile = (action: () => Promise<unknown>) => ({
    ...cheapHasher,
    verify: async (stored: string, password: string) => {
      const result = await cheapHasher.verify(stored, password);
      await action();
      return result;
    },
  });

  test("a password that is changed meanwhile counts as wrong", async () => {
    let change: () => Promise<unknown> = async () => {};
    await using accounts = await openTestAccounts({ hasher: meanwhile(() => change()) });
    const user = await register(accounts);
    change = () =>
      accounts.db.run(
        "UPDATE vault_users SET password_hash = ? WHERE id = ?",
        `cheap$${hash("sha256", OTHER_STRONG, "hex")}`,
        user.id,
      );
    await expect(accounts.signIn.signIn(credentials(), client())).rejects.toMatchObject(wrong);
  });

  test("an account that is deactivated meanwhile gets no tokens", async () => {
    let change: () => Promise<unknown> = async () => {};
    await using accounts = await openTestAccounts({ hasher: meanwhile(() => change()) });
    const user = await register(accounts);
    change = () => accounts.db.transaction((tx) => setVaultUserActive(tx, user.id, false));
    await expect(accounts.signIn.signIn(credentials(), client())).rejects.toMatchObject({
      message: "Account deactivated",
    });
  });
});

test("a hash of weaker parameters is replaced at the sign-in", async () => {
  let isOutdated = true;
  await using accounts = await openTestAccounts({
    hasher: {
      hash: async (password) => `${isOutdated ? "weak" : "strong"}$${password}`,
      verify: async (stored, password) => ({
        fits: stored.split("$")[1] === password,
        outdated: stored.startsWith("weak") && !isOutdated,
      }),
    },
  });
  const user = await register(accounts);
  isOutdated = false;
  await signIn(accounts);
  expect((await findVaultUser(accounts.db, user.id))?.passwordHash).toBe(`strong$${STRONG}`);
  await signIn(accounts);
});
