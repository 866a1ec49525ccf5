import type { JobScope } from "../runs/job-scopes.ts";
import { passSecrets } from "../../../workflows/workflow-call.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import {
  limitPermissions,
  ofForks,
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

/**
 * Returns the permissions of a job's token: those of the job in its workflow, bounded by those of the calling job, and in a run
 * of a fork by those of forks.
 */
export function toScopedPermissions(
  { isFork }: Pick<ActionRun, "isFork">,
  scope: JobScope,
): TokenPermissions {
  const granted = toGranted(scope);
  return isFork ? limitPermissions(granted, ofForks) : granted;
}

function toGranted({ definition, workflow, caller }: JobScope): TokenPermissions {
  const own = toTokenPermissions(workflow.permissions, definition.source["permissions"]);
  return caller === undefined ? own : limitPermissions(own, toGranted(caller.scope));
}
