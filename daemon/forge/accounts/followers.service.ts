import type { Database } from "../../../storage/engine/database.ts";
import {
  deleteFollow,
  insertFollow,
  isFollowing,
  listFollowed,
  listFollowers,
} from "../../../storage/tables/forge/accounts/follows.ts";
import type { UserPage } from "../../../storage/tables/forge/accounts/user-lists.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { assertNotBlocked } from "./not-blocked.ts";
import { toReader } from "./scopes.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { getVisibleAccount } from "./users.service.ts";

/** Most accounts that one user follows. */
const FOLLOWED_MAX = 10_000;

export type Followers = ReturnType<typeof createFollowers>;

/** Users who follow users and organizations. Lists have only accounts that the caller may see. */
export function createFollowers({ db }: { readonly db: Database }) {
  return {
    listOwnFollowers: (window: PageWindow, caller: ForgeCaller): Promise<UserPage> =>
      listFollowers(db, caller.user.id, toReader(caller), toRows(window)),

    listOwnFollowed: (window: PageWindow, caller: ForgeCaller): Promise<UserPage> =>
      listFollowed(db, caller.user.id, toReader(caller), toRows(window)),

    /** Throws `not_found` for an account that is hidden from the caller. */
    async listFollowers(name: string, window: PageWindow, caller: ForgeCaller): Promise<UserPage> {
      const { id } = await getVisibleAccount(db, name, caller);
      return listFollowers(db, id, toReader(caller), toRows(window));
    },

    /** Throws `not_found` for an account that is hidden from the caller. */
    async listFollowed(name: string, window: PageWindow, caller: ForgeCaller): Promise<UserPage> {
      const { id } = await getVisibleAccount(db, name, caller);
      return listFollowed(db, id, toReader(caller), toRows(window));
    },

    /** Throws `not_found` unless the first account follows the second, and when one of them is hidden from the caller. */
    async assertFollows(
      follower: string | ForgeUser,
      followed: string,
      caller: ForgeCaller,
    ): Promise<void> {
      const { id: followerId } =
        typeof follower === "string" ? await getVisibleAccount(db, follower, caller) : follower;
      const { id: followedId } = await getVisibleAccount(db, followed, caller);
      if (!(await isFollowing(db, { followerId, followedId }))) throw notFound();
    },

    /**
     * Idempotent. Throws `not_found` for an account that is hidden from the caller. Has no effect on the caller's own
     * account.
     */
    async follow(name: string, caller: ForgeCaller): Promise<void> {
      const followerId = caller.user.id;
      await db.transaction(async (tx) => {
        const { id: followedId } = await getVisibleAccount(tx, name, caller);
        if (followedId === followerId) return;
        await assertNotBlocked(tx, followerId, [followedId]);
        await assertNotBlocked(tx, followedId, [followerId]);
        const follower = await findUserById(tx, followerId);
        if ((follower?.followingCount ?? 0) >= FOLLOWED_MAX)
          throw new AppError("forbidden", `you follow ${FOLLOWED_MAX} accounts already`);
        await insertFollow(tx, { followerId, followedId });
      });
    },

    /** Idempotent. Throws `not_found` for an account that is hidden from the caller. */
    async unfollow(name: string, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { id: followedId } = await getVisibleAccount(tx, name, caller);
        await deleteFollow(tx, { followerId: caller.user.id, followedId });
      });
    },
  };
}
