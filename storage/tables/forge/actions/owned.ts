import type { Condition } from "../../condition.ts";
import { type Reader, toReadable } from "../repositories/readable.ts";
import type { UserId } from "../ids.ts";

/** The repositories of an owner whose workflows a reader may see. */
export interface OwnedBy {
  readonly ownerId: UserId;
  readonly reader: Reader;
  readonly isPublicOnly: boolean;
}

/** Returns the condition for rows of these repositories, over the column `repository_id`. */
export function toOwned({ ownerId, reader, isPublicOnly }: OwnedBy): Condition {
  const readable = toReadable(reader, isPublicOnly, "repo.actions");
  return {
    sql: `repository_id IN (SELECT r.id FROM forge_repositories r JOIN forge_users u ON u.id = r.owner_id
          WHERE r.owner_id = ? AND (${readable.sql}))`,
    values: [ownerId, ...readable.values],
  };
}
