import { z } from "zod";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { findEmail } from "../../../../storage/tables/forge/accounts/emails.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import type { ActionJob } from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import type { ActionStatus } from "../../../../storage/tables/forge/actions/statuses.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import {
  type CommitState,
  findCommitStatus,
  insertCommitStatus,
} from "../../../../storage/tables/forge/repositories/statuses.ts";
import type { StatusId } from "../../../../storage/tables/forge/ids.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import type { FindCommit } from "../../git/commit-readers.ts";
import type { HookPublisher } from "../../hooks/publisher.ts";
import type { Emit } from "../../events.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import { isMapping } from "../../../workflows/mapping.ts";
import type { RunReports } from "./advance-run.ts";
import { toStatusCommit } from "./run-contexts.ts";
import { loadRepositories } from "./run-records.ts";

/** The commit status of a job status; undefined for `cancelling`, which keeps the present one. */
const REPORTS: Partial<Record<ActionStatus, readonly [state: CommitState, text: string]>> = {
  blocked: ["pending", "Blocked by required conditions"],
  waiting: ["pending", "Waiting to run"],
  running: ["pending", "Has started running"],
  success: ["success", "Successful in"],
  failure: ["failure", "Failing after"],
  cancelled: ["failure", "Has been cancelled"],
  skipped: ["skipped", "Has been skipped"],
};

export interface JobStatusDeps {
  readonly urls: ForgeUrls;
  readonly enqueue: Enqueue;
  readonly publisher: Pick<HookPublisher, "hasSubscribers">;
}

/**
 * Reports each status of a job on the commit of its run, under `{workflow} / {job} ({event})`. If hooks subscribe to
 * statuses, a job publishes it afterwards.
 */
export function createJobStatusReports({
  urls,
  enqueue,
  publisher,
}: JobStatusDeps): RunReports["job"] {
  return report;

  async function report(tx: Transaction, run: ActionRun, job: ActionJob): Promise<void> {
    const shown = REPORTS[job.status];
    const repository = await findRepositoryById(tx, run.repositoryId);
    const owner = repository && (await findUserById(tx, repository.ownerId));
    if (shown === undefined || repository === undefined || owner === undefined) return;
    if (job.status === "blocked" && !hasFinalName(run, job)) return;
    const [state, text] = shown;
    const isTimed = job.status === "success" || job.status === "failure";
    const description = isTimed ? `${text} ${toDuration(job)}` : text;
    const path = `/${owner.name}/${repository.name}/actions/runs/${run.id}/jobs/${job.id}`;
    const status = await insertCommitStatus(tx, {
      repositoryId: repository.id,
      commitId: toStatusCommit(run),
      context: `${toWorkflowName(run)} / ${job.name} (${run.event})`.slice(0, CONTEXT_MAX),
      state,
      targetUrl: toUrl(urls, path),
      description,
      creatorId: run.actorId,
      authorId: undefined,
    });
    if (await publisher.hasSubscribers(tx, repository.id, ["status"]))
      await enqueueStatus(enqueue, tx, status.id);
  }
}

const CONTEXT_MAX = 255;

/**
 * Returns whether a job that waits for others keeps its name. The names of a matrix and those with expressions are known
 * when the job is decided, and so is the definition of a job of a called workflow.
 */
function hasFinalName({ definition }: ActionRun, job: ActionJob): boolean {
  if (job.isExpanded) return true;
  if (job.parentJobId !== undefined || definition === undefined) return false;
  const workflow: unknown = JSON.parse(definition);
  const jobs = isMapping(workflow) && Array.isArray(workflow["jobs"]) ? workflow["jobs"] : [];
  const found = jobs.filter(isMapping).find(({ key }) => key === job.key);
  return found?.["matrix"] === null && !String(found["name"]).includes("${{");
}

/** Returns the time that a job has taken, such as `1h2m3s`; `0s` for a job that never began. */
function toDuration({ startedAt, completedAt }: ActionJob): string {
  const isKnown = startedAt !== undefined && completedAt !== undefined;
  const seconds = isKnown ? Math.max(0, Math.round((completedAt - startedAt) / 1000)) : 0;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60);
  return [
    hours > 0 ? `${hours}h` : "",
    minutes > 0 ? `${minutes % 60}m` : "",
    `${seconds % 60}s`,
  ].join("");
}
const KIND = "forge.actions.status";
const payloadSchema = z.object({ statusId: z.int().brand<"StatusId">() });

async function enqueueStatus(enqueue: Enqueue, tx: Transaction, statusId: StatusId): Promise<void> {
  const payload: z.input<typeof payloadSchema> = { statusId };
  await enqueue(tx, { kind: KIND, payload });
}

/**
 * Returns the job that publishes the status of a job of a workflow to hooks: its payload has the commit, which git reads
 * outside of transactions. After a crash it may be published twice.
 */
export function createStatusJob({
  db,
  findCommit,
  emit,
}: {
  readonly db: Database;
  readonly findCommit: FindCommit;
  readonly emit: Emit;
}): JobKind {
  return {
    kind: KIND,
    async run(payload) {
      const { statusId } = parsePayload(payloadSchema, payload);
      const status = await findCommitStatus(db, statusId);
      const owned = status && (await loadRepositories(db, [status])).get(status.repositoryId);
      if (status === undefined || owned === undefined) return;
      const commit = await findCommit(owned.repository, status.commitId);
      if (commit === undefined) return;
      const { creatorId } = status;
      const creator = creatorId === undefined ? undefined : await findUserById(db, creatorId);
      const address = await findEmail(db, commit.author.email);
      const author =
        address?.isVerified === true ? await findUserById(db, address.userId) : undefined;
      await db.transaction((tx) => emit(tx, "status", { owned, status, creator, commit, author }));
    },
  };
}

/** Returns the name of the workflow, or its file when it has none. */
export function toWorkflowName({ definition, workflowFile }: ActionRun): string {
  const workflow: unknown = definition === undefined ? undefined : JSON.parse(definition);
  const name = isMapping(workflow) ? workflow["name"] : "";
  return typeof name === "string" && name !== "" ? name : workflowFile;
}
