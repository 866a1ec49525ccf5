import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, json, now } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { UserId, RepositoryId } from "../ids.ts";
import { repositories } from "./repositories.ts";

const transfers = defineTable("forge_repository_transfers", {
  repositoryId: id<RepositoryId>(),
  /** The user who made the offer. */
  doerId: id<UserId>(),
  /** A user or an organization. */
  recipientId: id<UserId>(),
  /** Teams of the receiving organization that get access to it. */
  teamIds: json(z.array(z.int().brand<"TeamId">())),
  createdAt: now(),
});
/** A pending offer of a repository. Times are epoch milliseconds. */
export type RepositoryTransfer = RecordOf<typeof transfers>;

/** Adds an offer. Throws `conflict` while another offer of the repository is pending. */
export async function insertTransfer(
  tx: Transaction,
  transfer: Omit<RepositoryTransfer, "createdAt">,
): Promise<void> {
  await transfers.insert(tx, transfer);
}

export const findTransfer = (
  db: Queries,
  repositoryId: RepositoryId,
): Promise<RepositoryTransfer | undefined> => transfers.find(db, { repositoryId });

/** Deletes an offer and returns whether it existed. */
export async function deleteTransfer(
  tx: Transaction,
  repositoryId: RepositoryId,
): Promise<boolean> {
  return (await transfers.delete(tx, { repositoryId })) > 0;
}

/** Returns whether a repository is offered to a user, or to an organization in which the user may create repositories. */
export const isOfferedTo = (
  db: Queries,
  repositoryId: RepositoryId,
  userId: UserId,
): Promise<boolean> =>
  transfers.exists(
    db,
    sql`repository_id = ${repositoryId} AND (recipient_id = ${userId} OR EXISTS (
       SELECT 1 FROM forge_team_members m JOIN forge_teams e ON e.id = m.team_id
       WHERE m.org_id = recipient_id AND m.user_id = ${userId} AND e.can_create_repositories = 1))`,
  );

/** Returns the ids of an organization's members who may create repositories. */
export async function listRepositoryMakers(db: Queries, orgId: UserId): Promise<UserId[]> {
  const rows = await db.all<{ id: UserId }>(
    `SELECT DISTINCT m.user_id AS id FROM forge_team_members m JOIN forge_teams e ON e.id = m.team_id
     WHERE m.org_id = ? AND e.can_create_repositories = 1 ORDER BY m.user_id`,
    orgId,
  );
  return rows.map(({ id }) => id);
}

/** Returns the number of repositories that an account owns. */
export const countRepositoriesOf = (db: Queries, ownerId: UserId): Promise<number> =>
  repositories.count(db, { ownerId });
