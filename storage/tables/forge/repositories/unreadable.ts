import type { SqlValue, Transaction } from "../../../engine/database.ts";
import { toReadableByRow } from "./readable.ts";
import type { RepositoryId, UserId } from "../ids.ts";

/** The repositories and users whose right to read may have ended. An absent member does not narrow them. */
export interface LostRights {
  readonly repositoryId?: RepositoryId;
  readonly ownerId?: UserId;
  readonly userId?: UserId;
}

/**
 * Ends the watches of repositories that their users may no longer read, and the assignments to issues that the assigned
 * users may no longer read. Call it after each change that ends rights, in the same transaction.
 */
export async function endUnreadable(tx: Transaction, lost: LostRights): Promise<void> {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const add = (column: string, value: number | undefined) => {
    if (value === undefined) return;
    conditions.push(`${column} = ? AND `);
    values.push(value);
  };
  add("r.id", lost.repositoryId);
  add("r.owner_id", lost.ownerId);
  add("v.id", lost.userId);
  const isLost = conditions.join("");
  const watched = toReadableByRow("any");
  await tx.run(
    `DELETE FROM forge_watches WHERE (repository_id, user_id) IN
       (SELECT w.repository_id, w.user_id FROM forge_watches w JOIN forge_repositories r ON r.id = w.repository_id
        JOIN forge_users u ON u.id = r.owner_id JOIN forge_users v ON v.id = w.user_id
        WHERE ${isLost}NOT ${watched.sql})`,
    ...values,
    ...watched.values,
  );
  const assigned = toReadableByRow("repo.issues");
  await tx.run(
    `DELETE FROM forge_issue_assignees WHERE (issue_id, user_id) IN
       (SELECT a.issue_id, a.user_id FROM forge_issue_assignees a JOIN forge_issues i ON i.id = a.issue_id
        JOIN forge_repositories r ON r.id = i.repository_id
        JOIN forge_users u ON u.id = r.owner_id JOIN forge_users v ON v.id = a.user_id
        WHERE ${isLost}NOT ${assigned.sql})`,
    ...values,
    ...assigned.values,
  );
}
