import type { Transaction } from "../../engine/database.ts";
import { integer, optional, text, textId } from "../columns.ts";
import { defineTable } from "../table.ts";
import type { AccountId } from "./ids.ts";

const backupCodes = defineTable("vault_backup_codes", {
  userId: textId<AccountId>(),
  codeHash: text(),
  usedAt: optional(integer()),
});

/** Replaces all codes of a user. */
export async function replaceBackupCodes(
  tx: Transaction,
  userId: AccountId,
  codeHashes: readonly string[],
): Promise<void> {
  await deleteBackupCodes(tx, userId);
  for (const codeHash of codeHashes) await backupCodes.insert(tx, { userId, codeHash });
}

/** Uses up one code of a user. False when the user has no such unused code. */
export async function takeBackupCode(
  tx: Transaction,
  userId: AccountId,
  codeHash: string,
): Promise<boolean> {
  const unused = { userId, codeHash, usedAt: undefined };
  return (await backupCodes.update(tx, unused, { usedAt: tx.now })) > 0;
}

/** Deletes all codes of a user, used or not. */
export async function deleteBackupCodes(tx: Transaction, userId: AccountId): Promise<void> {
  await backupCodes.delete(tx, { userId });
}
