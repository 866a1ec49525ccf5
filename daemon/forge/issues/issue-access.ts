import type { Database, Queries } from "../../../storage/engine/database.ts";
import { findIssue, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { isArchived, notFound } from "../refusals.ts";
import { type AccessLevel, findAccess, isPublic, reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import { getOwned, type RepositoryPath } from "../repositories/repositories.service.ts";
import { keepsIssues } from "../repositories/repository-settings.view.ts";

/** A repository as a path names it, with what the caller may do. */
export interface OpenedRepository extends OwnedRepository {
  readonly access: AccessLevel;
}

/** The repository of a path, as far as the caller may read it. Refuses with `not_found`; former names with today's address. */
export async function openRepository(
  db: Database,
  path: RepositoryPath,
  caller: ForgeCaller | undefined,
  rest: string,
): Promise<OpenedRepository> {
  const what = await getOwned(
    db,
    path,
    caller?.user,
    (today) => `/api/v1/repos/${today.owner}/${today.repo}${rest}`,
  );
  const access = await findAccess(db, what, caller?.user);
  if (!reaches(access, "read")) throw notFound();
  if (isPublicOnly(caller) && !isPublic(what))
    throw new AppError("forbidden", "token scope is limited to public repos");
  return { ...what, access };
}

/** The same, where its issues are what is asked for: refuses with `not_found` also where there are none. */
export async function openIssues(
  ...path: Parameters<typeof openRepository>
): Promise<OpenedRepository> {
  const opened = await openRepository(...path);
  if (!keepsIssues(opened.repository.settings)) throw notFound();
  return opened;
}

/** Refuses with 423 what would add to an archived repository. */
export function assertNotArchived({ repository, owner }: OwnedRepository): void {
  if (repository.archivedAt !== undefined) throw isArchived(`${owner.name}/${repository.name}`);
}

/** The issue of a number in a repository. Refuses with `not_found`. */
export async function openIssue(
  db: Queries,
  { repository }: OwnedRepository,
  number: number,
): Promise<ForgeIssue> {
  const issue = await findIssue(db, repository.id, number);
  if (issue === undefined) throw notFound();
  return issue;
}

/** Whether somebody may change what somebody else wrote, or assign people. */
export function canWrite({ access }: OpenedRepository): boolean {
  return reaches(access, "write");
}

/** Refuses with `forbidden` whom neither the text belongs to nor may change those of others. */
export function assertMayChange(
  opened: OpenedRepository,
  authorId: number | undefined,
  user: ForgeUser,
): void {
  if (authorId !== user.id && !canWrite(opened))
    throw new AppError("forbidden", "user should be the author or have write access");
}
