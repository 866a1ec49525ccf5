import { z } from "zod";
import type { Queries, Row, SqlValue, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import { emptyMailboxesOf } from "../accounts/mailboxes.ts";
import { subtractStarsOf } from "../accounts/user-counts.ts";
import { deleteSecretsOf } from "../home-secrets.ts";
import type { UserId, RepositoryId } from "../ids.ts";

export type ObjectFormat = "sha1" | "sha256";

/** Settings by their names on the wire. The server returns all of them and acts on few. */
export type RepositorySettings = Readonly<Record<string, unknown>>;

const settingsSchema = z.record(z.string(), z.unknown());
const licensesSchema = z.array(z.string());
const topicsSchema = z.array(z.string());

/** A repository of the forge. Times are epoch milliseconds. */
export interface ForgeRepository {
  readonly id: RepositoryId;
  readonly ownerId: UserId;
  /** With the creator's case; unique among the repositories of the owner, ignoring case. */
  readonly name: string;
  readonly lowerName: string;
  readonly description: string;
  /** Empty when it is not set. */
  readonly website: string;
  /** Maintained by the functions of the issues table. */
  readonly openIssueCount: number;
  readonly isPrivate: boolean;
  readonly isTemplate: boolean;
  /** When the repository was archived; undefined if it is not. Since then pushes and new issues are refused. */
  readonly archivedAt: number | undefined;
  /** Settings that differ from the defaults. */
  readonly settings: RepositorySettings;
  /** True without branches. */
  readonly isEmpty: boolean;
  readonly branchCount: number;
  /** The branch that HEAD names, which may not exist. */
  readonly defaultBranch: string;
  readonly objectFormat: ObjectFormat;
  readonly trustModel: string;
  /** Keys of license templates. */
  readonly licenses: readonly string[];
  /** By name; written by the functions of the topics table. */
  readonly topics: readonly string[];
  /** The one with the most bytes; empty when it is not known. */
  readonly language: string;
  readonly sizeKib: number;
  /** The path of the files, relative to the folder of repositories, with slashes. */
  readonly path: string;
  /** The files must move to the path of owner and name. */
  readonly needsMove: boolean;
  /** Maintained by the functions of the stars table. */
  readonly starCount: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type NewForgeRepository = Omit<
  ForgeRepository,
  | "id"
  | "lowerName"
  | "website"
  | "openIssueCount"
  | "archivedAt"
  | "starCount"
  | "topics"
  | "language"
  | "createdAt"
  | "updatedAt"
>;

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
  const record: ForgeRepository = {
    ...repository,
    id: state.id,
    lowerName: repository.name.toLowerCase(),
    website: "",
    openIssueCount: 0,
    archivedAt: undefined,
    starCount: 0,
    topics: [],
    language: "",
    createdAt: tx.now,
    updatedAt: tx.now,
  };
  const row = toRow(record);
  const columns = Object.keys(row);
  await tx.run(
    `INSERT INTO forge_repositories (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ...Object.values<SqlValue>(row),
  );
  await adjustTotal(tx, record, 1);
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
  const values: Row = {};
  if (changes.ownerId !== undefined) values["owner_id"] = changes.ownerId;
  if (changes.name !== undefined) {
    values["name"] = changes.name;
    values["lower_name"] = changes.name.toLowerCase();
  }
  if (changes.description !== undefined) values["description"] = changes.description;
  if (changes.website !== undefined) values["website"] = changes.website;
  if (changes.isPrivate !== undefined) values["is_private"] = Number(changes.isPrivate);
  if (changes.isTemplate !== undefined) values["is_template"] = Number(changes.isTemplate);
  if (changes.archivedAt !== undefined) values["archived_at"] = changes.archivedAt;
  if (changes.settings !== undefined) values["settings"] = JSON.stringify(changes.settings);
  if (changes.isEmpty !== undefined) values["is_empty"] = Number(changes.isEmpty);
  if (changes.branchCount !== undefined) values["branch_count"] = changes.branchCount;
  if (changes.defaultBranch !== undefined) values["default_branch"] = changes.defaultBranch;
  if (changes.sizeKib !== undefined) values["size_kib"] = changes.sizeKib;
  if (changes.path !== undefined) values["path"] = changes.path;
  if (changes.needsMove !== undefined) values["needs_move"] = Number(changes.needsMove);
  if (changes.updatedAt !== undefined) values["updated_at"] = changes.updatedAt;
  const columns = Object.keys(values);
  if (columns.length === 0) return (await findRepositoryById(db, id)) !== undefined;
  const isCountedElsewhere = changes.isPrivate !== undefined || changes.ownerId !== undefined;
  const before = isCountedElsewhere ? await findRepositoryById(db, id) : undefined;
  if (before !== undefined) {
    await adjustTotal(db, before, -1);
    const { ownerId = before.ownerId, isPrivate = before.isPrivate } = changes;
    await adjustTotal(db, { ownerId, isPrivate }, 1);
  }
  const { changes: count } = await db.run(
    `UPDATE forge_repositories SET ${columns.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`,
    ...Object.values(values),
    id,
  );
  return count > 0;
}

/** Deletes a repository with its labels, watches and threads, and updates the counts. Returns whether it existed. */
export async function deleteRepository(tx: Transaction, id: RepositoryId): Promise<boolean> {
  await emptyMailboxesOf(tx, { repositoryId: id });
  await subtractStarsOf(tx, id);
  await deleteSecretsOf(tx, { kind: "repository", id });
  const deleted = await tx.get<{ owner_id: UserId; is_private: number }>(
    "DELETE FROM forge_repositories WHERE id = ? RETURNING owner_id, is_private",
    id,
  );
  if (deleted === undefined) return false;
  await adjustTotal(tx, { ownerId: deleted.owner_id, isPrivate: deleted.is_private === 1 }, -1);
  return true;
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
  const row = await db.get<RepositoryRow>(
    `SELECT ${repositoryColumns} FROM forge_repositories WHERE id = ?`,
    id,
  );
  return row && toRepository(row);
}

/** Returns the existing repositories of these ids, unordered. */
export async function findRepositoriesByIds(
  db: Queries,
  ids: readonly RepositoryId[],
): Promise<ForgeRepository[]> {
  if (ids.length === 0) return [];
  const rows = await db.all<RepositoryRow>(
    `SELECT ${repositoryColumns} FROM forge_repositories WHERE id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  );
  return rows.map(toRepository);
}

/** Returns the owner's repository of a name, ignoring case. */
export async function findRepositoryByName(
  db: Queries,
  ownerId: UserId,
  name: string,
): Promise<ForgeRepository | undefined> {
  const row = await db.get<RepositoryRow>(
    `SELECT ${repositoryColumns} FROM forge_repositories WHERE owner_id = ? AND lower_name = ?`,
    ownerId,
    name.toLowerCase(),
  );
  return row && toRepository(row);
}

/** Returns all repositories of an owner, by name. */
export async function listRepositoriesOf(db: Queries, ownerId: UserId): Promise<ForgeRepository[]> {
  const rows = await db.all<RepositoryRow>(
    `SELECT ${repositoryColumns} FROM forge_repositories WHERE owner_id = ? ORDER BY lower_name`,
    ownerId,
  );
  return rows.map(toRepository);
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
  const row = await db.get(
    "SELECT 1 AS found FROM forge_repositories WHERE owner_id = ? LIMIT 1",
    ownerId,
  );
  return row !== undefined;
}

/** Returns repositories by id, after the given one, for work on all of them in batches. */
export async function listRepositoriesAfter(
  db: Queries,
  afterId: number,
  limit: number,
): Promise<ForgeRepository[]> {
  const rows = await db.all<RepositoryRow>(
    `SELECT ${repositoryColumns} FROM forge_repositories WHERE id > ? ORDER BY id LIMIT ?`,
    afterId,
    limit,
  );
  return rows.map(toRepository);
}

interface RepositoryRow {
  id: RepositoryId;
  owner_id: UserId;
  name: string;
  lower_name: string;
  description: string;
  website: string;
  open_issue_count: number;
  is_private: number;
  is_template: number;
  archived_at: number | null;
  settings: string;
  is_empty: number;
  branch_count: number;
  default_branch: string;
  object_format: string;
  trust_model: string;
  licenses: string;
  topics: string;
  language: string;
  size_kib: number;
  path: string;
  needs_move: number;
  star_count: number;
  created_at: number;
  updated_at: number;
}

const repositoryColumns = [
  "id",
  "owner_id",
  "name",
  "lower_name",
  "description",
  "website",
  "open_issue_count",
  "is_private",
  "is_template",
  "archived_at",
  "settings",
  "is_empty",
  "branch_count",
  "default_branch",
  "object_format",
  "trust_model",
  "licenses",
  "topics",
  "language",
  "size_kib",
  "path",
  "needs_move",
  "star_count",
  "created_at",
  "updated_at",
].join(", ");

function toRepository(row: RepositoryRow): ForgeRepository {
  return {
    id: row.id,
    ownerId: row.owner_id,
    name: row.name,
    lowerName: row.lower_name,
    description: row.description,
    website: row.website,
    openIssueCount: row.open_issue_count,
    isPrivate: row.is_private === 1,
    isTemplate: row.is_template === 1,
    archivedAt: row.archived_at ?? undefined,
    settings: parseColumn(settingsSchema, row.settings, "forge_repositories.settings"),
    isEmpty: row.is_empty === 1,
    branchCount: row.branch_count,
    defaultBranch: row.default_branch,
    objectFormat: row.object_format === "sha256" ? "sha256" : "sha1",
    trustModel: row.trust_model,
    licenses: parseColumn(licensesSchema, row.licenses, "forge_repositories.licenses"),
    topics: parseColumn(topicsSchema, row.topics, "forge_repositories.topics"),
    language: row.language,
    sizeKib: row.size_kib,
    path: row.path,
    needsMove: row.needs_move === 1,
    starCount: row.star_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toRow(repository: ForgeRepository): { [C in keyof RepositoryRow]: SqlValue } {
  return {
    id: repository.id,
    owner_id: repository.ownerId,
    name: repository.name,
    lower_name: repository.lowerName,
    description: repository.description,
    website: repository.website,
    open_issue_count: repository.openIssueCount,
    is_private: Number(repository.isPrivate),
    is_template: Number(repository.isTemplate),
    archived_at: repository.archivedAt ?? null,
    settings: JSON.stringify(repository.settings),
    is_empty: Number(repository.isEmpty),
    branch_count: repository.branchCount,
    default_branch: repository.defaultBranch,
    object_format: repository.objectFormat,
    trust_model: repository.trustModel,
    licenses: JSON.stringify(repository.licenses),
    topics: JSON.stringify(repository.topics),
    language: repository.language,
    size_kib: repository.sizeKib,
    path: repository.path,
    needs_move: Number(repository.needsMove),
    star_count: repository.starCount,
    created_at: repository.createdAt,
    updated_at: repository.updatedAt,
  };
}
