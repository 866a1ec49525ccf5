import type { Queries, Transaction } from "../../../engine/database.ts";
import { flag, generated, id, integer, nowUnlessGiven, optional, text } from "../../columns.ts";
import { all, type Condition, sql } from "../../condition.ts";
import { defineTable, type Page, type RecordOf, type Window } from "../../table.ts";
import type { ReleaseId, RepositoryId, UserId } from "../ids.ts";
import { lockRow } from "../lock-row.ts";

const releases = defineTable("forge_releases", {
  id: generated(id<ReleaseId>()),
  repositoryId: id<RepositoryId>(),
  /** Unique in the repository. The tag of a draft may not exist. */
  tagName: text(),
  /** The branch or commit at which the tag is made unless it exists. */
  target: text(),
  title: text(),
  body: text(),
  isDraft: flag(),
  isPrerelease: flag(),
  /** Undefined once the account is deleted. */
  authorId: optional(id<UserId>()),
  createdAt: nowUnlessGiven(),
  /** Of a draft: when it was created. */
  publishedAt: integer(),
});
/** A release of a repository. Times are epoch milliseconds. */
export type ForgeRelease = RecordOf<typeof releases>;

export type NewRelease = Omit<ForgeRelease, "id" | "createdAt" | "publishedAt">;

/** The members of a release that its users set. */
export type ReleaseFields = Pick<
  ForgeRelease,
  "tagName" | "target" | "title" | "body" | "isDraft" | "isPrerelease"
>;

/** Which releases of a repository a list has; undefined is either. */
export interface ReleaseFilter {
  readonly isDraft: boolean | undefined;
  readonly isPrerelease: boolean | undefined;
}

const NEWEST_FIRST = "published_at DESC, id DESC";

/** Adds a release, published at the time of the transaction. Throws `conflict` when its tag has a release. */
export async function insertRelease(tx: Transaction, release: NewRelease): Promise<ForgeRelease> {
  await lockRow(tx, "forge_repositories", release.repositoryId);
  const made = await releases.insert(tx, { ...release, publishedAt: tx.now });
  await countReleases(tx, release.repositoryId);
  return made;
}

/** Adds a release of another server with its times. Throws `conflict` when its tag has a release. */
export async function insertImportedRelease(
  tx: Transaction,
  release: Omit<ForgeRelease, "id">,
): Promise<ForgeRelease> {
  await lockRow(tx, "forge_repositories", release.repositoryId);
  const made = await releases.insert(tx, release);
  await countReleases(tx, release.repositoryId);
  return made;
}

/** Writes the given members of a release. A draft that becomes public is published at the time of the transaction. */
export async function updateRelease(
  tx: Transaction,
  before: ForgeRelease,
  changes: Partial<ReleaseFields>,
): Promise<ForgeRelease | undefined> {
  await lockRow(tx, "forge_repositories", before.repositoryId);
  const isPublished = before.isDraft && changes.isDraft === false;
  const written = await releases.change(
    tx,
    { id: before.id },
    { ...changes, ...(isPublished ? { publishedAt: tx.now } : {}) },
  );
  await countReleases(tx, before.repositoryId);
  return written;
}

/** Deletes a release with its files. Idempotent. */
export async function deleteRelease(tx: Transaction, release: ForgeRelease): Promise<void> {
  await lockRow(tx, "forge_repositories", release.repositoryId);
  await releases.delete(tx, { id: release.id });
  await countReleases(tx, release.repositoryId);
}

/** Turns the releases of these tags into drafts. Idempotent. */
export async function turnIntoDrafts(
  tx: Transaction,
  repositoryId: RepositoryId,
  tagNames: readonly string[],
): Promise<void> {
  await lockRow(tx, "forge_repositories", repositoryId);
  for (const tagName of tagNames)
    await releases.update(tx, { repositoryId, tagName }, { isDraft: true });
  await countReleases(tx, repositoryId);
}

/** The caller has locked the row of the repository, so that no other transaction counts at the same time. */
async function countReleases(tx: Transaction, repositoryId: RepositoryId): Promise<void> {
  await tx.run(
    `UPDATE forge_repositories SET release_count =
       (SELECT COUNT(*) FROM forge_releases r WHERE r.repository_id = ? AND r.is_draft = 0)
     WHERE id = ?`,
    repositoryId,
    repositoryId,
  );
}

export async function findRelease(
  db: Queries,
  repositoryId: RepositoryId,
  by: { readonly id: ReleaseId } | { readonly tagName: string },
): Promise<ForgeRelease | undefined> {
  return releases.find(db, { repositoryId, ...by });
}

export async function findReleaseById(
  db: Queries,
  releaseId: ReleaseId,
): Promise<ForgeRelease | undefined> {
  return releases.find(db, { id: releaseId });
}

/** Returns a page of the releases of a repository, newest first. */
export async function listReleases(
  db: Queries,
  repositoryId: RepositoryId,
  filter: ReleaseFilter,
  window: Window,
): Promise<Page<ForgeRelease>> {
  return releases.page(db, toCondition(repositoryId, filter), { ...window, order: NEWEST_FIRST });
}

/** Returns the newest release that is neither a draft nor a prerelease. */
export async function findLatestRelease(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<ForgeRelease | undefined> {
  return releases.find(db, { repositoryId, isDraft: false, isPrerelease: false }, NEWEST_FIRST);
}

/** Returns the newest release of another tag, drafts aside, that was published before a moment. */
export async function findReleaseBefore(
  db: Queries,
  repositoryId: RepositoryId,
  { tagName, before }: { readonly tagName: string; readonly before: number },
): Promise<ForgeRelease | undefined> {
  return releases.find(
    db,
    sql`repository_id = ${repositoryId} AND is_draft = 0 AND tag_name <> ${tagName} AND published_at <= ${before}`,
    NEWEST_FIRST,
  );
}

function toCondition(
  repositoryId: RepositoryId,
  { isDraft, isPrerelease }: ReleaseFilter,
): Condition {
  return all([
    sql`repository_id = ${repositoryId}`,
    ...(isDraft === undefined ? [] : [sql`is_draft = ${isDraft}`]),
    ...(isPrerelease === undefined ? [] : [sql`is_prerelease = ${isPrerelease}`]),
  ]);
}
