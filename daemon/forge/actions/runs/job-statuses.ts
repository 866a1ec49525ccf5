import type { Transaction } from "../../../../storage/engine/database.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import type { ActionJob } from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import type { ActionStatus } from "../../../../storage/tables/forge/actions/statuses.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import {
  type CommitState,
  insertCommitStatus,
} from "../../../../storage/tables/forge/repositories/statuses.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import { isMapping } from "../workflows/mapping.ts";
import type { RunReports } from "./advance-run.ts";

/** What a commit shows for a job; `blocked` is not shown, and `cancelling` changes nothing. */
const REPORTS: Partial<Record<ActionStatus, readonly [state: CommitState, text: string]>> = {
  waiting: ["pending", "Waiting to run"],
  running: ["pending", "Has started running"],
  success: ["success", "Successful"],
  failure: ["failure", "Failing"],
  cancelled: ["failure", "Has been cancelled"],
  skipped: ["skipped", "Has been skipped"],
};

/** Reports each status of a job on the commit of its run, under `{workflow} / {job} ({event})`. */
export function createJobStatusReports(urls: ForgeUrls): RunReports {
  return { run: async () => undefined, job: report };

  async function report(tx: Transaction, run: ActionRun, job: ActionJob): Promise<void> {
    const shown = REPORTS[job.status];
    const repository = await findRepositoryById(tx, run.repositoryId);
    const owner = repository && (await findUserById(tx, repository.ownerId));
    if (shown === undefined || repository === undefined || owner === undefined) return;
    const [state, description] = shown;
    const path = `/${owner.name}/${repository.name}/actions/runs/${run.id}/jobs/${job.id}`;
    await insertCommitStatus(tx, {
      repositoryId: repository.id,
      commitId: run.headSha,
      context: `${toWorkflowName(run)} / ${job.name} (${run.event})`.slice(0, CONTEXT_MAX),
      state,
      targetUrl: toUrl(urls, path),
      description,
      creatorId: run.actorId,
      authorId: undefined,
    });
  }
}

const CONTEXT_MAX = 255;

/** Returns the name of the workflow, or its file when it has none. */
export function toWorkflowName({ definition, workflowFile }: ActionRun): string {
  const workflow: unknown = definition === undefined ? undefined : JSON.parse(definition);
  const name = isMapping(workflow) ? workflow["name"] : "";
  return typeof name === "string" && name !== "" ? name : workflowFile;
}
