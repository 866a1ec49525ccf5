import { describe, expect, test } from "vitest";
import {
  client,
  credentials,
  openTestAccounts,
  STRONG,
} from "../../../../support/vault-accounts.ts";

describe("signing in", () => {
  test("gives tokens that are good for the same client", async () => {
    await using accounts = await openTestAccounts();
    const user = await accounts.registration.register({
      handle: "mira",
      email: "mira@example.org",
      password: STRONG,
    });
    const outcome = await accounts.signIn.signIn(credentials(), client());
    if (outcome.kind !== "signed_in") throw new Error(outcome.kind);
    const caller = await accounts.authentication.identify(outcome.tokens.accessToken, client());
    expect(caller).toMatchObject({ userId: user.id, handle: "mira", role: "user" });
    const refreshed = await accounts.sessions.refresh(
      client({ refreshToken: outcome.tokens.refreshToken }),
    );
    expect(refreshed.refreshSeconds).toBe(57_600);
    await expect(
      accounts.sessions.refresh(client({ refreshToken: outcome.tokens.refreshToken })),
    ).rejects.toMatchObject({ message: "Session revoked" });
    await expect(
      accounts.sessions.refresh(client({ refreshToken: refreshed.refreshToken })),
    ).rejects.toMatchObject({ message: "Session revoked" });
  });
});
