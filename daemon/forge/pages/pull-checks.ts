import { hash } from "node:crypto";
import { pullEndpoints, type WirePull } from "../../contract/forge/pulls/pulls.ts";
import { statusEndpoints } from "../../contract/forge/repositories/statuses.ts";
import type { ForgePageContext } from "./forge-page.ts";
import type { FollowedLog } from "./log-view.tsx";
import { awaitsChecks, type Check, type LoadedMergeBox } from "./merge-box.tsx";
import type { PullParams } from "./pull-head.tsx";

/** Loads the checks of the head of a pull request, at most 50. */
export async function loadChecks(
  { call }: ForgePageContext,
  { owner, repo }: PullParams,
  { head }: WirePull,
): Promise<readonly Check[]> {
  const params = { owner, repo, ref: head.sha };
  const { body } = await call(statusEndpoints.getCombinedStatus, {
    params,
    query: { limit: "50" },
  });
  return body.statuses ?? [];
}

/** Returns what the script of a page follows while checks may still finish: the page loads again when they have. */
export function toFollowedChecks(
  { pull, checks }: Pick<LoadedMergeBox, "pull" | "checks">,
  box: LoadedMergeBox | undefined,
  home: string,
): FollowedLog | undefined {
  if (pull.state !== "open" || !awaitsChecks({ checks, base: box?.base })) return undefined;
  return { path: `${home}/state`, state: toStateText(pull, checks), next: 0 };
}

/** Answers the script with the state of the checks and of the pull request. */
export async function sendPullState(context: ForgePageContext, params: PullParams) {
  const { owner, repo, index } = params;
  const { body: pull } = await context.call(pullEndpoints.getPull, {
    params: { owner, repo, index },
  });
  const state = toStateText(pull, await loadChecks(context, params, pull));
  const text = JSON.stringify({ state, rows: [], next: 0 });
  return { kind: "text", contentType: "application/json", text } as const;
}

/** A text that is another one when the page would show other checks or another box for the merge. */
function toStateText(
  { state, merged, mergeable, draft, head }: WirePull,
  checks: readonly Check[],
): string {
  const shown = [state, merged, mergeable, draft, head.sha];
  const states = checks.map(({ context, status }) => [context, status]);
  return hash("sha256", JSON.stringify([shown, states]), "hex").slice(0, 16);
}
