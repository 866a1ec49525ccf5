import type { Queries, Transaction } from "../../../engine/database.ts";
import type { BadgeId, UserId } from "../ids.ts";
import { generated, id, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

const badges = defineTable("forge_badges", {
  id: generated(id<BadgeId>()),
  /** Unique, exactly. */
  slug: text(),
  description: text(),
  imageUrl: text(),
});
/** The definition of a badge. */
export type ForgeBadge = RecordOf<typeof badges>;

const userBadges = defineTable("forge_user_badges", {
  userId: id<UserId>(),
  badgeId: id<BadgeId>(),
});

/** Defines a badge. Throws `conflict` when the slug is taken. */
export async function insertBadge(
  tx: Transaction,
  badge: Omit<ForgeBadge, "id">,
): Promise<ForgeBadge> {
  const row = await badges.insert(tx, badge);
  return { ...badge, id: row.id };
}

/** Deletes a badge and removes it from all users. False when no badge has the slug. */
export async function deleteBadge(db: Queries, slug: string): Promise<boolean> {
  return (await badges.delete(db, { slug })) > 0;
}

/** A page of the definitions by slug, and the count of all. */
export async function listBadges(
  db: Queries,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly badges: readonly ForgeBadge[]; readonly total: number }> {
  const rows = await badges.list(db, {}, { order: "slug", ...window });
  const total = await badges.count(db, {});
  return { badges: rows, total };
}

export async function findBadge(db: Queries, slug: string): Promise<ForgeBadge | undefined> {
  return badges.find(db, { slug });
}

/** A person's badges, in the order in which they were given. */
export async function listBadgesOfUser(db: Queries, userId: UserId): Promise<ForgeBadge[]> {
  const from = sql`forge_user_badges g JOIN forge_badges b ON b.id = g.badge_id WHERE g.user_id = ${userId}`;
  return badges.as("b").list(db, from, { order: "g.id" });
}

/** Gives a person a badge. Throws `conflict` when the person has it. */
export async function giveBadge(tx: Transaction, userId: UserId, badgeId: BadgeId): Promise<void> {
  await userBadges.insert(tx, { userId, badgeId });
}

/** Removes a badge from a person. Idempotent. */
export async function takeBadge(tx: Transaction, userId: UserId, slug: string): Promise<void> {
  await userBadges.delete(
    tx,
    sql`user_id = ${userId} AND badge_id IN (SELECT id FROM forge_badges WHERE slug = ${slug})`,
  );
}
