import type { Transaction } from "../../../engine/database.ts";
import type { UserId, RepositoryId } from "../ids.ts";

/** The counts that are stored in the row of an account, so that lists need not count. */
export type UserCount = "followerCount" | "followingCount" | "starCount";

/** Adds to the counts of a follow: those of the follower and of the account that is followed. */
export async function addFollow(
  tx: Transaction,
  { followerId, followedId }: { readonly followerId: UserId; readonly followedId: UserId },
  by: 1 | -1,
): Promise<void> {
  await tx.run(
    "UPDATE forge_users SET following_count = following_count + ? WHERE id = ?",
    by,
    followerId,
  );
  await tx.run(
    "UPDATE forge_users SET follower_count = follower_count + ? WHERE id = ?",
    by,
    followedId,
  );
}

/** Adds to the counts of a star: those of the user and of the repository. */
export async function addStar(
  tx: Transaction,
  { userId, repositoryId }: { readonly userId: UserId; readonly repositoryId: RepositoryId },
  by: 1 | -1,
): Promise<void> {
  await tx.run("UPDATE forge_users SET star_count = star_count + ? WHERE id = ?", by, userId);
  await tx.run(
    "UPDATE forge_repositories SET star_count = star_count + ? WHERE id = ?",
    by,
    repositoryId,
  );
}

/**
 * Subtracts an account that is about to be deleted from the counts of the accounts that it follows, of its followers
 * and of its starred repositories.
 */
export async function subtractCountsOf(tx: Transaction, userId: UserId): Promise<void> {
  await tx.run(
    `UPDATE forge_users SET follower_count = follower_count - 1
     WHERE id IN (SELECT followed_id FROM forge_follows WHERE follower_id = ?)`,
    userId,
  );
  await tx.run(
    `UPDATE forge_users SET following_count = following_count - 1
     WHERE id IN (SELECT follower_id FROM forge_follows WHERE followed_id = ?)`,
    userId,
  );
  await tx.run(
    `UPDATE forge_repositories SET star_count = star_count - 1
     WHERE id IN (SELECT repository_id FROM forge_stars WHERE user_id = ?)`,
    userId,
  );
}

/** Subtracts a repository that is about to be deleted from the counts of the users who starred it. */
export async function subtractStarsOf(tx: Transaction, repositoryId: RepositoryId): Promise<void> {
  await tx.run(
    `UPDATE forge_users SET star_count = star_count - 1
     WHERE id IN (SELECT user_id FROM forge_stars WHERE repository_id = ?)`,
    repositoryId,
  );
}
