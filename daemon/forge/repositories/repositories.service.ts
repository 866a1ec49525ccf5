import type { Queries } from "../../../storage/engine/database.ts";
import {
  deleteRepository,
  findRepositoryById,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { insertChore } from "../../../storage/tables/forge/repositories/moves.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import {
  isOfferedTo,
  listRepositoryMakers,
} from "../../../storage/tables/forge/repositories/transfers.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedOrganization, GrantedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { repository as repositoryPermission } from "../../contract/permission.ts";
import { findAccess, reaches } from "./access.ts";
import { grantRepository, reopenRepository } from "./open-repository.ts";
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

    /** Returns a repository with what its callers see of it. A pending transfer is for the recipient and administrators. */
    get: (opened: GrantedRepository): Promise<RepositoryDetails> => loadDetails(db, opened),

    /** Returns a repository as `get` does. Refuses with `not_found` one that the caller may not read. */
    async getById(id: RepositoryId, caller: ForgeCaller): Promise<RepositoryDetails> {
      const repository = await findRepositoryById(db, id);
      const owner = repository && (await findUserById(db, repository.ownerId));
      if (repository === undefined || owner === undefined) throw notFound();
      const grant = { caller, permission: repositoryPermission("any", "read"), isChange: false };
      return loadDetails(db, await grantRepository(db, { repository, owner }, grant));
    },

    /** Changes a repository; see `editRepository`. */
    async edit(
      opened: GrantedRepository,
      edits: RepositoryEdits,
      caller: ForgeCaller,
    ): Promise<RepositoryDetails> {
      const details = await loadDetails(db, opened);
      await editRepository(deps, opened, edits, caller.user);
      const repository = await findRepositoryById(db, opened.repository.id);
      const owner = repository && (await findUserById(db, repository.ownerId));
      if (repository === undefined || owner === undefined) throw notFound();
      return { ...details, repository, owner };
    },

    /** Makes a branch the default one. Refuses a caller who does not administer the repository with `forbidden`. */
    setDefaultBranch: (
      owned: OwnedRepository,
      branch: string,
      caller: ForgeCaller,
    ): Promise<void> => editRepository(deps, owned, toDefaultBranchEdit(branch), caller.user),

    /** Deletes a repository; a job deletes its files. */
    async remove(opened: GrantedRepository, caller: ForgeCaller): Promise<void> {
      const path = await db.transaction(async (tx) => {
        const { repository, owner } = await reopenRepository(tx, opened);
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
}

async function loadDetails(
  db: Queries,
  { repository, owner, grant: { caller } }: GrantedRepository,
): Promise<RepositoryDetails> {
  // The permissions that a repository shows are those on its code.
  const access = await findAccess(db, { repository, owner }, caller?.user);
  const watchers = (await countWatchers(db, [repository.id])).get(repository.id) ?? 0;
  const isSignedIn = caller !== undefined;
  const seesTransfer =
    reaches(access, "admin") || (caller && (await isOfferedTo(db, repository.id, caller.user.id)));
  const transfer = seesTransfer ? await findPendingTransfer(db, repository.id) : undefined;
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

function toDefaultBranchEdit(defaultBranch: string): RepositoryEdits {
  return {
    name: undefined,
    description: undefined,
    website: undefined,
    isPrivate: undefined,
    isTemplate: undefined,
    isArchived: undefined,
    settings: {},
    defaultBranch,
  };
}
