import type { Transaction } from "../../engine/database.ts";

/**
 * Locks a row until the end of the transaction, so that transactions which lock the same row follow one another. PostgreSQL
 * assigns an id when a row is inserted, not when it is committed: without the lock, of two rows that are inserted at the same
 * time the one with the higher id may become visible first, and a client that keeps the oldest of one name would keep both.
 */
export async function lockRow(
  tx: Transaction,
  table: "forge_repositories" | "forge_users",
  id: number,
): Promise<void> {
  await tx.run(`UPDATE ${table} SET id = id WHERE id = ?`, id);
}
