import type { JobScope } from "../runs/job-scopes.ts";
import { passSecrets } from "../../../workflows/workflow-call.ts";
import {
  limitPermissions,
  type TokenPermissions,
  toTokenPermissions,
} from "./token-permissions.ts";

const TOKENS = ["GITHUB_TOKEN", "GITEA_TOKEN"] as const;

/**
 * Returns the secrets of a run that one of its jobs may read. A job of a called workflow gets the token and the secrets
 * that the calling job passes.
 */
export function toScopedSecrets(
  { caller }: JobScope,
  all: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (caller === undefined) return all;
  const { call } = caller.scope.definition;
  const tokens = Object.fromEntries(TOKENS.map((name) => [name, all[name] ?? ""]));
  return call === undefined
    ? tokens
    : { ...passSecrets(call, toScopedSecrets(caller.scope, all)), ...tokens };
}

/** Returns the permissions of a job's token: those of the job in its workflow, bounded by those of the calling job. */
export function toScopedPermissions({ definition, workflow, caller }: JobScope): TokenPermissions {
  const own = toTokenPermissions(workflow.permissions, definition.source["permissions"]);
  return caller === undefined ? own : limitPermissions(own, toScopedPermissions(caller.scope));
}
