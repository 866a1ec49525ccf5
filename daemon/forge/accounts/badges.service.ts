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

/** Badges and their holders. Throws `not_found` for users that do not exist. */
export interface Badges {
  /** Returns a user's badges in the order in which they were awarded. */
  listOf(username: string): Promise<readonly ForgeBadge[]>;
  /** Awards all badges or none. Throws `not_found` for an unknown slug, `conflict` for a badge that the user has. */
  give(username: string, slugs: readonly string[]): Promise<void>;
  /** Removes badges from a user. Idempotent: unknown slugs are ignored. */
  take(username: string, slugs: readonly string[]): Promise<void>;
  /** Returns a page of the definitions by slug, and their count. */
  list(
    window: PageWindow,
  ): Promise<{ readonly badges: readonly ForgeBadge[]; readonly total: number }>;
  /** Defines a badge; `conflict` when the slug is taken. */
  create(badge: Omit<ForgeBadge, "id">): Promise<ForgeBadge>;
  /** Deletes a definition and removes the badge from all users. Throws `not_found`. */
  delete(slug: string): Promise<void>;
}

export function createBadges(db: Database): Badges {
  const unknown = (slug: string) =>
    new AppError("not_found", `badge does not exist [slug: ${slug}]`);
  const idOf = async (username: string) => {
    const user = await findUserByName(db, username);
    if (user === undefined) throw userNotFound(username);
    return user.id;
  };
  return {
    listOf: async (username) => listBadgesOfUser(db, await idOf(username)),

    async give(username, slugs) {
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

    async take(username, slugs) {
      const userId = await idOf(username);
      await db.transaction(async (tx) => {
        for (const slug of slugs) await takeBadge(tx, userId, slug);
      });
    },

    list: (window) => listBadges(db, toRows(window)),

    async create(badge) {
      try {
        return await db.transaction((tx) => insertBadge(tx, badge));
      } catch (error) {
        if (!isConflict(error)) throw error;
        throw new AppError("conflict", `badge already exists [slug: ${badge.slug}]`);
      }
    },

    async delete(slug) {
      if (!(await deleteBadge(db, slug))) throw unknown(slug);
    },
  };
}
