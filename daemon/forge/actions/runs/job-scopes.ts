import type { ActionJob } from "../../../../storage/tables/forge/actions/jobs.ts";
import { isMapping, type Mapping } from "../../../workflows/mapping.ts";
import type { JobDefinition, Workflow } from "../../../workflows/workflow.ts";
import type { OpenRun } from "./open-run.ts";

/** The definition of a run's job, and the contexts of its expressions. */
export interface JobScope {
  readonly definition: JobDefinition;
  /** The run's own workflow, or the one that a job of the run calls. */
  readonly workflow: Workflow;
  /** The jobs of that workflow in this attempt, the job among them. */
  readonly jobs: readonly ActionJob[];
  readonly github: Mapping;
  readonly inputs: Mapping;
  /** The job that calls the workflow, with its own scope; undefined for the run's own workflow. */
  readonly caller: { readonly job: ActionJob; readonly scope: JobScope } | undefined;
}

/**
 * Returns the scope of a job; undefined when the run does not define it. In a called workflow `github.event_name` is
 * `workflow_call` and `github.event.inputs` are its inputs, as Gitea has it: its runner program reads them there.
 * @param jobs all jobs of the attempt
 */
export function findScope(
  opened: Pick<OpenRun, "workflow" | "github" | "inputs">,
  jobs: readonly ActionJob[],
  job: ActionJob,
): JobScope | undefined {
  const { parentJobId, key } = job;
  const beside = jobs.filter((each) => each.parentJobId === parentJobId);
  if (parentJobId === undefined) {
    const { workflow, github, inputs } = opened;
    const definition = workflow.jobs.find((each) => each.key === key);
    return definition && { definition, workflow, jobs: beside, github, inputs, caller: undefined };
  }
  const parent = jobs.find(({ id }) => id === parentJobId);
  const scope = parent && findScope(opened, jobs, parent);
  const workflow = scope && findCalled(opened.workflow, scope.definition);
  const definition = workflow?.jobs.find((each) => each.key === key);
  if (parent === undefined || scope === undefined) return undefined;
  if (workflow === undefined || definition === undefined) return undefined;
  const inputs = parent.call?.inputs ?? {};
  const { event } = opened.github;
  const github = {
    ...opened.github,
    event_name: "workflow_call",
    event: { ...(isMapping(event) ? event : {}), inputs },
  };
  return { definition, workflow, jobs: beside, github, inputs, caller: { job: parent, scope } };
}

/** Returns the workflow that a job calls. */
export function findCalled(run: Workflow, { call }: JobDefinition): Workflow | undefined {
  return call?.address === undefined ? undefined : run.calls?.[call.address];
}
