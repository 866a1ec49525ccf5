import type { ActionJob } from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import type { OwnedRepository } from "../../repositories/events.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import type { ConditionState, ExpressionValue } from "../workflows/expressions/values.ts";
import { isMapping, type Mapping } from "../workflows/mapping.ts";
import type { JobDefinition, Workflow } from "../workflows/workflow.ts";

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

/** Returns the `github` context of a run; numbers are texts (forge behaviour, 16.5). */
export function toGithubContext({ run, owned, actorName, workflowName, urls }: RunOrigin): Mapping {
  const { repository, owner } = owned;
  const [, kind, refName = run.ref] = /^refs\/(heads|tags)\/(.*)$/s.exec(run.ref) ?? [];
  const event: unknown = JSON.parse(run.eventPayload);
  return {
    action: "",
    action_path: "",
    action_ref: "",
    action_repository: "",
    action_status: "",
    actor: actorName,
    api_url: toUrl(urls, "/api/v1"),
    base_ref: "",
    env: "",
    event: isMapping(event) ? event : {},
    event_name: run.event,
    event_path: "",
    gitea_default_actions_url: "https://github.com",
    gitea_runtime_token: "",
    graphql_url: "",
    head_ref: "",
    job: "",
    path: "",
    ref: run.ref,
    ref_name: refName,
    ref_protected: false,
    ref_type: kind === "tags" ? "tag" : kind === "heads" ? "branch" : "",
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

/** Results as contexts and runners name them. */
export type NeedResult = "success" | "failure" | "cancelled" | "skipped";

/** Result and outputs of a job that another one needs. */
export interface Need {
  readonly result: NeedResult;
  readonly outputs: Readonly<Record<string, string>>;
}

/** The parts of a need. */
export type EndedJob = Pick<ActionJob, "key" | "status" | "continueOnError" | "outputs">;

/**
 * Joins the jobs of a matrix into one need. One failure makes the need a failure, and a value that is not empty wins.
 */
export function toNeed(jobs: readonly EndedJob[]): Need {
  const results = jobs.map(({ status, continueOnError }) =>
    status === "failure" && continueOnError ? "success" : status,
  );
  const result =
    (["failure", "cancelled"] as const).find((each) => results.includes(each)) ??
    (results.every((each) => each === "skipped") ? "skipped" : "success");
  const outputs: Record<string, string> = {};
  for (const job of jobs)
    for (const [name, value] of Object.entries(job.outputs))
      if (value !== "" || outputs[name] === undefined) outputs[name] = value;
  return { result, outputs };
}

/** Returns the needs of a job by the key of the needed job. */
export function toNeeds(
  definition: JobDefinition,
  jobs: readonly EndedJob[],
): ReadonlyMap<string, Need> {
  return new Map(
    definition.needs.map((key) => [key, toNeed(jobs.filter((job) => job.key === key))]),
  );
}

/**
 * Returns the values of `success()` and `failure()`: a failed job anywhere before this one counts, and a skipped need as
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
  const results = [...ancestors].map((key) => toNeed(jobs.filter((job) => job.key === key)).result);
  if (results.includes("failure")) return "failure";
  if (results.includes("cancelled")) return "cancelled";
  const direct = [...toNeeds(definition, jobs).values()];
  return direct.some(({ result }) => result === "skipped") ? "skipped" : "success";
}

/** Returns the `needs` context. */
export function toNeedsContext(needs: ReadonlyMap<string, Need>): Mapping {
  return Object.fromEntries(
    [...needs].map(([key, { result, outputs }]) => [
      key,
      { result, outputs: { ...outputs } satisfies Record<string, ExpressionValue> },
    ]),
  );
}
