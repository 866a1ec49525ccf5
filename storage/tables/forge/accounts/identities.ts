import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, now, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { UserId } from "../ids.ts";

const identities = defineTable("forge_identities", {
  issuer: text(),
  subject: text(),
  userId: id<UserId>(),
  /** What the provider calls the person. */
  label: text(),
  createdAt: now(),
});
/** A person at an OpenID provider who signs in to an account. Times are epoch milliseconds. */
export type ForgeIdentity = RecordOf<typeof identities>;

/** Links an identity to an account. Throws `conflict` when it is linked already. */
export async function insertForgeIdentity(
  tx: Transaction,
  identity: Omit<ForgeIdentity, "createdAt">,
): Promise<void> {
  await identities.insert(tx, identity);
}

export async function findForgeIdentity(
  db: Queries,
  key: Pick<ForgeIdentity, "issuer" | "subject">,
): Promise<ForgeIdentity | undefined> {
  return identities.find(db, { issuer: key.issuer, subject: key.subject });
}

/** Returns the identities of an account, oldest first. */
export async function listForgeIdentities(db: Queries, userId: UserId): Promise<ForgeIdentity[]> {
  return identities.list(db, { userId }, { order: "created_at, subject" });
}

/** Unlinks an identity of an account. Idempotent. */
export async function deleteForgeIdentity(
  tx: Transaction,
  { userId, issuer, subject }: Pick<ForgeIdentity, "userId" | "issuer" | "subject">,
): Promise<void> {
  await identities.delete(tx, { userId, issuer, subject });
}
