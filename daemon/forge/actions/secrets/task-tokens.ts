import { createHash } from "node:crypto";
import type { Queries } from "../../../../storage/engine/database.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import { findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { findTaskOfToken } from "../../../../storage/tables/forge/actions/tasks.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../../caller.ts";
import { tokenPermissionsSchema, toTokenScope } from "./token-permissions.ts";
import { parseColumn } from "../../../../storage/engine/json-column.ts";

/** Returns what is stored of a task's token. */
export function hashTaskToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/**
 * Finds the running task that a token belongs to, as a caller: the user who started the run, or the owner of the repository
 * when that account is gone. The caller has the rights of the task alone, never those of the user.
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
  const user = actor ?? (await findUserById(db, repository.ownerId));
  if (user === undefined) return undefined;
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
