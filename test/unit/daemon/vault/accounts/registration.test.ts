import { describe, expect, test } from "vitest";
import { findQuota } from "../../../../../storage/tables/vault/quotas.ts";
import {
  openTestAccounts,
  signIn,
  STRONG,
  TEST_SETTINGS,
} from "../../../../support/vault/vault-accounts.ts";

const mira = { handle: "mira", email: "mira@example.org", password: STRONG };

describe("registration", () => {
  test("makes an active user with an empty quota", async () => {
    await using accounts = await openTestAccounts();
    const user = await accounts.registration.register(mira);
    expect(user).toMatchObject({
      handle: "mira",
      email: "mira@example.org",
      role: "user",
      isActive: true,
      passwordMustChange: false,
      totpEnabled: false,
    });
    expect(await findQuota(accounts.db, user.id)).toEqual({
      usedBytes: 0,
      limitBytes: 104_857_600,
    });
  });

  test("checks strength, then the look-up, then the names", async () => {
    await using accounts = await openTestAccounts();
    await accounts.registration.register(mira);
    accounts.breached.add("weak").add(STRONG);
    await expect(
      accounts.registration.register({ ...mira, password: "weak" }),
    ).rejects.toMatchObject({
      code: "unprocessable",
      message: "Password must have at least 12 characters",
    });
    await expect(accounts.registration.register(mira)).rejects.toMatchObject({
      code: "unprocessable",
      message: "This password has appeared in a data breach. Please choose a different one.",
    });
    accounts.breached.clear();
    await expect(accounts.registration.register(mira)).rejects.toMatchObject({
      code: "conflict",
      message: "Email or handle already in use",
    });
  });

  test("accepts a handle once, regardless of case, also when two requests race", async () => {
    await using accounts = await openTestAccounts();
    const results = await Promise.allSettled([
      accounts.registration.register(mira),
      accounts.registration.register({ ...mira, handle: "MIRA", email: "other@example.org" }),
    ]);
    expect(results.map((result) => result.status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const refused = results.find((result) => result.status === "rejected");
    expect(refused?.reason).toMatchObject({
      code: "conflict",
      message: "Email or handle already in use",
    });
  });

  test("registration is refused where it is turned off", async () => {
    await using accounts = await openTestAccounts({
      settings: { ...TEST_SETTINGS, allowRegistration: false },
    });
    await expect(accounts.registration.register(mira)).rejects.toMatchObject({ code: "forbidden" });
  });

  test("makes the first administrator without the rules for users", async () => {
    await using accounts = await openTestAccounts();
    const admin = await accounts.registration.createFirstAdministrator({
      handle: "admin",
      email: "Admin@Example.org ",
      password: "short",
    });
    expect(admin).toMatchObject({ role: "admin", email: "admin@example.org" });
  });

  test("takes the first administrator's address and password as a sign-in would", async () => {
    await using accounts = await openTestAccounts();
    const first = { handle: "admin", email: "admin@example.org", password: STRONG };
    await expect(
      accounts.registration.createFirstAdministrator({ ...first, email: "admin@localhost" }),
    ).rejects.toMatchObject({ code: "unprocessable", message: "This is not an e-mail address" });
    const password = "Café-Café-123";
    await accounts.registration.createFirstAdministrator({
      ...first,
      password: password.normalize("NFD"),
    });
    expect(await signIn(accounts, { email: first.email, password })).toMatchObject({
      user: { role: "admin" },
    });
  });
});
