import type { Queries, Transaction } from "../../engine/database.ts";
import { now, text, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";

const hostKeys = defineTable("forge_ssh_host_keys", {
  /** Such as `ssh-ed25519`. */
  type: text(),
  sealedKey: text(),
  createdAt: unread(now()),
});
/** A private key of the SSH server, sealed. */
export type SshHostKey = RecordOf<typeof hostKeys>;

/** Adds a host key unless another daemon added one of the type meanwhile. */
export async function insertHostKey(tx: Transaction, key: SshHostKey): Promise<void> {
  await hostKeys.upsert(tx, key, "ON CONFLICT (type) DO NOTHING");
}

/** Returns the host keys, the one of the newest kind first. */
export const listHostKeys = (db: Queries): Promise<SshHostKey[]> =>
  hostKeys.list(db, {}, { order: "type DESC" });
