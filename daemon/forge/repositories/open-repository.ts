import type { Queries } from "../../../storage/engine/database.ts";
import type { UnitOrAny } from "../../../storage/tables/forge/accounts/team-access.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { isArchived, notFound } from "../refusals.ts";
import { type AccessLevel, findAccess, isPublic, reaches } from "./access.ts";
import type { OwnedRepository } from "./events.ts";
import { getOwned, type RepositoryPath } from "./repositories.service.ts";

/** The repository of a path, with the permission of the caller. */
export interface OpenedRepository extends OwnedRepository {
  readonly access: AccessLevel;
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
