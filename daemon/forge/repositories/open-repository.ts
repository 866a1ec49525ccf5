import type { AccessLevel, GrantedRepository, RepositoryGrant } from "../opened.ts";
import type { Queries } from "../../../storage/engine/database.ts";
import type { UnitOrAny } from "../../../storage/tables/forge/accounts/team-access.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { RepositoryPart } from "../../contract/permission.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { isArchived, notFound } from "../refusals.ts";
import { assertReaches, findAccess, isPublic, reaches } from "./access.ts";
import type { OwnedRepository } from "../events.ts";
import { findOwned, type RepositoryPath } from "./find-repository.ts";
import { noAdministrator, notTheOwner, noWriter } from "./access.ts";
import {
  hasActions,
  keepsCode,
  keepsIssues,
  keepsPulls,
  keepsReleases,
  keepsWiki,
} from "./repository-settings.view.ts";

type SinglePart = Exclude<RepositoryPart, "issues_or_pulls">;

const UNITS: Readonly<Record<SinglePart, UnitOrAny>> = {
  code: "repo.code",
  issues: "repo.issues",
  pulls: "repo.pulls",
  releases: "repo.releases",
  wiki: "repo.wiki",
  actions: "repo.actions",
  any: "any",
};

/** Whether a part is in use. A part without a function always is. */
const KEEPS: Partial<Record<RepositoryPart, (repository: ForgeRepository) => boolean>> = {
  code: ({ settings }) => keepsCode(settings),
  issues: ({ settings }) => keepsIssues(settings),
  pulls: ({ settings }) => keepsPulls(settings),
  releases: ({ settings }) => keepsReleases(settings),
  wiki: ({ settings }) => keepsWiki(settings),
  actions: hasActions,
};

/**
 * Grants an operation on a repository. Refuses with `not_found` a caller who may not read the part, and when that part
 * is disabled; with `forbidden` a caller below the level; with `archived` a change of an archived repository.
 */
export async function grantRepository(
  db: Queries,
  { repository, owner }: OwnedRepository,
  grant: RepositoryGrant,
): Promise<GrantedRepository> {
  const { caller, permission, isChange } = grant;
  const { part, evenOff } = permission;
  const level = permission.checkedBy === "service" ? "read" : permission.level;
  const owned = { repository, owner };
  const parts: readonly SinglePart[] = part === "issues_or_pulls" ? ["issues", "pulls"] : [part];
  let access: AccessLevel = "none";
  for (const each of parts) {
    if (evenOff !== true && KEEPS[each]?.(repository) === false) continue;
    const own = await findAccess(db, owned, caller?.user, UNITS[each]);
    if (reaches(own, access)) access = own;
  }
  if (!reaches(access, "read") || (isPublicOnly(caller) && !isPublic(owned))) throw notFound();
  const opened = { ...owned, access, grant };
  if (!reaches(access, level)) {
    if (level === "owner") throw notTheOwner();
    if (level === "admin") throw noAdministrator();
    if (level === "write" && part !== "actions") throw noWriter();
    assertReaches(opened, level);
  }
  if (isChange) assertNotArchived(opened);
  return opened;
}

/**
 * Opens a repository again in the transaction of a change, so that the change is refused when a right or the
 * repository's state changed since. Refuses as `grantRepository` does.
 */
export async function reopenRepository(
  db: Queries,
  { repository: { id }, grant }: GrantedRepository,
): Promise<GrantedRepository> {
  const repository = await findRepositoryById(db, id);
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (repository === undefined || owner === undefined) throw notFound();
  return grantRepository(db, { repository, owner }, grant);
}

/**
 * Opens a repository that a body or a page names, for reading. A former name is not found, because only an address can
 * be redirected.
 */
export async function openNamedRepository(
  db: Queries,
  path: RepositoryPath,
  grant: Omit<RepositoryGrant, "isChange">,
): Promise<GrantedRepository> {
  const owned = await findOwned(db, path);
  if (owned === undefined || owned.isFormer) throw notFound();
  return grantRepository(db, owned, { ...grant, isChange: false });
}

/** Refuses a change of an archived repository with `archived`. */
export function assertNotArchived({ repository, owner }: OwnedRepository): void {
  if (repository.archivedAt !== undefined) throw isArchived(`${owner.name}/${repository.name}`);
}
