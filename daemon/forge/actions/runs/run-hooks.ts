import type { Transaction } from "../../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { listSteps, listTasksOfJobs } from "../../../../storage/tables/forge/actions/tasks.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import { countWatchers } from "../../../../storage/tables/forge/repositories/watches.ts";
import { toOrganizationView } from "../../accounts/organization.view.ts";
import { toEmbeddedUserView, toGhostView } from "../../accounts/user.view.ts";
import type { HookPublisher } from "../../hooks/publisher.ts";
import { toRepositoryView } from "../../repositories/repository.view.ts";
import { type ForgeUrls, toWireTime } from "../../urls.ts";
import { toJobView, toRunView } from "../actions.view.ts";
import type { RunReports } from "./advance-run.ts";
import { toWorkflowName } from "./job-statuses.ts";
import { loadRepositories, toPhase } from "./run-records.ts";
import { toWorkflowView } from "./workflow.view.ts";
import type { UserId } from "../../../../storage/tables/forge/ids.ts";

/** Publishes runs and jobs to hooks, once for each visible change. */
export function createRunHooks({
  publisher,
  urls,
}: {
  readonly publisher: Pick<HookPublisher, "publish" | "hasSubscribers">;
  readonly urls: ForgeUrls;
}): RunReports {
  return {
    async run(tx, run) {
      if (!(await publisher.hasSubscribers(tx, run.repositoryId, ["workflow_run"]))) return;
      const loaded = await load(tx, run);
      if (loaded === undefined) return;
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
      const payload = {
        action: toPhase(run.status),
        workflow: toWorkflowView(workflow, urls),
        workflow_run: toRunView({ ...details, actor, triggerActor }, urls),
        ...ends,
      };
      await publisher.publish(tx, {
        event: "workflow_run",
        repositoryId: run.repositoryId,
        payload,
        ...(triggerActor === undefined ? {} : { actor: triggerActor }),
      });
    },

    async job(tx, run, job) {
      // The job is still shown as in progress.
      if (job.status === "cancelling") return;
      if (!(await publisher.hasSubscribers(tx, run.repositoryId, ["workflow_job"]))) return;
      const loaded = await load(tx, run);
      if (loaded === undefined) return;
      const { owned, ends } = loaded;
      const [task] = await listTasksOfJobs(tx, [job.id]);
      const steps = task === undefined ? [] : (await listSteps(tx, [task.id])).get(task.id);
      const view = toJobView({ owned, run, job, task, steps: steps ?? [] }, urls);
      const payload = { action: view.status, workflow_job: view, ...ends };
      await publisher.publish(tx, {
        event: "workflow_job",
        repositoryId: run.repositoryId,
        payload,
      });
    },
  };

  /** Loads the rows that both payloads show; undefined when the repository was deleted. */
  async function load(tx: Transaction, run: ActionRun) {
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
}

/** Combines several reports into one, which makes them in order in the same transaction. */
export function joinRunReports(...all: readonly RunReports[]): RunReports {
  return {
    async run(tx, run) {
      for (const reports of all) await reports.run(tx, run);
    },
    async job(tx, run, job) {
      for (const reports of all) await reports.job(tx, run, job);
    },
  };
}
