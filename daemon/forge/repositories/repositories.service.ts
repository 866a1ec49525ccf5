import type { Database } from "../../../storage/engine/database.ts";
import {
  deleteRepository,
  findRepositoryById,
  findRepositoryByName,
  type ForgeRepository,
  listRepositoriesOfMember,
} from "../../../storage/tables/forge/repositories.ts";
import { insertChore } from "../../../storage/tables/forge/repositories-moving.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories-watches.ts";
import { findRedirect } from "../../../storage/tables/forge/redirects.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
  listUsersByIds,
} from "../../../storage/tables/forge/users.ts";
import { AppError } from "../../errors.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ForgeCaller } from "../caller.ts";
import { movedTo, notFound } from "../refusals.ts";
import { assertScope, findAccess, reaches } from "./access.ts";
import {
  createRepository,
  type CreateRepositoryDeps,
  type WantedRepository,
} from "./create-repository.ts";
import type { OwnedRepository } from "./events.ts";
import { enqueueTidy } from "./placing.ts";
import type { SeenRepository } from "./repository.view.ts";

export interface Repositories {
  /** Makes a repository for an account, see `createRepository`. */
  create(ownerName: string, wanted: WantedRepository, actor: ForgeUser): Promise<SeenRepository>;
  /**
   * The repository as far as the caller may know of it. Refuses with `not_found`; a former name of the owner is
   * answered with the address of today's.
   */
  get(ownerName: string, name: string, caller: ForgeCaller | undefined): Promise<SeenRepository>;
  /** A page of what the caller owns or reaches through a team, by name, and the count of all. */
  listOwn(
    caller: ForgeCaller,
    window: { readonly page: number; readonly limit: number },
  ): Promise<{ readonly repositories: readonly SeenRepository[]; readonly total: number }>;
  /**
   * Deletes a repository; its files are gone soon after. Refuses with `not_found` for whom may not see it, `forbidden`
   * for whom does not own it.
   */
  remove(ownerName: string, name: string, caller: ForgeCaller): Promise<void>;
}

export interface RepositoriesDeps extends CreateRepositoryDeps {
  readonly enqueue: Enqueue;
}

export function createRepositoriesService(deps: RepositoriesDeps): Repositories {
  const { db, placing, events, enqueue } = deps;
  return {
    async create(ownerName, wanted, actor) {
      const made = await createRepository(deps, ownerName, wanted, actor);
      const watchers = await countWatchers(db, [made.repository.id]);
      return {
        ...made,
        watchers: watchers.get(made.repository.id) ?? 0,
        access: "owner",
        isSignedIn: true,
      };
    },

    get,

    async listOwn(caller, { page, limit }) {
      const { user } = caller;
      const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
      const isPublicOnly = caller.scope?.split(",").includes("public-only") === true;
      const found = await listRepositoriesOfMember(db, user.id, { limit, offset, isPublicOnly });
      const owners = new Map(
        (
          await listUsersByIds(
            db,
            found.repositories.map(({ ownerId }) => ownerId),
          )
        ).map((owner) => [owner.id, owner]),
      );
      const watchers = await countWatchers(
        db,
        found.repositories.map(({ id }) => id),
      );
      const repositories: SeenRepository[] = [];
      for (const repository of found.repositories) {
        const owner = owners.get(repository.ownerId);
        // Gone between two queries.
        if (owner === undefined) continue;
        const access = await findAccess(db, { repository, owner }, user);
        const watching = watchers.get(repository.id) ?? 0;
        repositories.push({ repository, owner, watchers: watching, access, isSignedIn: true });
      }
      return { repositories, total: found.total };
    },

    async remove(ownerName, name, caller) {
      const seen = await get(ownerName, name, caller);
      if (!reaches(seen.access, "owner"))
        throw new AppError(
          "forbidden",
          "user should be an owner or a collaborator with admin write of a repository",
        );
      const { id } = seen.repository;
      const path = await db.transaction(async (tx) => {
        const today = await findRepositoryById(tx, id);
        if (today === undefined) throw notFound();
        const what = { repository: today, owner: seen.owner, actor: caller.user };
        await events.deleted?.(tx, what);
        await deleteRepository(tx, id);
        await insertChore(tx, { kind: "remove", path: today.path, target: undefined });
        await enqueueTidy(enqueue, tx);
        return today.path;
      });
      // The name is free for a new repository when the answer arrives; what this misses the job does.
      await placing.clear(path);
    },
  };

  async function get(
    ownerName: string,
    name: string,
    caller: ForgeCaller | undefined,
  ): Promise<SeenRepository> {
    const { repository, owner } = await getOwned(
      db,
      ownerName,
      name,
      (today) => `/api/v1/repos/${encodeURIComponent(today)}/${encodeURIComponent(name)}`,
    );
    const access = await findAccess(db, { repository, owner }, caller?.user);
    if (!reaches(access, "read")) throw notFound();
    assertScope(caller?.scope, "read", repository);
    const watchers = (await countWatchers(db, [repository.id])).get(repository.id) ?? 0;
    return { repository, owner, watchers, access, isSignedIn: caller !== undefined };
  }
}

/**
 * The repository of a name, whoever asks. Refuses with `not_found`; for a former name of a visible owner with the
 * address that `toAddress` makes of today's name.
 */
export async function getOwned(
  db: Database,
  ownerName: string,
  name: string,
  toAddress: (ownerName: string) => string,
): Promise<OwnedRepository> {
  const owner = await findUserByName(db, ownerName);
  if (owner === undefined) {
    const formerId = await findRedirect(db, ownerName);
    const today = formerId === undefined ? undefined : await findUserById(db, formerId);
    if (today === undefined || today.visibility !== "public") throw notFound();
    throw movedTo(toAddress(today.name));
  }
  const repository: ForgeRepository | undefined = await findRepositoryByName(db, owner.id, name);
  if (repository === undefined) throw notFound();
  return { repository, owner };
}
