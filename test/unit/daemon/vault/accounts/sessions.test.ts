import { describe, expect, test } from "vitest";
import { setVaultUserActive } from "../../../../../storage/tables/vault/users.ts";
import {
  auditTrail,
  client,
  enrol,
  identify,
  openTestAccounts,
  OTHER_STRONG,
  register,
  signIn,
  STRONG,
  type TestAccounts,
  totpCode,
} from "../../../../support/vault/vault-accounts.ts";

const HOUR_MS = 3_600_000;

function refresh(accounts: TestAccounts, { refreshToken }: { readonly refreshToken: string }) {
  return accounts.sessions.refresh(client({ refreshToken }));
}

function refusal(message: string) {
  return { code: "invalid_credentials", message };
}
const revoked = refusal("Session revoked");
const invalid = refusal("Invalid or expired refresh token");
const noUser = refusal("User not found or deactivated");

describe("refreshing", () => {
  test("gives a new pair and revokes the old token", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const first = await signIn(accounts);
    const second = await refresh(accounts, first);
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect(second.refreshSeconds).toBe(57_600);
    await identify(accounts, second);
    await refresh(accounts, second);
  });

  test("refreshing without a cookie, with an unknown token and with an expired one gives distinct errors", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    await expect(accounts.sessions.refresh(client())).rejects.toMatchObject(
      refusal("No refresh token"),
    );
    await expect(refresh(accounts, { refreshToken: "x".repeat(43) })).rejects.toMatchObject(
      invalid,
    );
    const tokens = await signIn(accounts);
    accounts.now += 16 * HOUR_MS;
    await expect(refresh(accounts, tokens)).rejects.toMatchObject(invalid);
  });

  test("a sign-in with remember_me has 30 days for its first cookie only", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const first = await signIn(accounts, { rememberMe: true });
    accounts.now += 29 * 24 * HOUR_MS;
    const second = await refresh(accounts, first);
    accounts.now += 16 * HOUR_MS;
    await expect(refresh(accounts, second)).rejects.toMatchObject(invalid);
  });
});

describe("reuse of a refresh token", () => {
  test("revokes the whole family, its newest token and its access tokens included", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const other = await signIn(accounts);
    const first = await signIn(accounts);
    const second = await refresh(accounts, first);
    await expect(refresh(accounts, first)).rejects.toMatchObject(revoked);
    await expect(refresh(accounts, second)).rejects.toMatchObject(revoked);
    await expect(identify(accounts, second)).rejects.toMatchObject({ code: "unauthenticated" });
    // Another sign-in of the same user is another family.
    await refresh(accounts, other);
  });

  test("reuse of a refresh token of a rotated token that has also expired is reuse first", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const first = await signIn(accounts);
    accounts.now += 15 * HOUR_MS;
    const second = await refresh(accounts, first);
    accounts.now += 2 * HOUR_MS;
    await expect(refresh(accounts, first)).rejects.toMatchObject(revoked);
    await expect(refresh(accounts, second)).rejects.toMatchObject(revoked);
  });

  test.each([2, 5, 50])(
    "exactly one of %i concurrent uses of a refresh token succeeds, and the session ends",
    async (count) => {
      await using accounts = await openTestAccounts();
      await register(accounts);
      const tokens = await signIn(accounts);
      const results = await Promise.allSettled(
        Array.from({ length: count }, () => refresh(accounts, tokens)),
      );
      const won = results.filter((result) => result.status === "fulfilled");
      const lost = results.filter((result) => result.status === "rejected");
      expect(won).toHaveLength(1);
      for (const { reason } of lost) expect(reason).toMatchObject(revoked);
      await expect(refresh(accounts, won[0]!.value)).rejects.toMatchObject(revoked);
    },
  );

  test("after sign-out, password change, second factor, deactivation: the exact text each time", async () => {
    await using accounts = await openTestAccounts();
    const user = await register(accounts);

    const signedOut = await signIn(accounts);
    await accounts.sessions.signOut(client({ refreshToken: signedOut.refreshToken }));
    await expect(refresh(accounts, signedOut)).rejects.toMatchObject(revoked);

    const everywhere = await signIn(accounts);
    await accounts.sessions.signOutAll(await identify(accounts, everywhere));
    await expect(refresh(accounts, everywhere)).rejects.toMatchObject(revoked);

    const other = await signIn(accounts);
    const kept = await signIn(accounts);
    await accounts.passwords.change(
      await identify(accounts, kept),
      { current: STRONG, next: OTHER_STRONG },
      client({ refreshToken: kept.refreshToken }),
    );
    await expect(refresh(accounts, other)).rejects.toMatchObject(revoked);
    const password = OTHER_STRONG;
    const again = await refresh(accounts, kept);

    const caller = await identify(accounts, again);
    const beforeTotp = await signIn(accounts, { password });
    const { secret } = await accounts.totp.setUp(caller);
    const enabled = await accounts.totp.enable(
      caller,
      totpCode(secret, accounts.now),
      client({ refreshToken: again.refreshToken }),
    );
    expect(enabled.sessionsRevoked).toBe(1);
    await expect(refresh(accounts, beforeTotp)).rejects.toMatchObject(revoked);
    const survivor = await refresh(accounts, again);

    await accounts.db.transaction((tx) => setVaultUserActive(tx, user.id, false));
    await expect(refresh(accounts, survivor)).rejects.toMatchObject(noUser);
  });
});

describe("sessions that are spared", () => {
  test("only the session of the request's own valid cookie is spared, not that of a foreign or spent one", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    await register(accounts, { handle: "otto", email: "otto@example.org" });
    const otto = await signIn(accounts, { email: "otto@example.org" });
    const first = await signIn(accounts);
    const second = await refresh(accounts, first);
    const caller = await identify(accounts, second);
    const change = (refreshToken: string | undefined, current: string, next: string) =>
      accounts.passwords.change(caller, { current, next }, client({ refreshToken }));

    expect(await change(otto.refreshToken, STRONG, OTHER_STRONG)).toBe(1);
    await expect(refresh(accounts, second)).rejects.toMatchObject(revoked);
    await refresh(accounts, otto);

    const third = await signIn(accounts, { password: OTHER_STRONG });
    const fourth = await refresh(accounts, third);
    expect(await change(third.refreshToken, OTHER_STRONG, STRONG)).toBe(1);
    await expect(refresh(accounts, fourth)).rejects.toMatchObject(revoked);
  });
});

describe("signing out", () => {
  test("signing out is recorded once, and ends the access token too", async () => {
    await using accounts = await openTestAccounts();
    const user = await register(accounts);
    const tokens = await signIn(accounts);
    for (let again = 0; again < 3; again += 1)
      await accounts.sessions.signOut(client({ refreshToken: tokens.refreshToken }));
    await accounts.sessions.signOut(client({ refreshToken: "never seen" }));
    await accounts.sessions.signOut(client());
    await expect(identify(accounts, tokens)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await auditTrail(accounts)).toMatchObject([
      { eventType: "auth.login" },
      { eventType: "auth.logout", userId: user.id, actorId: user.id, metadata: {} },
    ]);
  });

  test("signing out of everything counts the sessions that were still valid", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    await signIn(accounts);
    accounts.now += 16 * HOUR_MS;
    await signIn(accounts);
    const tokens = await signIn(accounts);
    expect(await accounts.sessions.signOutAll(await identify(accounts, tokens))).toBe(2);
    expect((await auditTrail(accounts)).at(-1)).toMatchObject({
      eventType: "auth.sign_out_all",
      metadata: { sessions_revoked: 2 },
    });
  });
});

describe("the list of sessions", () => {
  test("shows the caller's live ones, the one used last first", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    await register(accounts, { handle: "otto", email: "otto@example.org" });
    await signIn(accounts, { email: "otto@example.org" });
    const phone = await signIn(accounts, {}, { userAgent: "phone", address: "198.51.100.9" });
    accounts.now += 1000;
    const laptop = await signIn(accounts);
    accounts.now += 1000;
    const gone = await signIn(accounts);
    await accounts.sessions.signOut(client({ refreshToken: gone.refreshToken }));
    accounts.now += 1000;
    await accounts.sessions.refresh(
      client({ refreshToken: phone.refreshToken, userAgent: "phone", address: "198.51.100.10" }),
    );
    const caller = await identify(accounts, laptop);
    const all = await accounts.sessions.list(caller, { page: 1, perPage: 30 });
    expect(all).toMatchObject({ total: 2 });
    expect(all.sessions).toMatchObject([
      { userAgent: "phone", ipAddress: "198.51.100.10", lastUsedAt: accounts.now },
      { id: caller.sessionId, userAgent: "croft-test" },
    ]);
    const second = await accounts.sessions.list(caller, { page: 2, perPage: 1 });
    expect(second).toMatchObject({ total: 2, sessions: [{ id: caller.sessionId }] });
  });

  test("a user can end one session of their own, once", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    await register(accounts, { handle: "otto", email: "otto@example.org" });
    const otto = await identify(accounts, await signIn(accounts, { email: "otto@example.org" }));
    const phone = await signIn(accounts);
    const caller = await identify(accounts, await signIn(accounts));
    const { sessionId = "" } = await identify(accounts, phone);
    const missing = { code: "not_found", message: "Session not found" };
    await expect(accounts.sessions.end(otto, sessionId)).rejects.toMatchObject(missing);
    await accounts.sessions.end(caller, sessionId);
    await expect(refresh(accounts, phone)).rejects.toMatchObject(revoked);
    await expect(identify(accounts, phone)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(accounts.sessions.end(caller, sessionId)).rejects.toMatchObject(missing);
  });
});

test("expired sessions are deleted 30 days after they expired", async () => {
  await using accounts = await openTestAccounts();
  await register(accounts);
  const tokens = await signIn(accounts);
  accounts.now += 30 * 24 * HOUR_MS + 16 * HOUR_MS;
  expect(await accounts.sessions.deleteExpired()).toBe(0);
  await expect(refresh(accounts, tokens)).rejects.toMatchObject(invalid);
  accounts.now += 1;
  expect(await accounts.sessions.deleteExpired()).toBe(1);
  expect(await accounts.db.all("SELECT token_hash FROM vault_refresh_tokens")).toEqual([]);
});

test("a session that began while the clock was a year ahead ends as one that begins now", async () => {
  await using accounts = await openTestAccounts();
  await register(accounts);
  const start = accounts.now;
  accounts.now += 365 * 24 * HOUR_MS;
  const tokens = await signIn(accounts);
  accounts.now = start;
  await accounts.sessions.deleteExpired();
  accounts.now += 30 * 24 * HOUR_MS;
  await expect(refresh(accounts, tokens)).rejects.toMatchObject(invalid);
});

test("neither tokens nor codes lie in the database as they are", async () => {
  await using accounts = await openTestAccounts();
  await register(accounts);
  const { secret, backupCodes } = await enrol(accounts);
  const tokens = await signIn(accounts, { totpCode: totpCode(secret, accounts.now) });
  const tables = ["vault_users", "vault_sessions", "vault_refresh_tokens", "vault_backup_codes"];
  const rows = await Promise.all(
    [...tables, "vault_audit"].map((table) => accounts.db.all(`SELECT * FROM ${table}`)),
  );
  const everything = JSON.stringify(rows);
  const secrets = [tokens.refreshToken, tokens.accessToken, secret, STRONG, ...backupCodes];
  for (const each of secrets) {
    expect(everything).not.toContain(each);
    expect(everything).not.toContain(each.replace("-", ""));
  }
});
