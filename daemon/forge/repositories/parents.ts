import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import {
  findUserById,
  type ForgeUser,
  listUsersByIds,
} from "../../../storage/tables/forge/accounts/users.ts";
import {
  findRepositoriesByIds,
  findRepositoryById,
  type ForgeRepository,
  makeForksPrivate,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { endUnreadable } from "../../../storage/tables/forge/repositories/unreadable.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { Emit } from "../events.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { findAccess, isPublic, reaches } from "./access.ts";
import type { RepositoryDetails } from "./repository.view.ts";

/** Adds the parents of forks, where the viewer may read them. Their own parents are left out. */
export async function withParents(
  db: Queries,
  found: readonly RepositoryDetails[],
  caller: Pick<ForgeCaller, "user" | "scope"> | undefined,
): Promise<RepositoryDetails[]> {
  const ids = new Set(found.flatMap(({ repository: { forkOf } }) => forkOf ?? []));
  if (ids.size === 0) return [...found];
  const repositories = await findRepositoriesByIds(db, [...ids]);
  const ownerIds = new Set(repositories.map(({ ownerId }) => ownerId));
  const owners = new Map((await listUsersByIds(db, [...ownerIds])).map((user) => [user.id, user]));
  const watchers = await countWatchers(db, [...ids]);
  const parents = new Map<number, RepositoryDetails>();
  for (const repository of repositories) {
    const owner = owners.get(repository.ownerId);
    if (owner === undefined) continue;
    const owned = { repository, owner };
    if (isPublicOnly(caller) && !isPublic(owned)) continue;
    if (!reaches(await findAccess(db, owned, caller?.user, "any"), "read")) continue;
    const access = await findAccess(db, owned, caller?.user);
    const isSignedIn = caller !== undefined;
    parents.set(repository.id, {
      ...owned,
      access,
      watchers: watchers.get(repository.id) ?? 0,
      isSignedIn,
    });
  }
  return found.map((details) => ({
    ...details,
    parent: parents.get(details.repository.forkOf ?? 0),
  }));
}

/** Returns whether a repository is the fork of a private one, and so has to be private. */
export async function isOfPrivateParent(
  db: Queries,
  { forkOf }: ForgeRepository,
): Promise<boolean> {
  const parent = forkOf === undefined ? undefined : await findRepositoryById(db, forkOf);
  return parent?.isPrivate === true;
}

/**
 * Ends the rights that end when a repository becomes private. Its forks, which hold its commits, become private with it.
 * Call it in the transaction of the change.
 */
export async function endPublic(
  tx: Transaction,
  repositoryId: ForgeRepository["id"],
  { emit, actor }: { readonly emit: Emit; readonly actor: ForgeUser },
): Promise<void> {
  await endUnreadable(tx, { repositoryId });
  for (const former of await makeForksPrivate(tx, repositoryId)) {
    await endUnreadable(tx, { repositoryId: former.id });
    const owner = await findUserById(tx, former.ownerId);
    const repository = { ...former, isPrivate: true };
    if (owner !== undefined)
      await emit(tx, "repository.edited", { repository, owner, actor, former });
  }
}
