import { Readable } from "node:stream";
import { z } from "zod";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ActionRun } from "../../../storage/tables/forge/actions/runs.ts";
import { type ActionStatus } from "../../../storage/tables/forge/actions/statuses.ts";
import type {
  WireJob,
  WireRun,
  WireRunner,
  WireTask,
} from "../../contract/forge/actions/shapes.ts";
import { toEmbeddedUserView, toGhostView } from "../accounts/user.view.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import type { OwnedRepository } from "../events.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, neverTime, toApiUrl, toUrl, toWireTime } from "../urls.ts";
import { toContentDisposition } from "../packages/download.view.ts";
import type { JobDetails, JobLog, RunDetails, TaskDetails } from "./actions.service.ts";
import type { LogRange } from "./runners/logs.service.ts";
import type { RunnerDetails } from "./runners/runners.service.ts";

/** A runner. The id of a label is its position. */
export function toRunnerView({ runner, isOnline, isBusy }: RunnerDetails): WireRunner {
  return {
    id: runner.id,
    name: runner.name,
    status: isOnline ? "online" : "offline",
    busy: isBusy,
    disabled: runner.isDisabled,
    ephemeral: runner.isEphemeral,
    labels: runner.labels.map((name, id) => ({ id, name, type: "custom" })),
  };
}

/** A run. */
export function toRunView(
  { run, repository, actor, triggerActor }: RunDetails,
  urls: ForgeUrls,
): WireRun {
  const home = toHome(repository);
  const toUser = (account: ForgeUser | undefined) =>
    account === undefined
      ? toGhostView(urls)
      : toEmbeddedUserView(account, repository.isSignedIn, urls);
  const url = toApiUrl(urls, `/repos/${home}/actions/runs/${run.id}`);
  return {
    id: run.id,
    url,
    previous_attempt_url: run.attempt > 1 ? `${url}/attempts/${run.attempt - 1}` : null,
    html_url: toUrl(urls, `/${home}/actions/runs/${run.id}`),
    display_title: run.title,
    path: `${run.workflowFile}@${run.ref}`,
    event: run.event,
    run_attempt: run.attempt,
    run_number: run.number,
    repository_id: 0,
    head_sha: run.headSha,
    ...toBranch(run),
    ...toState(run.status),
    ...(run.error === "" ? {} : { error: run.error }),
    actor: toUser(actor),
    trigger_actor: toUser(triggerActor),
    repository: toRepositoryView(repository, urls),
    pull_requests: toPullsOfRun(run),
    ...(run.needsApproval ? { needs_approval: true } : {}),
    started_at: toTime(run.startedAt),
    completed_at: toTime(run.completedAt),
  };
}

/** A job. */
export function toJobView({ owned, run, job, task, steps }: JobDetails, urls: ForgeUrls): WireJob {
  const home = toHome(owned);
  return {
    id: job.id,
    url: toApiUrl(urls, `/repos/${home}/actions/jobs/${job.id}`),
    html_url: toUrl(urls, `/${home}/actions/runs/${run.id}/jobs/${job.id}`),
    run_id: run.id,
    run_url: toApiUrl(urls, `/repos/${home}/actions/runs/${run.id}`),
    name: job.name,
    labels: [...job.labels],
    run_attempt: job.attempt,
    head_sha: run.headSha,
    ...toBranch(run),
    ...toState(job.status),
    runner_id: task?.runnerId ?? 0,
    ...(task === undefined ? {} : { runner_name: task.runnerName }),
    steps: steps.map((step) => ({
      name: step.name,
      number: step.number,
      ...toState(step.status),
      started_at: toTime(step.startedAt),
      completed_at: toTime(step.completedAt),
      log_index: step.logIndex,
      log_length: step.logLength,
    })),
    created_at: toWireTime(job.createdAt),
    started_at: toTime(job.startedAt),
    completed_at: toTime(job.completedAt),
  };
}

/** A task. It is created and started when its runner takes the job. */
export function toTaskView({ owned, run, job, task }: TaskDetails, urls: ForgeUrls): WireTask {
  return {
    id: task.id,
    name: job.name,
    head_branch: toBranch(run).head_branch ?? "",
    head_sha: run.headSha,
    run_number: run.number,
    event: run.event,
    display_title: run.title,
    status: task.status,
    workflow_id: run.workflowFile,
    url: toUrl(urls, `/${toHome(owned)}/actions/runs/${run.id}`),
    created_at: toWireTime(task.startedAt),
    updated_at: toWireTime(Math.max(task.reportedAt, task.completedAt ?? 0)),
    run_started_at: toWireTime(task.startedAt),
  };
}

/** The rows that a query selects; `rows` 0 selects all. */
export function toLogRange(query: { readonly from_row: number; readonly rows: number }): LogRange {
  return {
    from: Math.max(0, query.from_row),
    count: query.rows > 0 ? query.rows : Number.MAX_SAFE_INTEGER,
  };
}

/** Maximum number of bytes that are buffered for a slow reader. */
const LOG_BUFFER_BYTES = 64 * 1024;

/** The text of a log as a stream of unknown length. */
export function toLogAnswer({ name, rows }: JobLog): BytesAnswer {
  return {
    ...toTextAnswer(rows, "text/plain; charset=utf-8"),
    headers: { "Content-Disposition": toContentDisposition(name, "attachment") },
  };
}

/** Streams a text in chunks as the client reads them. */
export function toTextAnswer(text: AsyncGenerator<string>, contentType: string): BytesAnswer {
  return {
    status: 200,
    bytes: {
      size: undefined,
      contentType,
      etag: undefined,
      lastModified: undefined,
      async open() {
        // Read before the headers are sent, so that a text that cannot be read becomes an error response.
        const first = await text.next();
        const rows = async function* () {
          if (first.done === true) return;
          yield first.value;
          yield* text;
        };
        return Readable.from(rows(), { objectMode: false, highWaterMark: LOG_BUFFER_BYTES });
      },
      // A stream that is destroyed before its first row leaves the text suspended.
      release: () => void text.return(undefined).catch(() => undefined),
    },
  };
}

const toHome = ({ owner, repository }: OwnedRepository) => `${owner.name}/${repository.name}`;

const toTime = (at: number | undefined) => (at === undefined ? neverTime : toWireTime(at));

/** A run of the head of a pull request has no branch. */
function toBranch({ ref }: ActionRun): { readonly head_branch?: string } {
  const branch = ref.startsWith("refs/pull/") ? "" : ref.replace(/^refs\/(?:heads|tags)\//, "");
  return branch === "" ? {} : { head_branch: branch };
}

const repositoryOfPull = z.object({ id: z.int(), url: z.string(), name: z.string() }).nullable();
const endOfPull = z.object({ ref: z.string(), sha: z.string(), repo: repositoryOfPull });
const pullOfPayload = z.object({
  pull_request: z.object({
    id: z.int(),
    number: z.int(),
    head: endOfPull,
    base: endOfPull.extend({ repo: repositoryOfPull.unwrap() }),
  }),
});

/** The pull request of a run, as it was when its event happened. */
function toPullsOfRun({ event, eventPayload }: ActionRun): WireRun["pull_requests"] {
  if (!event.startsWith("pull_request")) return [];
  const { data } = pullOfPayload.safeParse(JSON.parse(eventPayload));
  if (data === undefined) return [];
  const { id, number, head, base } = data.pull_request;
  return [{ id, number, url: `${base.repo.url}/pulls/${number}`, head, base }];
}

/** Status and conclusion on the wire. */
function toState(status: ActionStatus): Pick<WireJob, "status" | "conclusion"> {
  switch (status) {
    case "waiting":
      return { status: "queued" };
    case "blocked":
      return { status: "waiting" };
    case "running":
    case "cancelling":
      return { status: "in_progress" };
    case "success":
    case "failure":
    case "cancelled":
    case "skipped":
      return { status: "completed", conclusion: status };
  }
}
