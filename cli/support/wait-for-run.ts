import type { WireRun } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { RunName } from "./run-name.ts";
import { waitUntilEnded } from "./wait.ts";

/** Conclusions other than a failure. */
const goodEnds: ReadonlySet<string> = new Set(["success", "skipped", "neutral"]);

/** Waits for the end of a run and returns it. @throws CliError `not_finished` after the timeout */
export function waitForRun(
  cli: CliContext,
  { owner, repo, id }: RunName,
  timeout: number | undefined,
): Promise<WireRun> {
  return waitUntilEnded(cli, {
    title: `run ${id} of ${owner}/${repo}`,
    timeout,
    read: async () =>
      (await cli.client.call(forge.getRun, { params: { owner, repo, run: id } })).body,
    stateOf: ({ status }) => status,
    hasEnded: ({ status }) => status === "completed",
    lookWith: `croft run watch ${owner}/${repo}/${id}`,
  });
}

/** Returns the conclusion of a run that ended well. @throws CliError `task_failed` for every other one */
export function toGoodConclusion({ owner, repo, id }: RunName, run: WireRun): string {
  const conclusion = run.conclusion ?? "unknown";
  if (goodEnds.has(conclusion)) return conclusion;
  const reason = run.error === undefined || run.error === "" ? "" : `: ${run.error}`;
  throw new CliError(
    "task_failed",
    `run ${id} of ${owner}/${repo} ended as ${conclusion}${reason}`,
    {
      service: "forge",
      reason: conclusion,
      hint: `"croft run jobs ${owner}/${repo}/${id}" lists its jobs, "croft run log" prints the log of one`,
    },
  );
}
