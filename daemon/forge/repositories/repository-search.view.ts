import type {
  RepositorySearch,
  RepositorySort,
} from "../../../storage/tables/forge/repositories/search.ts";
import type { QueryOf } from "../../contract/endpoint.ts";
import {
  type repositoryListEndpoints,
  repositoryModes,
} from "../../contract/forge/repositories/lists.ts";
import { AppError } from "../../errors.ts";
import { toUserId, toTeamId } from "../../../storage/tables/forge/ids.ts";

/** The server has no LFS, so that order sorts by id. */
const sorts: Readonly<Record<string, RepositorySort>> = {
  "": "alpha",
  alpha: "alpha",
  created: "created",
  updated: "updated",
  size: "size",
  git_size: "size",
  lfs_size: "id",
  stars: "stars",
  forks: "forks",
  id: "id",
};

/**
 * Converts the query of a search. Returns undefined for a search that finds nothing. Throws `unprocessable` for an unknown mode,
 * sort or order.
 */
export function toRepositorySearch(
  query: QueryOf<typeof repositoryListEndpoints.searchRepositories>,
): Omit<RepositorySearch, "reader"> | undefined {
  const { mode, uid, order, q } = query;
  if (mode !== "" && !repositoryModes.some((known) => known === mode))
    throw new AppError("unprocessable", `Invalid search mode: "${mode}"`);
  const sort = Object.hasOwn(sorts, query.sort) ? sorts[query.sort] : undefined;
  if (query.sort !== "" && !["", "asc", "desc"].includes(order))
    throw new AppError("unprocessable", `Invalid sort order: "${order}"`);
  if (sort === undefined) throw new AppError("unprocessable", `Invalid sort mode: "${query.sort}"`);
  if (q.includes("\0")) return undefined;
  const ofUser = uid > 0 ? toUserId(uid) : undefined;
  return {
    term: q,
    isOfTopics: query.topic,
    includesDescription: query.includeDesc,
    ...(query.exclusive && mode !== "collaborative" ? { ownerId: ofUser } : { reachedBy: ofUser }),
    notOwnedBy: mode === "collaborative" ? ofUser : undefined,
    starredBy: query.starredBy > 0 ? toUserId(query.starredBy) : undefined,
    teamId: query.team_id > 0 ? toTeamId(query.team_id) : undefined,
    isPublicOnly: query.private === false,
    isPrivate: query.is_private,
    isTemplate: query.template,
    isArchived: query.archived,
    isMirror: mode === "mirror" ? true : mode === "source" ? false : undefined,
    isFork: mode === "fork" ? true : mode === "source" ? false : undefined,
    sort,
    descending: query.sort !== "" && order === "desc",
    firstOwnerId: query.priority_owner_id > 0 ? toUserId(query.priority_owner_id) : undefined,
  };
}
