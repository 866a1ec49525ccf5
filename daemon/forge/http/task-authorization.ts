import type { Database } from "../../../storage/engine/database.ts";
import { toCommentId } from "../../../storage/tables/forge/ids.ts";
import { findIssue, findIssueOfComment } from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { AppError } from "../../errors.ts";
import type { TaskGrant } from "../caller.ts";
import { findOwned } from "../repositories/find-repository.ts";

/**
 * Routes that the token of a job may use, with the unit that each needs, and the one that its changes need as well. The first
 * match counts; other routes are refused.
 */
const ROUTES: readonly (readonly [path: RegExp, unit: string, alsoToChange?: string])[] = [
  [/^\/api\/v1\/version$/, "metadata"],
  [/^\/api\/v1\/repos\/:owner\/:repo$/, "metadata"],
  [/^\/api\/v1\/repos\/:owner\/:repo\/(?:statuses\/|commits\/[^/]+\/status)/, "statuses"],
  [/^\/api\/v1\/repos\/:owner\/:repo\/issues\/[^/]+\/(?:subscriptions|stopwatch|times)/, "none"],
  [/^\/api\/v1\/repos\/:owner\/:repo\/(?:issues|labels|milestones)(?:\/|$)/, "issues"],
  // They move branches.
  [
    /^\/api\/v1\/repos\/:owner\/:repo\/pulls\/:index\/(?:merge|revert|suggestions|update)$/,
    "pull-requests",
    "contents",
  ],
  [/^\/api\/v1\/repos\/:owner\/:repo\/pulls(?:\/|$)/, "pull-requests"],
  [
    /^\/api\/v1\/repos\/:owner\/:repo\/actions\/(?:runs|jobs|artifacts|workflows|tasks)(?:\/|$)/,
    "actions",
  ],
  [
    /^\/api\/v1\/repos\/:owner\/:repo\/(?:contents|contents-ext|file-contents|raw|media|archive|git|commits|branches|tags|releases|compare|languages)(?:\/|$)/,
    "contents",
  ],
  [/^\/:owner\/:repo\/(?:info\/refs|info\/lfs\/.+|git-upload-pack|git-receive-pack)$/, "contents"],
  [/^\/:owner\/:repo\/releases\/download\//, "contents"],
  [/^\/api\/packages\//, "packages"],
  [/^\/v2(?:\/|$)/, "packages"],
];

/**
 * Authorizes the token of a job: only for the routes above, at the level that the workflow grants, and for changes only
 * of its own repository. Throws `forbidden`.
 */
export async function assertTaskMay(
  db: Database,
  task: TaskGrant,
  { path, method }: Endpoint,
  params: Readonly<Record<string, string>>,
): Promise<void> {
  const [, unit, alsoToChange] = ROUTES.find(([pattern]) => pattern.test(path)) ?? [];
  // What a client of Git LFS may do with the files that it names is decided by the service, and for an upload again here.
  const isRead = method === "GET" || /\/(?:git-upload-pack|info\/lfs\/objects\/batch)$/.test(path);
  if (unit === undefined || unit === "none" || (unit === "metadata" && !isRead))
    throw new AppError("forbidden", "the token of a job may not use this route");
  if (unit === "metadata") return;
  if (unit === "packages") {
    if (!isRead && task.permissions[unit] !== "write") throw denied(unit, "write");
    return;
  }
  const owned = await findOwnRepository(db, task, params);
  if (owned === undefined) {
    // Jobs may read public parts of other repositories; the service decides.
    if (!isRead)
      throw new AppError("forbidden", "the token of a job may change its own repository only");
    return;
  }
  const level = isRead ? "read" : "write";
  const may = (each: string) =>
    task.permissions[each] === "write" || (isRead && task.permissions[each] === "read");
  if (!may(unit)) {
    // A pull request is an issue: either unit serves its comments, labels and the rest.
    const isOfPull =
      path.includes("/issues/") && may("pull-requests") && (await isPull(db, owned, params));
    if (!isOfPull) throw denied(unit, level);
  }
  if (!isRead && alsoToChange !== undefined && !may(alsoToChange))
    throw denied(alsoToChange, level);
}

/** Returns whether the issue, or the comment, of a route belongs to a pull request. */
async function isPull(
  db: Database,
  { id: repositoryId }: ForgeRepository,
  { index, id }: Readonly<Record<string, string>>,
): Promise<boolean> {
  const number = Number(index ?? id);
  if (!Number.isSafeInteger(number)) return false;
  const issue =
    index === undefined
      ? await findIssueOfComment(db, toCommentId(number))
      : await findIssue(db, repositoryId, number);
  return issue?.repositoryId === repositoryId && issue.isPull;
}

const denied = (unit: string, level: string) =>
  new AppError("forbidden", `the token of this job needs the permission ${unit}: ${level}`);

async function findOwnRepository(
  db: Database,
  { repositoryId }: TaskGrant,
  params: Readonly<Record<string, string>>,
): Promise<ForgeRepository | undefined> {
  const decode = (name: string) => decodeURIComponent(params[name] ?? "");
  // By its current name or a former one, as the route itself will find it.
  const path = { owner: decode("owner"), repo: decode("repo").replace(/\.git$/i, "") };
  const found = (await findOwned(db, path))?.repository;
  return found?.id === repositoryId ? found : undefined;
}
