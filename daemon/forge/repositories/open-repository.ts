import type {
  AccessLevel,
  GrantedRepository,
  OpenedRepository,
  RepositoryGrant,
} from "../opened.ts";
import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import type { UnitOrAny } from "../../../storage/tables/forge/accounts/team-access.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { RepositoryPart } from "../../contract/permission.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { isArchived, notFound } from "../refusals.ts";
import { assertReaches, findAccess, isPublic, reaches } from "./access.ts";
import type { OwnedRepository } from "../events.ts";
import {
  getOwned,
  noAdministrator,
  notTheOwner,
  noWriter,
  type RepositoryPath,
} from "./repositories.service.ts";
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
  tx: Transaction,
  { repository: { id }, grant }: GrantedRepository,
): Promise<GrantedRepository> {
  const repository = await findRepositoryById(tx, id);
  const owner = repository && (await findUserById(tx, repository.ownerId));
  if (repository === undefined || owner === undefined) throw notFound();
  return grantRepository(tx, { repository, owner }, grant);
}

/**
 * Finds a repository if the caller may read a unit of it. Refuses with `not_found`; redirects a former name to the
 * current one. The access of the result is the access to that unit.
 */
export async function openRepository(
  db: Queries,
  path: RepositoryPath,
  caller: ForgeCaller | undefined,
  rest: string,
  unit: UnitOrAny = "repo.code",
): Promise<OpenedRepository> {
  const owned = await getOwned(
    db,
    path,
    caller?.user,
    (current) => `/api/v1/repos/${current.owner}/${current.repo}${rest}`,
  );
  const access = await findAccess(db, owned, caller?.user, unit);
  if (!reaches(access, "read") || (isPublicOnly(caller) && !isPublic(owned))) throw notFound();
  return { ...owned, access };
}

/** Refuses a change of an archived repository with `archived`. */
export function assertNotArchived({ repository, owner }: OwnedRepository): void {
  if (repository.archivedAt !== undefined) throw isArchived(`${owner.name}/${repository.name}`);
}
