import type { Queries } from "../../../storage/engine/database.ts";
import { findRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { findRepositoryRedirect } from "../../../storage/tables/forge/repositories/redirects.ts";
import {
  findRepositoryById,
  findRepositoryByName,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { AppError } from "../../errors.ts";
import type { OwnedRepository } from "../events.ts";
import { movedTo, notFound } from "../refusals.ts";
import { findAccess, reaches } from "./access.ts";

/**
 * Finds a repository by name without checking permissions. Refuses with `not_found`. A former name of the owner or of
 * the repository redirects to `toAddress` of the current name if the viewer may read the repository.
 */
export async function getOwned(
  db: Queries,
  path: RepositoryPath,
  viewer: ForgeUser | undefined,
  toAddress: (current: RepositoryPath) => string,
): Promise<OwnedRepository> {
  const found = await findOwned(db, path);
  if (found === undefined) throw notFound();
  if (!found.isFormer) return found;
  if (!reaches(await findAccess(db, found, viewer, "any"), "read")) throw notFound();
  throw repositoryMoved(found, toAddress);
}

/** The redirect from a former name of a repository. */
export function repositoryMoved(
  { repository, owner }: OwnedRepository,
  toAddress: (current: RepositoryPath) => string = (current) =>
    `/api/v1/repos/${current.owner}/${current.repo}`,
): AppError {
  const names = { owner: owner.name, repo: repository.name };
  const encoded = { owner: encodeURIComponent(names.owner), repo: encodeURIComponent(names.repo) };
  return movedTo(toAddress(encoded), names);
}

/** The names of a repository in a path. */
export interface RepositoryPath {
  readonly owner: string;
  readonly repo: string;
}

/** A repository, and whether it was found by a former name. */
export interface FoundRepository extends OwnedRepository {
  readonly isFormer: boolean;
}

/** Finds a repository by its current name or a former one, without checking permissions. */
export async function findOwned(
  db: Queries,
  { owner: ownerName, repo }: RepositoryPath,
): Promise<FoundRepository | undefined> {
  const named = await findUserByName(db, ownerName);
  const formerId = named === undefined ? await findRedirect(db, ownerName) : undefined;
  const owner = named ?? (formerId === undefined ? undefined : await findUserById(db, formerId));
  if (owner === undefined) return undefined;
  const current = await findRepositoryByName(db, owner.id, repo);
  if (current !== undefined) return { repository: current, owner, isFormer: named === undefined };
  const redirectedId = await findRepositoryRedirect(db, owner.id, repo);
  const former =
    redirectedId === undefined ? undefined : await findRepositoryById(db, redirectedId);
  // The owner may have changed since the redirect was recorded.
  const formerOwner = former && (await findUserById(db, former.ownerId));
  return former && formerOwner && { repository: former, owner: formerOwner, isFormer: true };
}
