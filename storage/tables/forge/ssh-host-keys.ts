import type { Queries, Transaction } from "../../engine/database.ts";

/** A private key of the SSH server, sealed. */
export interface SshHostKey {
  /** Such as `ssh-ed25519`. */
  readonly type: string;
  readonly sealedKey: string;
}

/** Adds a host key unless another daemon added one of the type meanwhile. */
export async function insertHostKey(tx: Transaction, key: SshHostKey): Promise<void> {
  await tx.run(
    "INSERT INTO forge_ssh_host_keys (type, sealed_key, created_at) VALUES (?, ?, ?) ON CONFLICT (type) DO NOTHING",
    key.type,
    key.sealedKey,
    tx.now,
  );
}

/** Returns the host keys, the one of the newest kind first. */
export async function listHostKeys(db: Queries): Promise<SshHostKey[]> {
  const rows = await db.all<{ type: string; sealed_key: string }>(
    "SELECT type, sealed_key FROM forge_ssh_host_keys ORDER BY type DESC",
  );
  return rows.map((row) => ({ type: row.type, sealedKey: row.sealed_key }));
}
