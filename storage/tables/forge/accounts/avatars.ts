import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, now, text, unread, integer } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { RepositoryId, UserId } from "../ids.ts";

const picture = {
  /** Names the object with its bytes, and the picture in its address. */
  sha256: text(),
  /** In bytes. */
  size: integer(),
  contentType: text(),
  createdAt: unread(now()),
};
const avatars = defineTable("forge_avatars", { userId: unread(id<UserId>()), ...picture });
const repositoryAvatars = defineTable("forge_repository_avatars", {
  repositoryId: unread(id<RepositoryId>()),
  ...picture,
});
/** An uploaded picture of an account. */
export type ForgeAvatar = RecordOf<typeof avatars>;

const REPLACE = `DO UPDATE SET sha256 = excluded.sha256, size = excluded.size,
  content_type = excluded.content_type, created_at = excluded.created_at`;

/** Sets the picture of an account. */
export async function putAvatar(
  tx: Transaction,
  userId: UserId,
  { sha256, size, contentType }: ForgeAvatar,
): Promise<void> {
  await avatars.upsert(
    tx,
    { userId, sha256, size, contentType },
    `ON CONFLICT (user_id) ${REPLACE}`,
  );
}

/** Deletes the picture of an account. Idempotent. */
export async function deleteAvatar(tx: Transaction, userId: UserId): Promise<void> {
  await avatars.delete(tx, { userId });
}

/** Sets the picture of a repository. */
export async function putRepositoryAvatar(
  tx: Transaction,
  repositoryId: RepositoryId,
  { sha256, size, contentType }: ForgeAvatar,
): Promise<void> {
  await repositoryAvatars.upsert(
    tx,
    { repositoryId, sha256, size, contentType },
    `ON CONFLICT (repository_id) ${REPLACE}`,
  );
}

/** Deletes the picture of a repository. Idempotent. */
export async function deleteRepositoryAvatar(
  tx: Transaction,
  repositoryId: RepositoryId,
): Promise<void> {
  await repositoryAvatars.delete(tx, { repositoryId });
}

/** Finds an uploaded picture of any account or repository by the hash in its address. */
export async function findAvatar(db: Queries, sha256: string): Promise<ForgeAvatar | undefined> {
  return (await avatars.find(db, { sha256 })) ?? repositoryAvatars.find(db, { sha256 });
}
