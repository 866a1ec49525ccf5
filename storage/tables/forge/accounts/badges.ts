import type { Queries, Transaction } from "../../../engine/database.ts";
import type { BadgeId, UserId } from "../ids.ts";

/** The definition of a badge. */
export interface ForgeBadge {
  readonly id: BadgeId;
  /** Unique, exactly. */
  readonly slug: string;
  readonly description: string;
  readonly imageUrl: string;
}

/** Defines a badge. Throws `conflict` when the slug is taken. */
export async function insertBadge(
  tx: Transaction,
  badge: Omit<ForgeBadge, "id">,
): Promise<ForgeBadge> {
  const row = await tx.get<{ id: BadgeId }>(
    "INSERT INTO forge_badges (slug, description, image_url) VALUES (?, ?, ?) RETURNING id",
    badge.slug,
    badge.description,
    badge.imageUrl,
  );
  if (row === undefined) throw new Error("the statement for the badge returned no row");
  return { ...badge, id: row.id };
}

/** Deletes a badge and removes it from all users. False when no badge has the slug. */
export async function deleteBadge(db: Queries, slug: string): Promise<boolean> {
  const { changes } = await db.run("DELETE FROM forge_badges WHERE slug = ?", slug);
  return changes > 0;
}

/** A page of the definitions by slug, and the count of all. */
export async function listBadges(
  db: Queries,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly badges: readonly ForgeBadge[]; readonly total: number }> {
  const rows = await db.all<BadgeRow>(
    `SELECT ${columns} FROM forge_badges ORDER BY slug LIMIT ? OFFSET ?`,
    window.limit,
    window.offset,
  );
  const counted = await db.get<{ total: number }>("SELECT COUNT(*) AS total FROM forge_badges");
  return { badges: rows.map(toBadge), total: counted?.total ?? 0 };
}

export async function findBadge(db: Queries, slug: string): Promise<ForgeBadge | undefined> {
  const row = await db.get<BadgeRow>(`SELECT ${columns} FROM forge_badges WHERE slug = ?`, slug);
  return row && toBadge(row);
}

/** A person's badges, in the order in which they were given. */
export async function listBadgesOfUser(db: Queries, userId: UserId): Promise<ForgeBadge[]> {
  const rows = await db.all<BadgeRow>(
    `SELECT ${columns.replaceAll(/\w+/g, "b.$&")} FROM forge_user_badges g
     JOIN forge_badges b ON b.id = g.badge_id WHERE g.user_id = ? ORDER BY g.id`,
    userId,
  );
  return rows.map(toBadge);
}

/** Gives a person a badge. Throws `conflict` when the person has it. */
export async function giveBadge(tx: Transaction, userId: UserId, badgeId: BadgeId): Promise<void> {
  await tx.run("INSERT INTO forge_user_badges (user_id, badge_id) VALUES (?, ?)", userId, badgeId);
}

/** Removes a badge from a person. Idempotent. */
export async function takeBadge(tx: Transaction, userId: UserId, slug: string): Promise<void> {
  await tx.run(
    `DELETE FROM forge_user_badges WHERE user_id = ?
     AND badge_id IN (SELECT id FROM forge_badges WHERE slug = ?)`,
    userId,
    slug,
  );
}

interface BadgeRow {
  id: BadgeId;
  slug: string;
  description: string;
  image_url: string;
}

const columns = "id, slug, description, image_url";

function toBadge(row: BadgeRow): ForgeBadge {
  return { id: row.id, slug: row.slug, description: row.description, imageUrl: row.image_url };
}
