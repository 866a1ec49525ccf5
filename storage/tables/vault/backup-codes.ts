import type { Transaction } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";

/** Replaces all codes of a user. */
export async function replaceBackupCodes(
  tx: Transaction,
  userId: AccountId,
  codeHashes: readonly string[],
): Promise<void> {
  await deleteBackupCodes(tx, userId);
  for (const hash of codeHashes)
    await tx.run("INSERT INTO vault_backup_codes (user_id, code_hash) VALUES (?, ?)", userId, hash);
}

/** Uses up one code of a user. False when the user has no such unused code. */
export async function takeBackupCode(
  tx: Transaction,
  userId: AccountId,
  codeHash: string,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_backup_codes SET used_at = ? WHERE user_id = ? AND code_hash = ? AND used_at IS NULL",
    tx.now,
    userId,
    codeHash,
  );
  return changes > 0;
}

/** Deletes all codes of a user, used or not. */
export async function deleteBackupCodes(tx: Transaction, userId: AccountId): Promise<void> {
  await tx.run("DELETE FROM vault_backup_codes WHERE user_id = ?", userId);
}
