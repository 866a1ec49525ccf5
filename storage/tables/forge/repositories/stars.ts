import type { Queries, Transaction } from "../../../engine/database.ts";
import { listVisibleUsers } from "../accounts/follows.ts";
import { addStar } from "../accounts/user-counts.ts";
import { type RecordOf, type Window, defineTable } from "../../table.ts";
import type { UserPage } from "../accounts/user-lists.ts";
import type { UserId, RepositoryId } from "../ids.ts";
import { type Reader, toReadable } from "./readable.ts";
import { findRepositoriesByIds, type ForgeRepository } from "./repositories.ts";
import { id, now } from "../../columns.ts";

const stars = defineTable("forge_stars", {
  repositoryId: id<RepositoryId>(),
  userId: id<UserId>(),
  createdAt: now(),
});

type Star = Pick<RecordOf<typeof stars>, "repositoryId" | "userId">;

/** Adds a star. Idempotent. */
export async function insertStar(tx: Transaction, star: Star): Promise<void> {
  const added = await stars.upsert(tx, star, "ON CONFLICT (repository_id, user_id) DO NOTHING");
  if (added !== undefined) await addStar(tx, star, 1);
}

/** Deletes a star. Idempotent. */
export async function deleteStar(tx: Transaction, star: Star): Promise<void> {
  const changes = await stars.delete(tx, { repositoryId: star.repositoryId, userId: star.userId });
  if (changes > 0) await addStar(tx, star, -1);
}

export async function isStarred(db: Queries, { repositoryId, userId }: Star): Promise<boolean> {
  return stars.exists(db, { repositoryId, userId });
}

/** The tables of stars and watches. */
const tables = { star: "forge_stars", watch: "forge_watches" } as const;

/** A star or a watch. */
export type RepositoryMark = keyof typeof tables;

/** Returns a page of the users who starred or watch a repository and whom the reader may see, by id, and their count. */
export function listMarkingUsers(
  db: Queries,
  mark: RepositoryMark,
  repositoryId: RepositoryId,
  { reader, window }: { readonly reader: Reader; readonly window: Window },
): Promise<UserPage> {
  const from = `${tables[mark]} m JOIN forge_users u ON u.id = m.user_id WHERE m.repository_id = ?`;
  return listVisibleUsers(db, { sql: from, values: [repositoryId] }, reader, window);
}

/**
 * Returns a page of the repositories that a user starred or watches and the reader may read, the latest marked first, and
 * their count.
 */
export async function listMarkedRepositories(
  db: Queries,
  mark: RepositoryMark,
  userId: UserId,
  {
    reader,
    isPublicOnly,
    window,
  }: {
    readonly reader: Reader;
    /** Lists only repositories that everyone may read. */
    readonly isPublicOnly: boolean;
    readonly window: Window;
  },
): Promise<{ readonly repositories: readonly ForgeRepository[]; readonly total: number }> {
  const readable = toReadable(reader, isPublicOnly);
  const from = `FROM ${tables[mark]} m JOIN forge_repositories r ON r.id = m.repository_id
    JOIN forge_users u ON u.id = r.owner_id WHERE m.user_id = ? AND (${readable.sql})`;
  const values = [userId, ...readable.values];
  const counted = await db.get<{ total: number }>(`SELECT COUNT(*) AS total ${from}`, ...values);
  const total = counted?.total ?? 0;
  if (window.offset >= total) return { repositories: [], total };
  const rows = await db.all<{ id: RepositoryId }>(
    `SELECT r.id AS id ${from} ORDER BY m.created_at DESC, r.id DESC LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  const ids = rows.map(({ id }) => id);
  const found = new Map(
    (await findRepositoriesByIds(db, ids)).map((repository) => [repository.id, repository]),
  );
  return { repositories: ids.flatMap((id) => found.get(id) ?? []), total };
}
