import type { Database } from "../../../storage/engine/database.ts";
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
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { movedTo, notFound } from "../refusals.ts";
import { assertScope, findAccess, reaches } from "./access.ts";
import {
  createRepository,
  type CreateRepositoryDeps,
  type WantedRepository,
} from "./create-repository.ts";
import {
  editRepository,
  type EditRepositoryDeps,
  type RepositoryEdits,
} from "./edit-repository.ts";
import type { OwnedRepository } from "./events.ts";
import { enqueueCleanup } from "./folder-moves.ts";
import { getVisibleAccount } from "./repository-lists.service.ts";
import type { SeenRepository } from "./repository.view.ts";
import { findSeenTransfer } from "./seen-transfer.ts";

/** Repositories with their files. Nobody learns of one that they may not read. */
export interface Repositories {
  /** Creates a repository for any account, see `createRepository`. */
  create(ownerName: string, wanted: WantedRepository, actor: ForgeUser): Promise<SeenRepository>;
  /**
   * Creates a repository of the caller's own. Throws as `createRepository` does, and `forbidden` for a private one by a
   * token for public things only.
   */
  createOwn(wanted: WantedRepository, caller: ForgeCaller): Promise<SeenRepository>;
  /**
   * Creates a repository in an organization. Throws as `createOwn` does, `not_found` for an organization that is hidden
   * from the caller, and `forbidden` for a caller in no team that may create repositories there.
   */
  createInOrganization(
    name: string,
    wanted: WantedRepository,
    caller: ForgeCaller,
  ): Promise<SeenRepository>;
  /**
   * The repository as far as the caller may know of it. Refuses with `not_found`; a former name of it or of its owner
   * is answered with the address of today's.
   */
  get(ownerName: string, name: string, caller: ForgeCaller | undefined): Promise<SeenRepository>;
  /**
   * Changes a repository, see `editRepository`. Refuses with `not_found` for whom may not see it, `forbidden` for whom
   * does not administer it.
   */
  edit(
    ownerName: string,
    name: string,
    edits: RepositoryEdits,
    caller: ForgeCaller,
  ): Promise<SeenRepository>;
  /**
   * Deletes a repository; its files are gone soon after. Refuses with `not_found` for whom may not see it, `forbidden`
   * for whom does not own it.
   */
  remove(ownerName: string, name: string, caller: ForgeCaller): Promise<void>;
}

export interface RepositoriesDeps extends CreateRepositoryDeps, EditRepositoryDeps {}

export function createRepositoriesService(deps: RepositoriesDeps): Repositories {
  const { db, moves, events, enqueue } = deps;
  return {
    create,

    async createOwn(wanted, caller) {
      assertMayBePrivate(wanted, caller.user, caller);
      return create(caller.user.name, wanted, caller.user);
    },

    async createInOrganization(name, wanted, caller) {
      const organization = await getVisibleAccount(db, name, caller);
      if (organization.kind !== "organization") throw notFound();
      const { user } = caller;
      if (!user.isAdmin && !(await listRepositoryMakers(db, organization.id)).includes(user.id))
        throw new AppError(
          "forbidden",
          "Given user is not allowed to create repository in organization.",
        );
      assertMayBePrivate(wanted, organization, caller);
      return create(organization.name, wanted, user);
    },

    get,

    async edit(ownerName, name, edits, caller) {
      const seen = await get(ownerName, name, caller);
      if (!reaches(seen.access, "admin")) throw noAdministrator();
      await editRepository(deps, seen, edits, caller.user);
      const repository = await findRepositoryById(db, seen.repository.id);
      const owner = repository && (await findUserById(db, repository.ownerId));
      if (repository === undefined || owner === undefined) throw notFound();
      return { ...seen, repository, owner };
    },

    async remove(ownerName, name, caller) {
      const seen = await get(ownerName, name, caller);
      if (!reaches(seen.access, "owner")) throw noAdministrator();
      const { id } = seen.repository;
      const path = await db.transaction(async (tx) => {
        const today = await findRepositoryById(tx, id);
        if (today === undefined) throw notFound();
        const what = { repository: today, owner: seen.owner, actor: caller.user };
        await events.deleted?.(tx, what);
        await deleteRepository(tx, id);
        await insertChore(tx, { kind: "remove", path: today.path, target: undefined });
        await enqueueCleanup(enqueue, tx);
        return today.path;
      });
      // The name is free for a new repository when the answer arrives; what this misses the job does.
      await moves.completeAt(path);
    },
  };

  async function create(
    ownerName: string,
    wanted: WantedRepository,
    actor: ForgeUser,
  ): Promise<SeenRepository> {
    const made = await createRepository(deps, ownerName, wanted, actor);
    const watchers = (await countWatchers(db, [made.repository.id])).get(made.repository.id) ?? 0;
    const access = await findAccess(db, made, actor);
    return { ...made, watchers, access, isSignedIn: true };
  }

  async function get(
    ownerName: string,
    name: string,
    caller: ForgeCaller | undefined,
  ): Promise<SeenRepository> {
    const path = { owner: ownerName, repo: name };
    const { repository, owner } = await getOwned(
      db,
      path,
      caller?.user,
      (today) => `/api/v1/repos/${today.owner}/${today.repo}`,
    );
    const access = await findAccess(db, { repository, owner }, caller?.user);
    if (!reaches(access, "read")) throw notFound();
    assertScope(caller?.scope, "read", { repository, owner });
    const watchers = (await countWatchers(db, [repository.id])).get(repository.id) ?? 0;
    const isSignedIn = caller !== undefined;
    // Whom it is offered to, or from, sees that; others need not know.
    const transfer =
      reaches(access, "admin") || (caller && (await isOfferedTo(db, repository.id, caller.user.id)))
        ? await findSeenTransfer(db, repository.id)
        : undefined;
    return { repository, owner, watchers, access, isSignedIn, transfer };
  }
}

/** A token for public things only cannot create what it could not read afterwards. */
function assertMayBePrivate(wanted: WantedRepository, owner: ForgeUser, caller: ForgeCaller): void {
  if (isPublicOnly(caller) && (wanted.isPrivate || owner.visibility !== "public"))
    throw new AppError("forbidden", "token scope is limited to public repos");
}

/** The refusal to whom may see a repository but not do this with it. */
export const noAdministrator = (): AppError =>
  new AppError(
    "forbidden",
    "user should be an owner or a collaborator with admin write of a repository",
  );

/**
 * The repository of a name, whoever asks. Refuses with `not_found`; for a former name, of the owner or of the repository,
 * with the address that `toAddress` makes of today's, if the viewer may read what it leads to.
 */
export async function getOwned(
  db: Database,
  path: RepositoryPath,
  viewer: ForgeUser | undefined,
  toAddress: (today: RepositoryPath) => string,
): Promise<OwnedRepository> {
  const found = await findOwned(db, path);
  if (found === undefined) throw notFound();
  if (!found.isFormer) return found;
  const { repository, owner } = found;
  if (!reaches(await findAccess(db, found, viewer), "read")) throw notFound();
  throw movedTo(
    toAddress({ owner: encodeURIComponent(owner.name), repo: encodeURIComponent(repository.name) }),
  );
}

/** A repository as an address names it. */
export interface RepositoryPath {
  readonly owner: string;
  readonly repo: string;
}

async function findOwned(
  db: Database,
  { owner: ownerName, repo }: RepositoryPath,
): Promise<(OwnedRepository & { readonly isFormer: boolean }) | undefined> {
  const named = await findUserByName(db, ownerName);
  const formerId = named === undefined ? await findRedirect(db, ownerName) : undefined;
  const owner = named ?? (formerId === undefined ? undefined : await findUserById(db, formerId));
  if (owner === undefined) return undefined;
  const today = await findRepositoryByName(db, owner.id, repo);
  if (today !== undefined) return { repository: today, owner, isFormer: named === undefined };
  const redirectedId = await findRepositoryRedirect(db, owner.id, repo);
  const former =
    redirectedId === undefined ? undefined : await findRepositoryById(db, redirectedId);
  // Whose it is by now counts, not whose it was.
  const formerOwner = former && (await findUserById(db, former.ownerId));
  return former && formerOwner && { repository: former, owner: formerOwner, isFormer: true };
}
