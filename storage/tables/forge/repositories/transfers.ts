import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { UserId, TeamId, RepositoryId } from "../ids.ts";

const teamIdsSchema = z.array(z.int().brand<"TeamId">());

/** A pending offer of a repository. Times are epoch milliseconds. */
export interface RepositoryTransfer {
  readonly repositoryId: RepositoryId;
  /** The user who made the offer. */
  readonly doerId: UserId;
  /** A user or an organization. */
  readonly recipientId: UserId;
  /** Teams of the receiving organization that get access to it. */
  readonly teamIds: readonly TeamId[];
  readonly createdAt: number;
}

/** Adds an offer. Throws `conflict` while another offer of the repository is pending. */
export async function insertTransfer(
  tx: Transaction,
  transfer: Omit<RepositoryTransfer, "createdAt">,
): Promise<void> {
  await tx.run(
    "INSERT INTO forge_repository_transfers (repository_id, doer_id, recipient_id, team_ids, created_at) VALUES (?, ?, ?, ?, ?)",
    transfer.repositoryId,
    transfer.doerId,
    transfer.recipientId,
    JSON.stringify(transfer.teamIds),
    tx.now,
  );
}

export async function findTransfer(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<RepositoryTransfer | undefined> {
  const row = await db.get<TransferRow>(
    "SELECT repository_id, doer_id, recipient_id, team_ids, created_at FROM forge_repository_transfers WHERE repository_id = ?",
    repositoryId,
  );
  return (
    row && {
      repositoryId: row.repository_id,
      doerId: row.doer_id,
      recipientId: row.recipient_id,
      teamIds: parseColumn(teamIdsSchema, row.team_ids, "forge_repository_transfers.team_ids"),
      createdAt: row.created_at,
    }
  );
}

/** Deletes an offer and returns whether it existed. */
export async function deleteTransfer(
  tx: Transaction,
  repositoryId: RepositoryId,
): Promise<boolean> {
  const { changes } = await tx.run(
    "DELETE FROM forge_repository_transfers WHERE repository_id = ?",
    repositoryId,
  );
  return changes > 0;
}

/** Returns whether a repository is offered to a user, or to an organization in which the user may create repositories. */
export async function isOfferedTo(
  db: Queries,
  repositoryId: RepositoryId,
  userId: UserId,
): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 AS found FROM forge_repository_transfers t WHERE t.repository_id = ? AND (t.recipient_id = ? OR EXISTS (
       SELECT 1 FROM forge_team_members m JOIN forge_teams e ON e.id = m.team_id
       WHERE m.org_id = t.recipient_id AND m.user_id = ? AND e.can_create_repositories = 1))`,
    repositoryId,
    userId,
    userId,
  );
  return row !== undefined;
}

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
export async function countRepositoriesOf(db: Queries, ownerId: UserId): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT COUNT(*) AS total FROM forge_repositories WHERE owner_id = ?",
    ownerId,
  );
  return row?.total ?? 0;
}

interface TransferRow {
  repository_id: RepositoryId;
  doer_id: UserId;
  recipient_id: UserId;
  team_ids: string;
  created_at: number;
}
