import type { Transaction } from "../../../engine/database.ts";
import type { Condition } from "../../condition.ts";
import type { UnitOrAny } from "../accounts/team-access.ts";
import { type Reader, toReadable } from "./readable.ts";
import type { UserId } from "../ids.ts";

/** Removes the watches of an owner's repositories that a user may not read. */
export async function deleteUnreadableWatches(
  tx: Transaction,
  ownerId: UserId,
  reader: NonNullable<Reader>,
): Promise<void> {
  const unreadable = toUnreadable(ownerId, reader, "any");
  await tx.run(
    `DELETE FROM forge_watches WHERE user_id = ? AND repository_id IN (${unreadable.sql})`,
    reader.id,
    ...unreadable.values,
  );
}

/** Removes a user from the assignees of issues in an owner's repositories whose issues the user may not read. */
export async function deleteUnreadableAssignments(
  tx: Transaction,
  ownerId: UserId,
  reader: NonNullable<Reader>,
): Promise<void> {
  const unreadable = toUnreadable(ownerId, reader, "repo.issues");
  await tx.run(
    `DELETE FROM forge_issue_assignees WHERE user_id = ? AND issue_id IN
       (SELECT i.id FROM forge_issues i WHERE i.repository_id IN (${unreadable.sql}))`,
    reader.id,
    ...unreadable.values,
  );
}

function toUnreadable(ownerId: UserId, reader: NonNullable<Reader>, unit: UnitOrAny): Condition {
  const readable = toReadable(reader, false, unit);
  return {
    sql: `SELECT r.id FROM forge_repositories r JOIN forge_users u ON u.id = r.owner_id
          WHERE r.owner_id = ? AND NOT (${readable.sql})`,
    values: [ownerId, ...readable.values],
  };
}
