import { describe, expect, test } from "vitest";
import { createBackupCodes } from "../../../../../daemon/vault/accounts/backup-codes.ts";
import {
  client,
  createTestRandom,
  credentials,
  enrol,
  openTestAccounts,
  register,
  signIn,
} from "../../../../support/vault/vault-accounts.ts";

const refused = { code: "invalid_credentials", message: "Invalid or already used code" };

async function enrolled() {
  // Without a counter of failures: this tests the codes alone.
  const accounts = await openTestAccounts({
    attempts: { consume: async () => ({ allowed: true, resetSeconds: 900 }) },
  });
  await register(accounts);
  return { accounts, ...(await enrol(accounts)) };
}

describe("backup codes", () => {
  test("backup codes are ten different ones of the form xxxxx-xxxxx in Crockford's letters", () => {
    const codes = createBackupCodes(createTestRandom());
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}$/);
  });

  test("each work once", async () => {
    const { accounts, backupCodes } = await enrolled();
    for (const backupCode of backupCodes) await signIn(accounts, { backupCode });
    for (const backupCode of backupCodes)
      await expect(
        accounts.signIn.signIn(credentials({ backupCode }), client()),
      ).rejects.toMatchObject(refused);
    await accounts.db.close();
  });

  test("work with or without the dash, in any case, and with letters that look alike", async () => {
    const { accounts, backupCodes } = await enrolled();
    const spellings = [
      (code: string) => code.replace("-", ""),
      (code: string) => code.toUpperCase(),
      (code: string) => ` ${code.replace("-", " ")} `,
      (code: string) => code.replaceAll("1", "l").replaceAll("0", "o"),
      (code: string) => code.replaceAll("1", "I").replaceAll("0", "O"),
    ];
    for (const [index, spell] of spellings.entries())
      await signIn(accounts, { backupCode: spell(backupCodes[index]!) });
    await accounts.db.close();
  });

  test("exactly one of 50 concurrent uses of a backup code succeeds", async () => {
    const { accounts, backupCodes } = await enrolled();
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, () =>
        accounts.signIn.signIn(credentials({ backupCode: backupCodes[3] }), client()),
      ),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of results)
      if (result.status === "rejected") expect(result.reason).toMatchObject(refused);
    await accounts.db.close();
  });

  test("backup codes of another user are refused", async () => {
    const { accounts, backupCodes } = await enrolled();
    await register(accounts, { handle: "otto", email: "otto@example.org" });
    const otto = await enrol(accounts, { email: "otto@example.org" });
    await expect(
      accounts.signIn.signIn(credentials({ backupCode: otto.backupCodes[0] }), client()),
    ).rejects.toMatchObject(refused);
    await signIn(accounts, { email: "otto@example.org", backupCode: otto.backupCodes[0] });
    await signIn(accounts, { backupCode: backupCodes[0] });
    await accounts.db.close();
  });

  test("lie in the database as ten hashes, which two users never share", async () => {
    const { accounts } = await enrolled();
    const rows = await accounts.db.all<{ code_hash: string }>(
      "SELECT code_hash FROM vault_backup_codes",
    );
    expect(rows).toHaveLength(10);
    for (const row of rows) expect(row.code_hash).toMatch(/^[0-9a-f]{64}$/);
    await accounts.db.close();
  });
});
