import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { emptyMailboxesOf } from "../accounts/mailboxes.ts";
import { subtractStarsOf } from "../accounts/user-counts.ts";
import { deleteSecretsOf } from "../home-secrets.ts";
import type { UserId, RepositoryId } from "../ids.ts";
import { inChunksOfIds } from "../../chunks.ts";
import { flag, id, integer, json, optional, text, initial, now } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

export type ObjectFormat = "sha1" | "sha256";

/** Settings by their names on the wire. The server returns all of them and acts on few. */
export type RepositorySettings = Readonly<Record<string, unknown>>;

const settingsSchema = z.record(z.string(), z.unknown());
const licensesSchema = z.array(z.string());
const topicsSchema = z.array(z.string());

export const repositories = defineTable("forge_repositories", {
  id: id<RepositoryId>(),
  ownerId: id<UserId>(),
  /** With the creator's case; unique among the repositories of the owner, ignoring case. */
  name: text(),
  lowerName: text(),
  description: text(),
  /** Empty when it is not set. */
  website: initial("", text()),
  /** Maintained by the functions of the issues table. */
  openIssueCount: initial(0, integer()),
  openPullCount: initial(0, integer()),
  isPrivate: flag(),
  isTemplate: flag(),
  /** When the repository was archived; undefined if it is not. Since then pushes and new issues are refused. */
  archivedAt: optional(integer()),
  /** Settings that differ from the defaults. */
  settings: json(settingsSchema),
  /** True without branches. */
  isEmpty: flag(),
  branchCount: integer(),
  /** The branch that HEAD names, which may not exist. */
  defaultBranch: text(),
  objectFormat: text<ObjectFormat>(),
  trustModel: text(),
  /** Keys of license templates. */
  licenses: json(licensesSchema),
  /** By name; written by the functions of the topics table. */
  topics: initial([], json(topicsSchema)),
  /** The one with the most bytes; empty when it is not known. */
  language: initial("", text()),
  sizeKib: integer(),
  /** The path of the files, relative to the folder of repositories, with slashes. */
  path: text(),
  /** The files must move to the path of owner and name. */
  needsMove: flag(),
  /** Maintained by the functions of the stars table. */
  starCount: initial(0, integer()),
  /** The repository from which it was forked, while that exists. */
  forkOf: optional(id<RepositoryId>()),
  forkCount: initial(0, integer()),
  /** Without drafts. Maintained by the functions of the releases table. */
  releaseCount: initial(0, integer()),
  /** The address, without credentials, from which it was imported; empty for one that began here. */
  originalUrl: initial("", text()),
  /** Whether it follows the repository at `originalUrl` and takes no pushes. */
  isMirror: initial(false, flag()),
  /** How often it follows; 0 only on request. */
  mirrorIntervalSeconds: initial(0, integer()),
  /** When branches or tags of a mirror last changed. */
  mirrorUpdatedAt: optional(integer()),
  /** When a mirror was last compared with success. */
  mirrorSyncedAt: optional(integer()),
  /** The uploaded picture in addresses; empty without one. */
  avatarHash: initial("", text()),
  createdAt: now(),
  updatedAt: now(),
});
/** A repository of the forge. Times are epoch milliseconds. */
export type ForgeRepository = RecordOf<typeof repositories>;

export type NewForgeRepository = Omit<
  ForgeRepository,
  | "id"
  | "lowerName"
  | "website"
  | "openIssueCount"
  | "openPullCount"
  | "archivedAt"
  | "starCount"
  | "forkOf"
  | "forkCount"
  | "releaseCount"
  | "avatarHash"
  | "originalUrl"
  | "isMirror"
  | "mirrorIntervalSeconds"
  | "mirrorUpdatedAt"
  | "mirrorSyncedAt"
  | "topics"
  | "language"
  | "createdAt"
  | "updatedAt"
> &
  Partial<Pick<ForgeRepository, "forkOf" | "originalUrl" | "isMirror" | "mirrorIntervalSeconds">>;

/** The members of a repository that can change. */
export type ForgeRepositoryChanges = Partial<
  Pick<
    ForgeRepository,
    | "ownerId"
    | "name"
    | "description"
    | "website"
    | "isPrivate"
    | "isTemplate"
    | "settings"
    | "isEmpty"
    | "branchCount"
    | "defaultBranch"
    | "sizeKib"
    | "path"
    | "needsMove"
    | "avatarHash"
    | "originalUrl"
    | "isMirror"
    | "mirrorIntervalSeconds"
    | "mirrorUpdatedAt"
    | "mirrorSyncedAt"
    | "updatedAt"
  >
> & { readonly archivedAt?: number | null };

/** Adds a repository. Throws `conflict` of `lower_name` when the owner has that name, of `path` when the path is taken. */
export async function insertRepository(
  tx: Transaction,
  repository: NewForgeRepository,
): Promise<ForgeRepository> {
  const state = await tx.get<{ id: RepositoryId }>(
    "UPDATE forge_repository_state SET last_repository_id = last_repository_id + 1 WHERE id = 1 RETURNING last_repository_id AS id",
  );
  if (state === undefined) throw new Error("the row of forge_repository_state is missing");
  const lowerName = repository.name.toLowerCase();
  const record = await repositories.insert(tx, { ...repository, id: state.id, lowerName });
  await adjustTotal(tx, record, 1);
  await adjustForks(tx, record.forkOf, 1);
  return record;
}

/**
 * Writes the given members of a repository, with owner or privacy only in a transaction. Returns false when it does not
 * exist. Throws `conflict` as `insertRepository` does.
 */
export async function updateRepository(
  db: Queries,
  id: RepositoryId,
  changes: ForgeRepositoryChanges,
): Promise<boolean> {
  const isCountedElsewhere = changes.isPrivate !== undefined || changes.ownerId !== undefined;
  const before = isCountedElsewhere ? await findRepositoryById(db, id) : undefined;
  if (before !== undefined) {
    await adjustTotal(db, before, -1);
    const { ownerId = before.ownerId, isPrivate = before.isPrivate } = changes;
    await adjustTotal(db, { ownerId, isPrivate }, 1);
  }
  const { archivedAt, name, ...others } = changes;
  const written = await repositories.update(
    db,
    { id },
    {
      ...others,
      ...(archivedAt !== undefined && { archivedAt: archivedAt ?? undefined }),
      ...(name !== undefined && { name, lowerName: name.toLowerCase() }),
    },
  );
  return written > 0;
}

/** Deletes a repository with its labels, watches and threads, and updates the counts. Returns whether it existed. */
export async function deleteRepository(tx: Transaction, id: RepositoryId): Promise<boolean> {
  await emptyMailboxesOf(tx, { repositoryId: id });
  await subtractStarsOf(tx, id);
  await deleteSecretsOf(tx, { kind: "repository", id });
  const deleted = await tx.get<{
    owner_id: UserId;
    is_private: number;
    fork_of: RepositoryId | null;
  }>("DELETE FROM forge_repositories WHERE id = ? RETURNING owner_id, is_private, fork_of", id);
  if (deleted === undefined) return false;
  await adjustTotal(tx, { ownerId: deleted.owner_id, isPrivate: deleted.is_private === 1 }, -1);
  await adjustForks(tx, deleted.fork_of ?? undefined, -1);
  return true;
}

async function adjustForks(
  tx: Transaction,
  parent: RepositoryId | undefined,
  by: number,
): Promise<void> {
  if (parent === undefined) return;
  await repositories.update(tx, { id: parent }, { forkCount: sql`fork_count + ${by}` });
}

async function adjustTotal(
  db: Queries,
  { ownerId, isPrivate }: Pick<ForgeRepository, "ownerId" | "isPrivate">,
  by: number,
): Promise<void> {
  await db.run(
    `INSERT INTO forge_repository_totals (owner_id, is_private, repositories) VALUES (?, ?, ?)
     ON CONFLICT (owner_id, is_private)
     DO UPDATE SET repositories = forge_repository_totals.repositories + excluded.repositories`,
    ownerId,
    Number(isPrivate),
    by,
  );
}

export async function findRepositoryById(
  db: Queries,
  id: RepositoryId,
): Promise<ForgeRepository | undefined> {
  return repositories.find(db, { id });
}

/** Returns the existing repositories of these ids, unordered. */
export async function findRepositoriesByIds(
  db: Queries,
  ids: readonly RepositoryId[],
): Promise<ForgeRepository[]> {
  return inChunksOfIds(ids, (id) => repositories.list(db, { id }));
}

/** Returns the owner's repository of a name, ignoring case. */
export async function findRepositoryByName(
  db: Queries,
  ownerId: UserId,
  name: string,
): Promise<ForgeRepository | undefined> {
  return repositories.find(db, { ownerId, lowerName: name.toLowerCase() });
}

/** Returns a fork of a repository that an account owns, the oldest if it owns several after transfers. */
export async function findForkOf(
  db: Queries,
  parent: RepositoryId,
  ownerId: UserId,
): Promise<ForgeRepository | undefined> {
  return repositories.find(db, { forkOf: parent, ownerId }, "id");
}

/** Makes the forks of a repository private, and theirs. Returns those that were public. */
export async function makeForksPrivate(
  tx: Transaction,
  parent: RepositoryId,
): Promise<readonly ForgeRepository[]> {
  const forks = await repositories.readAll(
    tx,
    `WITH RECURSIVE forks (id) AS (
       SELECT id FROM forge_repositories WHERE fork_of = ?
       UNION SELECT r.id FROM forge_repositories r JOIN forks f ON r.fork_of = f.id)
     SELECT ${repositories.columns} FROM forge_repositories
     WHERE is_private = 0 AND id IN (SELECT id FROM forks) ORDER BY id`,
    parent,
  );
  for (const { id } of forks) await updateRepository(tx, id, { isPrivate: true });
  return forks;
}

/** Returns all repositories of an owner, by name. */
export async function listRepositoriesOf(db: Queries, ownerId: UserId): Promise<ForgeRepository[]> {
  return repositories.list(db, { ownerId }, { order: "lower_name" });
}

/** Returns the lower-case names of an owner's repositories. */
export async function listRepositoryNames(db: Queries, ownerId: UserId): Promise<string[]> {
  const rows = await db.all<{ lower_name: string }>(
    "SELECT lower_name FROM forge_repositories WHERE owner_id = ?",
    ownerId,
  );
  return rows.map((row) => row.lower_name);
}

/** Returns whether an account owns a repository. */
export async function ownsRepository(db: Queries, ownerId: UserId): Promise<boolean> {
  return repositories.exists(db, { ownerId });
}

/** Returns repositories by id, after the given one, for work on all of them in batches. */
export async function listRepositoriesAfter(
  db: Queries,
  afterId: number,
  limit: number,
): Promise<ForgeRepository[]> {
  return repositories.list(db, sql`id > ${afterId}`, { order: "id", limit });
}
