import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { hashFile } from "../cache/cache-hits.ts";
import type { DataDirectory } from "../data-directory.ts";
import type { Queries } from "../engine/database.ts";
import { openSqlite } from "../engine/sqlite.ts";
import { openSqliteReader } from "../engine/sqlite-reader.ts";
import { type Git, GitError, type GitProcess } from "../git/git.ts";
import { readBranches, WIKI_FOLDER } from "../git/refs.ts";
import { listKeys } from "../objects/file-objects.ts";
import { isObjectReferenced, listObjectReferences } from "../tables/common/object-references.ts";
import type { RepositoryId } from "../tables/forge/ids.ts";
import {
  findRepositoryById,
  listRepositoriesAfter,
} from "../tables/forge/repositories/repositories.ts";
import { listCacheEntriesAfter } from "../tables/vault/cache.ts";
import {
  deleteUpload,
  listUploadIds,
  UPLOAD_EXPIRES_AFTER_MS,
  uploadExists,
} from "../tables/vault/uploads.ts";

export interface CheckHomeOptions {
  readonly directory: DataDirectory;
  /** The folder of repositories, which may lie outside of the data directory. */
  readonly repositories: string;
  /** The folder of unfinished uploads, which may lie outside of the data directory. */
  readonly uploads: string;
  readonly git: Git;
  /**
   * Repairs what can be repaired without losing anything: damaged objects move to quarantine, where an equal upload
   * replaces them; damaged cache files, objects without references, files that belong to no upload and uploads without a
   * file are deleted. Needs the instance lock.
   */
  readonly repair: boolean;
  /** False when objects are in a bucket, where each read verifies them. */
  readonly hasObjectFiles: boolean;
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Called before each check of an object, repository or file, for progress. */
  readonly onProgress: (part: CheckedPart, name: string) => void;
}

export type CheckedPart = "database" | "object" | "repository" | "cache" | "upload";

/** One problem of a home. */
export interface CheckFinding {
  readonly part: CheckedPart;
  /** The faulty subject: the SHA-256 of an object, `owner/name.git`, the key of a cache file, the id of an upload. */
  readonly name: string;
  readonly problem: string;
  readonly isRepaired: boolean;
}

/**
 * Checks a home with an embedded database, whether a daemon serves it or not, and yields the faults. Reads the bytes
 * of all objects and cache files, so it takes time in proportion to their size. Data that is deleted while the check
 * runs is not reported. @throws StorageError when the database cannot be opened
 */
export async function* checkHome(
  options: CheckHomeOptions,
): AsyncGenerator<CheckFinding, void, void> {
  const { directory, onProgress } = options;
  const db = openSqliteReader(directory.database);
  try {
    onProgress("database", directory.database);
    for (const problem of db.integrityCheck())
      yield { part: "database", name: directory.database, problem, isRepaired: false };
    if (options.hasObjectFiles) {
      yield* checkObjects(db, options);
      yield* checkOrphans(db, options);
    }
    yield* checkRepositories(db, options);
    yield* checkCache(db, options);
    yield* checkUploads(db, options);
  } finally {
    db.close();
  }
}

async function* checkObjects(
  db: Queries,
  { directory, repair, signal, onProgress }: CheckHomeOptions,
): AsyncGenerator<CheckFinding, void, void> {
  const references = readAll(
    (after) => listObjectReferences(db, after, ROWS_PER_PAGE),
    ({ sha256 }) => sha256,
    "",
  );
  for await (const { sha256, size } of references) {
    signal.throwIfAborted();
    onProgress("object", sha256);
    const path = join(directory.packages, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    const found = await inspectFile(path, sha256, size);
    // If the row was deleted meanwhile, its object may be missing.
    if (found === "intact" || !(await isObjectReferenced(db, sha256))) continue;
    const isRepaired = repair && found === "damaged";
    if (isRepaired) await quarantine(directory.packages, path, sha256);
    const problem = isRepaired ? "is damaged; it was moved to quarantine" : `is ${found}`;
    yield { part: "object", name: sha256, problem, isRepaired };
  }
}

/** A running daemon deletes objects without references after a day: older ones are what it has failed to delete. */
async function* checkOrphans(
  db: Queries,
  { directory, repair, signal, clock }: CheckHomeOptions,
): AsyncGenerator<CheckFinding, void, void> {
  for await (const sha256 of listKeys(directory.packages)) {
    signal.throwIfAborted();
    const path = join(directory.packages, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    const file = await stat(path).catch(ifMissing);
    const isOld = file !== undefined && file.mtimeMs < clock() - ORPHAN_AGE_MS;
    if (!isOld || (await isObjectReferenced(db, sha256))) continue;
    if (repair) await rm(path, { force: true });
    const problem = repair
      ? "was an orphan; it was deleted"
      : "is an orphan: nothing has referred to it for two days";
    yield { part: "object", name: sha256, problem, isRepaired: repair };
  }
}

async function quarantine(folder: string, path: string, sha256: string): Promise<void> {
  const target = join(folder, "quarantine");
  await mkdir(target, { recursive: true, mode: 0o700 });
  await rename(path, join(target, `${sha256}-${randomUUID()}`));
}

async function* checkRepositories(
  db: Queries,
  { repositories, git, signal, onProgress }: CheckHomeOptions,
): AsyncGenerator<CheckFinding, void, void> {
  const rows = readAll(
    (after) => listRepositoriesAfter(db, after, ROWS_PER_PAGE),
    ({ id }) => id,
    0,
  );
  for await (const { id, path } of rows) {
    signal.throwIfAborted();
    onProgress("repository", path);
    const folder = join(repositories, path);
    const problem =
      (await findRepositoryProblem(git, folder, signal)) ??
      (await findLostBranches(db, id, git, folder)) ??
      (await findWikiProblem(git, folder, signal));
    // The repository may have been renamed or deleted meanwhile.
    if (problem === undefined || (await findRepositoryById(db, id))?.path !== path) continue;
    yield { part: "repository", name: path, problem, isRepaired: false };
  }
}

/** A repository has a wiki when a page was written. */
async function findWikiProblem(
  git: Git,
  folder: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const wiki = join(folder, WIKI_FOLDER);
  if ((await stat(wiki).catch(ifMissing)) === undefined) return undefined;
  const problem = await findRepositoryProblem(git, wiki, signal);
  return problem && `its wiki: ${problem}`;
}

/** Finds a repository without branches that should have some, which git does not count as damage. */
async function findLostBranches(
  db: Queries,
  id: RepositoryId,
  git: Git,
  folder: string,
): Promise<string | undefined> {
  try {
    const { branches } = await readBranches(git, folder);
    // Read after the branches: a first push that has ended since has changed the row.
    const isExpected = (await findRepositoryById(db, id))?.isEmpty === false;
    return branches.length === 0 && isExpected ? "has lost its branches" : undefined;
  } catch (error) {
    if (error instanceof GitError) return `git cannot list its branches: ${error.message}`;
    throw error;
  }
}

/** Starts `git fsck`; undefined where the folder is missing. */
function startFsck(git: Git, directory: string): GitProcess | undefined {
  try {
    return git.start(["fsck", "--full", "--no-dangling", "--no-progress"], { directory });
  } catch (error) {
    if (error instanceof GitError && error.code === "moved") return undefined;
    throw error;
  }
}

async function findRepositoryProblem(
  git: Git,
  folder: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const child = startFsck(git, folder);
  if (child === undefined) return "has no folder";
  const stop = () => child.stop();
  signal.addEventListener("abort", stop, { once: true });
  child.stdout.resume();
  child.stdin.end();
  const { exitCode, stderr } = await child.ended;
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  if (exitCode === 0) return undefined;
  return `git found damage: ${stderr.trim().split("\n")[0] ?? ""}`;
}

/** A cache may lose any file; only a file with changed bytes is a problem. */
async function* checkCache(
  db: Queries,
  { directory, repair, signal, onProgress }: CheckHomeOptions,
): AsyncGenerator<CheckFinding, void, void> {
  const store = await readFile(join(directory.cache, "store-id"), "utf8").catch(ifMissing);
  if (store === undefined) return;
  const entries = readAll(
    (after) => listCacheEntriesAfter(db, store.trim(), after, ROWS_PER_PAGE),
    ({ key }) => key,
    "",
  );
  for await (const { key, hash, size } of entries) {
    signal.throwIfAborted();
    onProgress("cache", key);
    const path = join(directory.cache, key.slice(0, 2), key.slice(2, 4), key);
    if ((await inspectFile(path, hash, size)) !== "damaged") continue;
    if (repair) await rm(path, { force: true });
    const problem = repair ? "was damaged; it was deleted" : "is damaged";
    yield { part: "cache", name: key, problem, isRepaired: repair };
  }
}

/** An unfinished upload needs both its file and its row; without either, its sender starts again. */
async function* checkUploads(
  db: Queries,
  { directory, uploads, repair, signal, clock, onProgress }: CheckHomeOptions,
): AsyncGenerator<CheckFinding, void, void> {
  // The row is written first, and its file a moment later.
  const begun = new Set(await listUploadIds(db, clock() - BEGINNING_MS));
  const files = (await readdir(uploads).catch(ifMissing)) ?? [];
  for (const name of new Set([...begun, ...files])) {
    signal.throwIfAborted();
    onProgress("upload", name);
    const path = join(uploads, name);
    const file = await stat(path).catch(ifMissing);
    const hasRow = await uploadExists(db, name);
    if (file === undefined && hasRow && begun.has(name)) {
      if (repair) await endUpload(directory.database, name, clock);
      const problem = repair ? "had lost its bytes; it was ended" : "has lost its bytes";
      yield { part: "upload", name, problem, isRepaired: repair };
    }
    // The row of a deleted connection goes at once; a job deletes the file when the upload would have expired.
    if (file !== undefined && !hasRow && file.mtimeMs < clock() - UPLOAD_EXPIRES_AFTER_MS) {
      if (repair) await rm(path, { force: true });
      const problem = repair ? "belonged to no upload; it was deleted" : "belongs to no upload";
      yield { part: "upload", name, problem, isRepaired: repair };
    }
  }
}

async function endUpload(database: string, id: string, clock: () => number): Promise<void> {
  const db = openSqlite({ path: database, clock });
  try {
    await deleteUpload(db, id);
  } finally {
    await db.close();
  }
}

async function inspectFile(
  path: string,
  sha256: string,
  size: number | null,
): Promise<"intact" | "missing" | "damaged"> {
  const file = await open(path, "r").catch(ifMissing);
  if (file === undefined) return "missing";
  try {
    const hasSize = size === null || (await file.stat()).size === size;
    return hasSize && (await hashFile(file)) === sha256 ? "intact" : "damaged";
  } finally {
    await file.close();
  }
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}

const ROWS_PER_PAGE = 1_000;

/** Age from which an object without references is reported. */
const ORPHAN_AGE_MS = 2 * 86_400_000;

/** Longest time between the row of an upload and its file. */
const BEGINNING_MS = 60_000;

/** Reads rows page by page: an open cursor would hold back the checkpoints of a daemon that serves the home. */
async function* readAll<Row, Key>(
  readPage: (after: Key) => Promise<readonly Row[]>,
  keyOf: (row: Row) => Key,
  start: Key,
): AsyncGenerator<Row, void, void> {
  for (let after = start; ;) {
    const rows = await readPage(after);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = keyOf(last);
  }
}
