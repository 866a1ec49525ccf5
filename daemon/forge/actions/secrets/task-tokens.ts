import { createHash } from "node:crypto";
import type { Queries } from "../../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { findTaskOfToken } from "../../../../storage/tables/forge/actions/tasks.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../../caller.ts";
import { findAccess, reaches } from "../../repositories/access.ts";
import type { OwnedRepository } from "../../events.ts";
import { tokenPermissionsSchema, toTokenScope } from "./token-permissions.ts";
import { parseColumn } from "../../../../storage/engine/json-column.ts";

/** Returns the hash of a task's token, the only form that is stored. */
export function hashTaskToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/**
 * Finds the running task that a token belongs to, as a caller. Its user is the one who started the run, or the owner of
 * the repository when that account was deleted or may not write to it: anyone can start runs by a comment, and the
 * files of the repository must not act in their name. The caller has only the rights of the task, never those of the
 * user.
 */
export async function findTaskCaller(
  db: Queries,
  token: string,
): Promise<{ readonly user: ActingUser; readonly scope: string } | undefined> {
  const found = await findTaskOfToken(db, hashTaskToken(token));
  const run = found && (await findRun(db, found.runId));
  const repository = run && (await findRepositoryById(db, run.repositoryId));
  if (run === undefined || repository === undefined || found === undefined) return undefined;
  const actorId = run.triggerActorId ?? run.actorId;
  const actor = actorId === undefined ? undefined : await findUserById(db, actorId);
  const owner = await findUserById(db, repository.ownerId);
  if (owner === undefined) return undefined;
  const isTrusted = actor !== undefined && (await mayWrite(db, { repository, owner }, actor));
  const user = isTrusted ? actor : owner;
  const permissions = parseColumn(
    tokenPermissionsSchema,
    found.permissions,
    "forge_action_tasks.token_permissions",
  );
  return {
    user: {
      ...user,
      isAdmin: false,
      isRestricted: true,
      mustChangePassword: false,
      task: {
        id: found.taskId,
        repositoryId: repository.id,
        ownerId: repository.ownerId,
        permissions,
      },
    },
    scope: toTokenScope(permissions),
  };
}

async function mayWrite(db: Queries, owned: OwnedRepository, user: ForgeUser): Promise<boolean> {
  for (const unit of ["repo.code", "repo.actions"] as const)
    if (reaches(await findAccess(db, owned, user, unit), "write")) return true;
  return false;
}
