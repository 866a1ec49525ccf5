import { type Database, isConflict } from "../../../storage/engine/database.ts";
import {
  deleteBadge,
  findBadge,
  type ForgeBadge,
  giveBadge,
  insertBadge,
  listBadges,
  listBadgesOfUser,
  takeBadge,
} from "../../../storage/tables/forge/accounts/badges.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { userNotFound } from "../refusals.ts";

export type Badges = ReturnType<typeof createBadges>;

/** Badges and their holders. Throws `not_found` for users that do not exist. */
export function createBadges(db: Database) {
  const unknown = (slug: string) =>
    new AppError("not_found", `badge does not exist [slug: ${slug}]`);
  const idOf = async (username: string) => {
    const user = await findUserByName(db, username);
    if (user === undefined) throw userNotFound(username);
    return user.id;
  };
  return {
    /** Returns a user's badges in the order in which they were awarded. */
    listOf: async (username: string): Promise<readonly ForgeBadge[]> =>
      listBadgesOfUser(db, await idOf(username)),

    /** Awards all badges or none. Throws `not_found` for an unknown slug, `conflict` for a badge that the user has. */
    async give(username: string, slugs: readonly string[]): Promise<void> {
      const userId = await idOf(username);
      await db.transaction(async (tx) => {
        const owned = new Set((await listBadgesOfUser(tx, userId)).map(({ id }) => id));
        for (const slug of slugs) {
          const badge = await findBadge(tx, slug);
          if (badge === undefined) throw unknown(slug);
          if (owned.has(badge.id))
            throw new AppError(
              "conflict",
              `user badge already exists [user_id: ${userId}, badge_id: ${badge.id}]`,
            );
          owned.add(badge.id);
          await giveBadge(tx, userId, badge.id);
        }
      });
    },

    /** Removes badges from a user. Idempotent: unknown slugs are ignored. */
    async take(username: string, slugs: readonly string[]): Promise<void> {
      const userId = await idOf(username);
      await db.transaction(async (tx) => {
        for (const slug of slugs) await takeBadge(tx, userId, slug);
      });
    },

    /** Returns a page of the definitions by slug, and their count. */
    list: (
      window: PageWindow,
    ): Promise<{ readonly badges: readonly ForgeBadge[]; readonly total: number }> =>
      listBadges(db, toRows(window)),

    /** Defines a badge; `conflict` when the slug is taken. */
    async create(badge: Omit<ForgeBadge, "id">): Promise<ForgeBadge> {
      try {
        return await db.transaction((tx) => insertBadge(tx, badge));
      } catch (error) {
        if (!isConflict(error)) throw error;
        throw new AppError("conflict", `badge already exists [slug: ${badge.slug}]`);
      }
    },

    /** Deletes a definition and removes the badge from all users. Throws `not_found`. */
    async delete(slug: string): Promise<void> {
      if (!(await deleteBadge(db, slug))) throw unknown(slug);
    },
  };
}
