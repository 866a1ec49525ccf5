import type { Transaction } from "../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ActionJob } from "../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../storage/tables/forge/actions/runs.ts";
import { listSteps, listTasksOfJobs } from "../../../storage/tables/forge/actions/tasks.ts";
import { listDisabledWorkflows } from "../../../storage/tables/forge/actions/workflows.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { toOrganizationView } from "../accounts/organization.view.ts";
import { toEmbeddedUserView, toGhostView } from "../accounts/user.view.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toWireTime } from "../urls.ts";
import { toJobView, toRunView } from "../actions/actions.view.ts";
import { toWorkflowName } from "../actions/runs/job-statuses.ts";
import { loadRepositories, toPhase } from "../actions/runs/run-records.ts";
import { toWorkflowView } from "../actions/runs/workflow.view.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** Returns the payload of a run and the user who triggered it; undefined when the repository was deleted. */
export async function loadRunPayload(
  tx: Transaction,
  run: ActionRun,
  urls: ForgeUrls,
): Promise<{ readonly payload: object; readonly actor: ForgeUser | undefined } | undefined> {
  const loaded = await loadRows(tx, run, urls);
  if (loaded === undefined) return undefined;
  const { owned, repository, actor, triggerActor, ends } = loaded;
  const isDisabled = (await listDisabledWorkflows(tx, run.repositoryId)).has(run.workflowFile);
  const workflow = {
    owned,
    file: run.workflowFile,
    folder: run.workflowFolder,
    name: toWorkflowName(run),
    isDisabled,
    // The times of the file are in the repository, which is not read within a transaction.
    at: toWireTime(run.createdAt),
  };
  const details = { run, repository: { ...repository, access: "none" as const } };
  return {
    payload: {
      action: toPhase(run.status),
      workflow: toWorkflowView(workflow, urls),
      workflow_run: toRunView({ ...details, actor, triggerActor }, urls),
      ...ends,
    },
    actor: triggerActor,
  };
}

/** Returns the payload of a job of a run; undefined when the repository was deleted. */
export async function loadRunJobPayload(
  tx: Transaction,
  run: ActionRun,
  job: ActionJob,
  urls: ForgeUrls,
): Promise<object | undefined> {
  const loaded = await loadRows(tx, run, urls);
  if (loaded === undefined) return undefined;
  const { owned, ends } = loaded;
  const [task] = await listTasksOfJobs(tx, [job.id]);
  const steps = task === undefined ? [] : (await listSteps(tx, [task.id])).get(task.id);
  const view = toJobView({ owned, run, job, task, steps: steps ?? [] }, urls);
  return { action: view.status, workflow_job: view, ...ends };
}

/** Loads the rows that both payloads show; undefined when the repository was deleted. */
async function loadRows(tx: Transaction, run: ActionRun, urls: ForgeUrls) {
  const { repositoryId: id } = run;
  const owned = (await loadRepositories(tx, [run])).get(id);
  if (owned === undefined) return undefined;
  const find = async (userId: UserId | undefined): Promise<ForgeUser | undefined> =>
    userId === undefined ? undefined : findUserById(tx, userId);
  const actor = await find(run.actorId);
  const triggerActor = run.triggerActorId === undefined ? actor : await find(run.triggerActorId);
  const watchers = (await countWatchers(tx, [id])).get(id) ?? 0;
  const repository = { ...owned, watchers, access: "owner" as const, isSignedIn: false };
  const { owner } = owned;
  return {
    owned,
    repository,
    actor,
    triggerActor,
    ends: {
      ...(owner.kind === "organization" ? { organization: toOrganizationView(owner, urls) } : {}),
      repository: toRepositoryView(repository, urls),
      sender:
        triggerActor === undefined
          ? toGhostView(urls)
          : toEmbeddedUserView(triggerActor, false, urls),
    },
  };
}
