import type { Queries } from "../../../storage/engine/database.ts";
import {
  findRepositoriesByIds,
  findRepositoryByName,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { type ForgeUser, listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { findAccess, isPublic, reaches } from "../repositories/access.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";

/** Returns the repositories that a caller may read, by id. */
export async function loadRepositoryDetails(
  db: Queries,
  ids: readonly (RepositoryId | undefined)[],
  caller: Pick<ForgeCaller, "user" | "scope"> | undefined,
): Promise<ReadonlyMap<RepositoryId, RepositoryDetails>> {
  const repositoryIds = [...new Set(ids)].filter((id) => id !== undefined);
  if (repositoryIds.length === 0) return new Map();
  const found = await findRepositoriesByIds(db, repositoryIds);
  const ownerIds = found.map(({ ownerId }) => ownerId);
  const owners = new Map((await listUsersByIds(db, ownerIds)).map((owner) => [owner.id, owner]));
  const watchers = await countWatchers(db, repositoryIds);
  const details = new Map<RepositoryId, RepositoryDetails>();
  for (const repository of found) {
    const owner = owners.get(repository.ownerId);
    const access = owner && (await findAccess(db, { repository, owner }, caller?.user));
    if (owner === undefined || access === undefined || !reaches(access, "read")) continue;
    if (isPublicOnly(caller) && !isPublic({ repository, owner })) continue;
    details.set(repository.id, {
      repository,
      owner,
      watchers: watchers.get(repository.id) ?? 0,
      access,
      isSignedIn: caller !== undefined,
    });
  }
  return details;
}

/** Returns the owner's repository of a name if the actor may write to it. */
export async function findLinkable(
  db: Queries,
  owner: ForgeUser,
  name: string,
  actor: ForgeUser,
): Promise<ForgeRepository | undefined> {
  const repository = await findRepositoryByName(db, owner.id, name);
  if (repository === undefined) return undefined;
  return reaches(await findAccess(db, { repository, owner }, actor), "write")
    ? repository
    : undefined;
}

const ADDRESS_CHARACTERS_MAX = 2_000;

/**
 * Returns the name of the owner's repository in a URL of a package, such as the `repository` of an npm manifest;
 * undefined for a URL of another owner or another server.
 */
export function toRepositoryName(
  value: unknown,
  owner: ForgeUser,
  urls: ForgeUrls,
): string | undefined {
  const text = typeof value === "object" && value !== null && "url" in value ? value.url : value;
  if (typeof text !== "string" || text.length > ADDRESS_CHARACTERS_MAX) return undefined;
  const address = text.trim().replace(/^git\+/, "");
  const home = toUrl(urls, "/");
  if (!address.toLowerCase().startsWith(home.toLowerCase())) return undefined;
  const [path = ""] = address.slice(home.length).split(/[?#]/);
  const [ownerName, name, ...rest] = path.replace(/\/$/, "").split("/");
  if (rest.length > 0 || ownerName?.toLowerCase() !== owner.lowerName) return undefined;
  return name?.replace(/\.git$/i, "");
}
