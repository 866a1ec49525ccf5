import type { Database } from "../../../storage/engine/database.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { AppError } from "../../errors.ts";
import type { TaskGrant } from "../caller.ts";
import { findOwned } from "../repositories/repositories.service.ts";

/**
 * Routes that the token of a job may use, with the unit that each needs. The first match counts; other routes are
 * refused.
 */
const ROUTES: readonly (readonly [path: RegExp, unit: string])[] = [
  [/^\/api\/v1\/version$/, "metadata"],
  [/^\/api\/v1\/repos\/:owner\/:repo$/, "metadata"],
  [/^\/api\/v1\/repos\/:owner\/:repo\/(?:statuses\/|commits\/[^/]+\/status)/, "statuses"],
  [/^\/api\/v1\/repos\/:owner\/:repo\/issues\/[^/]+\/(?:subscriptions|stopwatch|times)/, "none"],
  [/^\/api\/v1\/repos\/:owner\/:repo\/(?:issues|labels|milestones)(?:\/|$)/, "issues"],
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
  const unit = ROUTES.find(([pattern]) => pattern.test(path))?.[1];
  // What a client of Git LFS may do with the files that it names is decided by the service, and for an upload again here.
  const isRead = method === "GET" || /\/(?:git-upload-pack|info\/lfs\/objects\/batch)$/.test(path);
  if (unit === undefined || unit === "none" || (unit === "metadata" && !isRead))
    throw new AppError("forbidden", "the token of a job may not use this route");
  if (unit === "metadata") return;
  if (unit === "packages") {
    if (!isRead && task.permissions[unit] !== "write") throw denied(unit, "write");
    return;
  }
  if (!(await isOwnRepository(db, task, params))) {
    // Jobs may read public parts of other repositories; the service decides.
    if (!isRead)
      throw new AppError("forbidden", "the token of a job may change its own repository only");
    return;
  }
  const level = task.permissions[unit];
  if (level === undefined || (!isRead && level !== "write"))
    throw denied(unit, isRead ? "read" : "write");
}

const denied = (unit: string, level: string) =>
  new AppError("forbidden", `the token of this job needs the permission ${unit}: ${level}`);

async function isOwnRepository(
  db: Database,
  { repositoryId }: TaskGrant,
  params: Readonly<Record<string, string>>,
): Promise<boolean> {
  const decode = (name: string) => decodeURIComponent(params[name] ?? "");
  // By its current name or a former one, as the route itself will find it.
  const path = { owner: decode("owner"), repo: decode("repo").replace(/\.git$/i, "") };
  return (await findOwned(db, path))?.repository.id === repositoryId;
}
