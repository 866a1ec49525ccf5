import { describe, expect, test } from "vitest";
import {
  auditTrail,
  client,
  credentials,
  enrol,
  identify,
  openTestAccounts,
  register,
  signIn,
  totpCode,
} from "../../../../support/vault/vault-accounts.ts";

const STEP_MS = 30_000;
const incorrect = { code: "invalid_credentials", message: "Incorrect code" };

async function enrolled() {
  const accounts = await openTestAccounts();
  await register(accounts);
  return { accounts, ...(await enrol(accounts)) };
}

describe("setting the second factor up", () => {
  test("gives a secret for authenticator apps and asks for a code of it", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const caller = await identify(accounts, await signIn(accounts));
    const { secret, provisioningUri } = await accounts.totp.setUp(caller);
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    const uri = new URL(provisioningUri);
    expect(uri.protocol).toBe("otpauth:");
    expect(decodeURIComponent(uri.pathname)).toContain("croft:mira@example.org");
    expect(Object.fromEntries(uri.searchParams)).toMatchObject({ secret, issuer: "croft" });
    await expect(accounts.totp.enable(caller, "000000", client())).rejects.toMatchObject({
      code: "invalid_argument",
      message: "Incorrect code",
    });
    const { backupCodes } = await accounts.totp.enable(
      caller,
      totpCode(secret, accounts.now),
      client(),
    );
    expect(backupCodes).toHaveLength(10);
    expect((await auditTrail(accounts)).at(-1)).toMatchObject({
      eventType: "auth.totp_enrolled",
      metadata: { sessions_revoked: 1 },
    });
  });

  test("each call replaces the secret, and it dies after 15 minutes", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const caller = await identify(accounts, await signIn(accounts));
    const first = await accounts.totp.setUp(caller);
    const second = await accounts.totp.setUp(caller);
    expect(second.secret).not.toBe(first.secret);
    const enable = (secret: string) =>
      accounts.totp.enable(caller, totpCode(secret, accounts.now), client());
    await expect(enable(first.secret)).rejects.toMatchObject({ code: "invalid_argument" });
    accounts.now += 15 * 60_000;
    await expect(enable(second.secret)).rejects.toMatchObject({ code: "invalid_argument" });
    const third = await accounts.totp.setUp(caller);
    accounts.now += 15 * 60_000 - 1;
    await enable(third.secret);
  });

  test("setting the second factor up is refused once it is on, and the secret is not given out again", async () => {
    const { accounts, secret, userId } = await enrolled();
    const caller = {
      ...(await identify(
        accounts,
        await signIn(accounts, { totpCode: totpCode(secret, accounts.now) }),
      )),
    };
    await expect(accounts.totp.setUp(caller)).rejects.toMatchObject({
      code: "invalid_argument",
      message: "TOTP is already enabled",
    });
    await expect(
      accounts.totp.enable(caller, totpCode(secret, accounts.now), client()),
    ).rejects.toMatchObject({ code: "invalid_argument" });
    expect(caller.userId).toBe(userId);
    await accounts.db.close();
  });

  test("exactly one of two concurrent enrolments of a second factor succeeds", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const caller = await identify(accounts, await signIn(accounts));
    const { secret } = await accounts.totp.setUp(caller);
    const code = totpCode(secret, accounts.now);
    const results = await Promise.allSettled([
      accounts.totp.enable(caller, code, client()),
      accounts.totp.enable(caller, code, client()),
    ]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const won = results.find((result) => result.status === "fulfilled");
    accounts.now += STEP_MS;
    await signIn(accounts, { backupCode: won!.value.backupCodes[0] });
  });
});

describe("replay of a code", () => {
  test("within its step is refused", async () => {
    const { accounts, secret } = await enrolled();
    const code = totpCode(secret, accounts.now);
    await signIn(accounts, { totpCode: code });
    await expect(
      accounts.signIn.signIn(credentials({ totpCode: code }), client()),
    ).rejects.toMatchObject(incorrect);
    await accounts.db.close();
  });

  test("replay of a code that turned the second factor on is refused at the sign-in", async () => {
    const { accounts, secret } = await enrolled();
    await expect(
      accounts.signIn.signIn(
        credentials({ totpCode: totpCode(secret, accounts.now - STEP_MS) }),
        client(),
      ),
    ).rejects.toMatchObject(incorrect);
    await accounts.db.close();
  });

  test("a code of an older step is refused once a newer one was used", async () => {
    const { accounts, secret } = await enrolled();
    accounts.now += STEP_MS;
    await signIn(accounts, { totpCode: totpCode(secret, accounts.now + STEP_MS) });
    for (const step of [-1, 0, 1])
      await expect(
        accounts.signIn.signIn(
          credentials({ totpCode: totpCode(secret, accounts.now + step * STEP_MS) }),
          client(),
        ),
      ).rejects.toMatchObject(incorrect);
    accounts.now += STEP_MS;
    await signIn(accounts, { totpCode: totpCode(secret, accounts.now + STEP_MS) });
    await accounts.db.close();
  });

  test.each([2, 10])("exactly one of %i concurrent uses of a code succeeds", async (count) => {
    const { accounts, secret } = await enrolled();
    const code = totpCode(secret, accounts.now);
    const results = await Promise.allSettled(
      Array.from({ length: count }, () =>
        accounts.signIn.signIn(credentials({ totpCode: code }), client()),
      ),
    );
    // The sign-in before counts as well: of eleven attempts the last would hit the counter.
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await accounts.db.close();
  });

  test("stays refused when the clock is set back", async () => {
    const { accounts, secret } = await enrolled();
    const code = totpCode(secret, accounts.now);
    await signIn(accounts, { totpCode: code });
    accounts.now += 3_600_000;
    await signIn(accounts, { totpCode: totpCode(secret, accounts.now) });
    accounts.now -= 3_600_000;
    for (const step of [-1, 0, 1])
      await expect(
        accounts.signIn.signIn(
          credentials({ totpCode: totpCode(secret, accounts.now + step * STEP_MS) }),
          client(),
        ),
      ).rejects.toMatchObject(incorrect);
    await accounts.db.close();
  });
});

describe("clock drift", () => {
  test.each([
    [-2, false],
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
  ])("a code of %i steps away: accepted is %s", async (steps, isAccepted) => {
    const { accounts, secret } = await enrolled();
    accounts.now += 10 * STEP_MS;
    const attempt = accounts.signIn.signIn(
      credentials({ totpCode: totpCode(secret, accounts.now + steps * STEP_MS) }),
      client(),
    );
    if (isAccepted) expect(await attempt).toMatchObject({ kind: "signed_in" });
    else await expect(attempt).rejects.toMatchObject(incorrect);
    await accounts.db.close();
  });
});

describe("a code of another user", () => {
  test("refuses a code of another user, and malformed codes", async () => {
    const { accounts } = await enrolled();
    await register(accounts, { handle: "otto", email: "otto@example.org" });
    const otto = await enrol(accounts, { email: "otto@example.org" });
    const codes = [
      totpCode(otto.secret, accounts.now),
      "",
      "12345",
      "1234567",
      "１２３４５６",
      "abcdef",
      "1e5",
    ];
    for (const code of codes.filter((each) => each !== ""))
      await expect(
        accounts.signIn.signIn(credentials({ totpCode: code }), client()),
      ).rejects.toMatchObject(incorrect);
    await accounts.db.close();
  });
});

describe("turning it off", () => {
  test("deletes secret and codes, ends other sessions and earlier access tokens", async () => {
    const { accounts, secret, backupCodes } = await enrolled();
    const other = await signIn(accounts, { totpCode: totpCode(secret, accounts.now) });
    accounts.now += STEP_MS;
    const tokens = await signIn(accounts, { totpCode: totpCode(secret, accounts.now) });
    const caller = await identify(accounts, tokens);
    const ended = await accounts.totp.disable(
      caller,
      client({ refreshToken: tokens.refreshToken }),
    );
    // The session that enrolled had sent no cookie along: it fell then.
    expect(ended).toBe(1);
    await expect(identify(accounts, tokens)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(
      accounts.sessions.refresh(client({ refreshToken: other.refreshToken })),
    ).rejects.toMatchObject({ message: "Session revoked" });
    await accounts.sessions.refresh(client({ refreshToken: tokens.refreshToken }));
    await signIn(accounts, { backupCode: backupCodes[0], totpCode: "000000" });
    expect(await accounts.db.all("SELECT user_id FROM vault_backup_codes")).toEqual([]);
    expect(await accounts.db.get("SELECT totp_secret, totp_enabled FROM vault_users")).toEqual({
      totp_secret: null,
      totp_enabled: 0,
    });
    await accounts.db.close();
  });

  test("turning off an inactive second factor changes and records nothing", async () => {
    await using accounts = await openTestAccounts();
    await register(accounts);
    const tokens = await signIn(accounts);
    expect(await accounts.totp.disable(await identify(accounts, tokens), client())).toBe(0);
    await identify(accounts, tokens);
    expect((await auditTrail(accounts)).map(({ eventType }) => eventType)).toEqual(["auth.login"]);
  });

  test("a second factor that is turned on again has a new secret and new codes", async () => {
    const { accounts, secret, backupCodes } = await enrolled();
    const tokens = await signIn(accounts, { totpCode: totpCode(secret, accounts.now) });
    await accounts.totp.disable(await identify(accounts, tokens), client());
    const again = await enrol(accounts);
    expect(again.secret).not.toBe(secret);
    await expect(
      accounts.signIn.signIn(credentials({ backupCode: backupCodes[0] }), client()),
    ).rejects.toMatchObject({ message: "Invalid or already used code" });
    await accounts.db.close();
  });
});
