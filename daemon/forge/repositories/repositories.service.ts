import type { Queries } from "../../../storage/engine/database.ts";
import {
  deleteRepository,
  findRepositoryById,
  findRepositoryByName,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { insertChore } from "../../../storage/tables/forge/repositories/moves.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { findRepositoryRedirect } from "../../../storage/tables/forge/repositories/redirects.ts";
import {
  isOfferedTo,
  listRepositoryMakers,
} from "../../../storage/tables/forge/repositories/transfers.ts";
import { findRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedOrganization } from "../opened.ts";
import { movedTo, notFound } from "../refusals.ts";
import { assertScope, findAccess, reaches } from "./access.ts";
import {
  createRepository,
  type CreateRepositoryDeps,
  type CreateRepositoryOptions,
  type RepositoryExtras,
} from "./create-repository.ts";
import {
  editRepository,
  type EditRepositoryDeps,
  type RepositoryEdits,
} from "./edit-repository.ts";
import type { OwnedRepository } from "../events.ts";
import { enqueueCleanup } from "./folder-moves.ts";
import { withParents } from "./parents.ts";
import type { RepositoryDetails } from "./repository.view.ts";
import { findPendingTransfer } from "./pending-transfer.ts";

export type Repositories = ReturnType<typeof createRepositoriesService>;

export interface RepositoriesDeps extends CreateRepositoryDeps, EditRepositoryDeps {}

/** Repositories with their files. A repository that the caller may not read is reported as missing. */
export function createRepositoriesService(deps: RepositoriesDeps) {
  const { db, moves, emit, enqueue } = deps;
  return {
    /** Creates a repository for any account, see `createRepository`. */
    create,

    /**
     * Creates a repository that the caller owns. Throws as `createRepository` does, and `forbidden` for a private one
     * with a public-only token.
     */
    async createOwn(
      options: CreateRepositoryOptions,
      caller: ForgeCaller,
    ): Promise<RepositoryDetails> {
      return create(caller.user.name, options, caller.user, async (_db, owner) =>
        assertMayBePrivate(options, owner, caller),
      );
    },

    /**
     * Creates a repository in an organization. Throws as `createOwn` does, and `forbidden` unless a team of the caller may
     * create repositories there.
     */
    createInOrganization(
      { organization }: GrantedOrganization,
      options: CreateRepositoryOptions,
      caller: ForgeCaller,
    ): Promise<RepositoryDetails> {
      return create(organization.name, options, caller.user, async (queries, owner) => {
        if (owner.id !== organization.id || !(await mayCreateIn(queries, owner, caller.user)))
          throw new AppError(
            "forbidden",
            "Given user is not allowed to create repository in organization.",
          );
        assertMayBePrivate(options, owner, caller);
      });
    },

    /**
     * Returns a repository that the caller may read. Refuses with `not_found`; a former name of the repository or of its
     * owner redirects to the current one.
     */
    get,

    /** Returns a repository as `get` does. */
    async getById(id: RepositoryId, caller: ForgeCaller): Promise<RepositoryDetails> {
      const repository = await findRepositoryById(db, id);
      const owner = repository && (await findUserById(db, repository.ownerId));
      if (repository === undefined || owner === undefined) throw notFound();
      return get(owner.name, repository.name, caller);
    },

    /**
     * Changes a repository; see `editRepository`. Refuses a caller who may not read it with `not_found`, and one who does
     * not administer it with `forbidden`.
     */
    async edit(
      ownerName: string,
      name: string,
      edits: RepositoryEdits,
      caller: ForgeCaller,
    ): Promise<RepositoryDetails> {
      const details = await get(ownerName, name, caller);
      if (!reaches(details.access, "admin")) throw noAdministrator();
      await editRepository(deps, details, edits, caller.user);
      const repository = await findRepositoryById(db, details.repository.id);
      const owner = repository && (await findUserById(db, repository.ownerId));
      if (repository === undefined || owner === undefined) throw notFound();
      return { ...details, repository, owner };
    },

    /**
     * Deletes a repository; a job deletes its files. Refuses a caller who may not read it with `not_found`, and one who
     * does not own it with `forbidden`.
     */
    async remove(ownerName: string, name: string, caller: ForgeCaller): Promise<void> {
      const path = await db.transaction(async (tx) => {
        const { repository, owner, access } = await getFrom(tx, ownerName, name, caller);
        if (!reaches(access, "owner")) throw notTheOwner();
        await emit(tx, "repository.deleted", { repository, owner, actor: caller.user });
        await deleteRepository(tx, repository.id);
        await insertChore(tx, { kind: "remove", path: repository.path, target: undefined });
        await enqueueCleanup(enqueue, tx);
        return repository.path;
      });
      // Moves the files before the response, so that the name is free for a new repository. The job retries a failed
      // move.
      await moves.completeAt(path);
    },
  };

  async function create(
    ownerName: string,
    options: CreateRepositoryOptions,
    actor: ForgeUser,
    admit?: RepositoryExtras["admit"],
  ): Promise<RepositoryDetails> {
    const extras = admit === undefined ? {} : { admit };
    const made = await createRepository(deps, ownerName, options, actor, extras);
    const watchers = (await countWatchers(db, [made.repository.id])).get(made.repository.id) ?? 0;
    const access = await findAccess(db, made, actor);
    return { ...made, watchers, access, isSignedIn: true };
  }

  function get(
    ownerName: string,
    name: string,
    caller: ForgeCaller | undefined,
  ): Promise<RepositoryDetails> {
    return getFrom(db, ownerName, name, caller);
  }
}

async function getFrom(
  db: Queries,
  ownerName: string,
  name: string,
  caller: ForgeCaller | undefined,
): Promise<RepositoryDetails> {
  const path = { owner: ownerName, repo: name };
  const { repository, owner } = await getOwned(
    db,
    path,
    caller?.user,
    (current) => `/api/v1/repos/${current.owner}/${current.repo}`,
  );
  const owned = { repository, owner };
  if (!reaches(await findAccess(db, owned, caller?.user, "any"), "read")) throw notFound();
  const access = await findAccess(db, owned, caller?.user);
  assertScope(caller?.scope, "read", { repository, owner });
  const watchers = (await countWatchers(db, [repository.id])).get(repository.id) ?? 0;
  const isSignedIn = caller !== undefined;
  // Only the recipient and the owner see a pending transfer.
  const transfer =
    reaches(access, "admin") || (caller && (await isOfferedTo(db, repository.id, caller.user.id)))
      ? await findPendingTransfer(db, repository.id)
      : undefined;
  const details = { repository, owner, watchers, access, isSignedIn, transfer };
  return (await withParents(db, [details], caller))[0] ?? details;
}

/** Returns whether a user is a site administrator or belongs to a team that may create repositories of an organization. */
export async function mayCreateIn(
  db: Queries,
  organization: ForgeUser,
  user: ForgeUser,
): Promise<boolean> {
  return user.isAdmin || (await listRepositoryMakers(db, organization.id)).includes(user.id);
}

/** Throws for a public-only token, which could not read the private repository that it creates. */
export function assertMayBePrivate(
  options: Pick<CreateRepositoryOptions, "isPrivate">,
  owner: ForgeUser,
  caller: ForgeCaller,
): void {
  if (isPublicOnly(caller) && (options.isPrivate || owner.visibility !== "public"))
    throw new AppError("forbidden", "token scope is limited to public repos");
}

/** The refusal of a caller who may read a part of a repository but not write to it. */
export const noWriter = (): AppError =>
  new AppError("forbidden", "user should have a permission to write to a repo");

/** The refusal of a caller who may read a repository but does not administer it. */
export const notTheOwner = (): AppError =>
  new AppError("forbidden", "user should be the owner of the repo");

export const noAdministrator = (): AppError =>
  new AppError(
    "forbidden",
    "user should be an owner or a collaborator with admin write of a repository",
  );

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
