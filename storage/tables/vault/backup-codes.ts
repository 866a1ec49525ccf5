import type { Transaction } from "../../engine/database.ts";

/** Puts these codes in the place of all the user had. */
export async function replaceBackupCodes(
  tx: Transaction,
  userId: string,
  codeHashes: readonly string[],
): Promise<void> {
  await deleteBackupCodes(tx, userId);
  for (const hash of codeHashes)
    await tx.run("INSERT INTO vault_backup_codes (user_id, code_hash) VALUES (?, ?)", userId, hash);
}

/** Takes one code of this user. False when it is none of theirs or was taken before. */
export async function takeBackupCode(
  tx: Transaction,
  userId: string,
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

/** Forgets all codes of a user, used or not. */
export async function deleteBackupCodes(tx: Transaction, userId: string): Promise<void> {
  await tx.run("DELETE FROM vault_backup_codes WHERE user_id = ?", userId);
}
