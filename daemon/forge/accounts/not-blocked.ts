import type { Queries } from "../../../storage/engine/database.ts";
import { isBlockedByAny } from "../../../storage/tables/forge/accounts/blocks.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";

/** Throws `forbidden` when one of the accounts has blocked a user. */
export async function assertNotBlocked(
  db: Queries,
  userId: UserId,
  blockerIds: readonly (UserId | undefined)[],
): Promise<void> {
  const known = blockerIds.filter((each) => each !== undefined);
  if (await isBlockedByAny(db, known, userId)) throw new AppError("forbidden", "user is blocked");
}
