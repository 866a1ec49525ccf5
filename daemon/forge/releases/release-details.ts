import type { Queries } from "../../../storage/engine/database.ts";
import { listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import { toReleaseId } from "../../../storage/tables/forge/ids.ts";
import { listReleaseAssets } from "../../../storage/tables/forge/releases/assets.ts";
import { findRelease, type ForgeRelease } from "../../../storage/tables/forge/releases/releases.ts";
import { grantsScope } from "../accounts/scopes.ts";
import type { OwnedRepository, ReleaseDetails } from "../events.ts";
import type { GrantedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { reaches } from "../repositories/access.ts";

/** Names a release of a repository. */
export type ReleaseKey = { readonly id: number } | { readonly tagName: string };

/** Returns whether the caller may see drafts: with write access, and a token that may write. */
export function seesDrafts({ access, grant: { caller } }: GrantedRepository): boolean {
  if (caller === undefined || !reaches(access, "write")) return false;
  const { task } = caller.user;
  if (task !== undefined) return task.permissions["contents"] === "write";
  return grantsScope(caller.scope, "write", "repository");
}

/** Returns a release that the caller may see. Refuses with `not_found`. */
export async function getRelease(
  db: Queries,
  opened: GrantedRepository,
  key: ReleaseKey,
): Promise<ForgeRelease> {
  const by = "id" in key ? { id: toReleaseId(key.id) } : key;
  const found = await findRelease(db, opened.repository.id, by);
  if (found === undefined || (found.isDraft && !seesDrafts(opened))) throw notFound();
  return found;
}

/** Loads the records that the views of releases show. */
export async function loadReleases(
  db: Queries,
  { repository, owner }: OwnedRepository,
  releases: readonly ForgeRelease[],
): Promise<ReleaseDetails[]> {
  const authorIds = releases.map(({ authorId }) => authorId).filter((id) => id !== undefined);
  const authors = new Map(
    (await listUsersByIds(db, [...new Set(authorIds)])).map((user) => [user.id, user]),
  );
  const assets = await listReleaseAssets(
    db,
    releases.map(({ id }) => id),
  );
  return releases.map((release) => ({
    owned: { repository, owner },
    release,
    author: release.authorId === undefined ? undefined : authors.get(release.authorId),
    assets: assets.get(release.id) ?? [],
  }));
}

/** Loads the records of one release. */
export async function loadRelease(
  db: Queries,
  owned: OwnedRepository,
  release: ForgeRelease,
): Promise<ReleaseDetails> {
  const [details] = await loadReleases(db, owned, [release]);
  if (details === undefined) throw new Error("the release was not loaded");
  return details;
}
