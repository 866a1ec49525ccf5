import type { Queries } from "../../../../storage/engine/database.ts";
import {
  type ActionJob,
  listOutputs,
  parseOutputs,
} from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import type { OwnedRepository } from "../../events.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import {
  joinOutputs,
  type Need,
  type NeedResult,
  type StoredNeed,
} from "../../../workflows/evaluation.ts";
import type { ConditionState } from "../../../workflows/expressions/values.ts";
import { isMapping, type Mapping } from "../../../workflows/mapping.ts";
import type { JobDefinition, Workflow } from "../../../workflows/workflow.ts";

/** The values from which the contexts of a run are created. */
export interface RunOrigin {
  readonly run: Pick<
    ActionRun,
    "number" | "event" | "workflowFile" | "ref" | "headSha" | "eventPayload" | "attempt"
  > & { readonly id?: number };
  readonly owned: OwnedRepository;
  readonly actorName: string;
  /** The name in the file; empty when it has none. */
  readonly workflowName: string;
  readonly urls: ForgeUrls;
}

/** Returns the `github` context of a run; numbers are texts. */
export function toGithubContext({ run, owned, actorName, workflowName, urls }: RunOrigin): Mapping {
  const { repository, owner } = owned;
  // As on GitHub, the name of the ref of a pull request is `7/head`, and its type is that of a branch.
  const [, kind, refName = run.ref] = /^refs\/(heads|tags|pull)\/(.*)$/s.exec(run.ref) ?? [];
  const event: unknown = JSON.parse(run.eventPayload);
  const pull = isMapping(event) ? findPullOfRun(run.event, event) : undefined;
  return {
    action: "",
    action_path: "",
    action_ref: "",
    action_repository: "",
    action_status: "",
    actor: actorName,
    api_url: toUrl(urls, "/api/v1"),
    base_ref: toEndText(pull, "base", "ref"),
    env: "",
    event: isMapping(event) ? event : {},
    event_name: run.event,
    event_path: "",
    gitea_default_actions_url: "https://github.com",
    gitea_runtime_token: "",
    graphql_url: "",
    head_ref: toEndText(pull, "head", "ref"),
    job: "",
    path: "",
    ref: run.ref,
    ref_name: refName,
    ref_protected: false,
    ref_type: kind === "tags" ? "tag" : kind === undefined ? "" : "branch",
    repository: `${owner.name}/${repository.name}`,
    repositoryUrl: toUrl(urls, `/${owner.name}/${repository.name}.git`),
    repository_owner: owner.name,
    retention_days: "",
    run_attempt: String(run.attempt),
    run_id: run.id === undefined ? "" : String(run.id),
    run_number: String(run.number),
    secret_source: "Actions",
    server_url: toUrl(urls, "/"),
    sha: run.headSha,
    token: "",
    triggering_actor: actorName,
    workflow: workflowName || run.workflowFile,
    workspace: "",
  };
}

/** Returns the pull request of an event of pull requests, as its payload shows it; undefined for any other event. */
function findPullOfRun(event: string, payload: Mapping): Mapping | undefined {
  const pull = event.startsWith("pull_request") ? payload["pull_request"] : undefined;
  return isMapping(pull) && isMapping(pull["head"]) ? pull : undefined;
}

/** Returns the branch or the commit of an end of a pull request; empty without one. */
function toEndText(pull: Mapping | undefined, end: "base" | "head", member: "ref" | "sha"): string {
  const found = pull?.[end];
  const text = isMapping(found) ? found[member] : undefined;
  return typeof text === "string" ? text : "";
}

/** Returns the commit that shows how a run goes: of a pull request its head, also for a run on its base. */
export function toStatusCommit({ event, eventPayload, headSha }: ActionRun): string {
  if (!event.startsWith("pull_request")) return headSha;
  const payload: unknown = JSON.parse(eventPayload);
  const pull = isMapping(payload) ? findPullOfRun(event, payload) : undefined;
  return toEndText(pull, "head", "sha") || headSha;
}

/** The parts of a need. */
export type EndedJob = Pick<ActionJob, "id" | "key" | "status" | "continueOnError">;

/** Joins the results of the jobs of a matrix: one failure makes the need a failure. */
export function toNeedResult(jobs: readonly EndedJob[]): NeedResult {
  const results = jobs.map(({ status, continueOnError }) =>
    status === "failure" && continueOnError ? "success" : status,
  );
  return (
    (["failure", "cancelled"] as const).find((each) => results.includes(each)) ??
    (results.every((each) => each === "skipped") ? "skipped" : "success")
  );
}

/** Returns needs by key, with the outputs of their jobs as they are stored. */
export async function readNeeds(
  db: Queries,
  keys: readonly string[],
  jobs: readonly EndedJob[],
): Promise<readonly StoredNeed[]> {
  const needed = keys.map((key) => ({ key, jobs: jobs.filter((job) => job.key === key) }));
  const outputs = await listOutputs(
    db,
    needed.flatMap((need) => need.jobs.map(({ id }) => id)),
  );
  return needed.map((need) => ({
    key: need.key,
    result: toNeedResult(need.jobs),
    outputs: need.jobs.flatMap(({ id }) => outputs.get(id) ?? []),
  }));
}

/** Returns the needs of a job by the key of the needed job. */
export async function toNeeds(
  db: Queries,
  definition: JobDefinition,
  jobs: readonly EndedJob[],
): Promise<ReadonlyMap<string, Need>> {
  const needs = await readNeeds(db, definition.needs, jobs);
  return new Map(
    needs.map(({ key, result, outputs }) => [
      key,
      { result, outputs: joinOutputs(outputs.map(parseOutputs)) },
    ]),
  );
}

/**
 * Returns the values of `success()` and `failure()`: a failed job anywhere before this one counts, and a skipped
 * need as
 * well.
 */
export function toConditionState(
  definition: JobDefinition,
  workflow: Workflow,
  jobs: readonly EndedJob[],
): ConditionState {
  const ancestors = new Set<string>();
  const pending = [...definition.needs];
  for (let key = pending.pop(); key !== undefined; key = pending.pop()) {
    if (ancestors.has(key)) continue;
    ancestors.add(key);
    pending.push(...(workflow.jobs.find((each) => each.key === key)?.needs ?? []));
  }
  const resultOf = (key: string) => toNeedResult(jobs.filter((job) => job.key === key));
  const results = [...ancestors].map(resultOf);
  if (results.includes("failure")) return "failure";
  if (results.includes("cancelled")) return "cancelled";
  return definition.needs.some((key) => resultOf(key) === "skipped") ? "skipped" : "success";
}
