import type { Queries, Transaction } from "../../engine/database.ts";
import { now, text, textId } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import type { AccountId } from "./ids.ts";

const identities = defineTable("vault_identities", {
  issuer: text(),
  subject: text(),
  userId: textId<AccountId>(),
  /** What the provider calls the person. */
  label: text(),
  createdAt: now(),
});
/** A person at an OpenID provider who signs in to an account. Times are epoch milliseconds. */
export type VaultIdentity = RecordOf<typeof identities>;

/** Links an identity to an account. Throws `conflict` when it is linked already. */
export async function insertVaultIdentity(
  tx: Transaction,
  identity: Omit<VaultIdentity, "createdAt">,
): Promise<void> {
  await identities.insert(tx, identity);
}

export async function findVaultIdentity(
  db: Queries,
  key: Pick<VaultIdentity, "issuer" | "subject">,
): Promise<VaultIdentity | undefined> {
  return identities.find(db, { issuer: key.issuer, subject: key.subject });
}

/** Returns the identities of an account, oldest first. */
export async function listVaultIdentities(
  db: Queries,
  userId: AccountId,
): Promise<VaultIdentity[]> {
  return identities.list(db, { userId }, { order: "created_at, subject" });
}

/** Unlinks an identity of an account. Idempotent. */
export async function deleteVaultIdentity(
  tx: Transaction,
  { userId, issuer, subject }: Pick<VaultIdentity, "userId" | "issuer" | "subject">,
): Promise<void> {
  await identities.delete(tx, { userId, issuer, subject });
}
