import type { Queries, Transaction } from "../../../engine/database.ts";
import { toVisible } from "../accounts/follows.ts";
import { sql } from "../../condition.ts";
import { type Window, defineTable } from "../../table.ts";
import { type ForgeUser, users } from "../accounts/users.ts";
import type { UserId, RepositoryId } from "../ids.ts";
import type { Reader } from "./readable.ts";
import { id, integer, now } from "../../columns.ts";

const collaborators = defineTable("forge_collaborators", {
  repositoryId: id<RepositoryId>(),
  userId: id<UserId>(),
  access: integer(),
  createdAt: now(),
});

/** Access of a collaborator: 1 read, 2 write, 3 admin. */
export type CollaboratorAccess = 1 | 2 | 3;
/** The access of a collaborator who administers the repository. */
export const COLLABORATOR_ADMIN = 3;

/** Returns the access of a collaborator, 0 for other users. */
export async function getCollaboratorAccess(
  db: Queries,
  repositoryId: RepositoryId,
  userId: UserId,
): Promise<CollaboratorAccess | 0> {
  const row = await db.get<{ access: CollaboratorAccess }>(
    "SELECT access FROM forge_collaborators WHERE repository_id = ? AND user_id = ?",
    repositoryId,
    userId,
  );
  return row?.access ?? 0;
}

/** Adds a collaborator, or changes the access of one. */
export async function putCollaborator(
  tx: Transaction,
  repositoryId: RepositoryId,
  { userId, access }: { readonly userId: UserId; readonly access: CollaboratorAccess },
): Promise<void> {
  await collaborators.upsert(
    tx,
    { repositoryId, userId, access },
    "ON CONFLICT (repository_id, user_id) DO UPDATE SET access = excluded.access",
  );
}

/** Removes a collaborator. Returns whether the user was one. */
export async function deleteCollaborator(
  tx: Transaction,
  repositoryId: RepositoryId,
  userId: UserId,
): Promise<boolean> {
  return (await collaborators.delete(tx, { repositoryId, userId })) > 0;
}

/**
 * Returns a page of a repository's collaborators in the order in which they were added, and their count.
 * @param window.shownTo only those whom this reader may see
 */
export async function listCollaborators(
  db: Queries,
  repositoryId: RepositoryId,
  window: Window & { readonly shownTo?: { readonly reader: Reader } },
): Promise<{ readonly users: readonly ForgeUser[]; readonly total: number }> {
  const visible =
    window.shownTo === undefined ? sql`` : sql` AND (${toVisible(window.shownTo.reader)})`;
  const from = sql`forge_collaborators c JOIN forge_users u ON u.id = c.user_id
    WHERE c.repository_id = ${repositoryId}${visible}`;
  const order = "c.created_at, c.user_id";
  const { records, total } = await users.as("u").page(db, from, { ...window, order });
  return { users: records, total };
}

export async function countCollaborators(db: Queries, repositoryId: RepositoryId): Promise<number> {
  return collaborators.count(db, { repositoryId });
}
