import { hasActions } from "../../repositories/repository-settings.view.ts";
import type { Transaction } from "../../../../storage/engine/database.ts";
import {
  type ActionRun,
  insertRun,
  listGroup,
  listUnapprovedRuns,
  updateRun,
} from "../../../../storage/tables/forge/actions/runs.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { countWatchers } from "../../../../storage/tables/forge/repositories/watches.ts";
import { AppError } from "../../../errors.ts";
import { toOrganizationView } from "../../accounts/organization.view.ts";
import { toEmbeddedUserView, toGhostView } from "../../accounts/user.view.ts";
import type { OwnedRepository } from "../../events.ts";
import { toRepositoryView } from "../../repositories/repository.view.ts";
import type { ForgeUrls } from "../../urls.ts";
import { readVariables } from "../secrets/variables.service.ts";
import { evaluateTemplate } from "../../../workflows/expressions/evaluate.ts";
import {
  assertStorable,
  ExpressionError,
  isTruthy,
  toText,
} from "../../../workflows/expressions/values.ts";
import { createWork, WorkExceeded } from "../../../workflows/expressions/work.ts";
import { toInputsContext } from "../../../workflows/dispatch-inputs.ts";
import { evaluateDeep, type Mapping, toJsonMapping } from "../../../workflows/mapping.ts";
import type { Workflow } from "../../../workflows/workflow.ts";
import type { RunEngine } from "./advance-run.ts";
import { needsApproval } from "./approvals.ts";
import { insertBlockedJob } from "./new-jobs.ts";
import type { OpenRun } from "./open-run.ts";
import { toGithubContext } from "./run-contexts.ts";
import { toGroup, toShownError } from "./run-records.ts";
import type { RunId, UserId } from "../../../../storage/tables/forge/ids.ts";

/** The trigger of a run. */
export interface RunTrigger {
  readonly owned: OwnedRepository;
  readonly actor: ForgeUser | undefined;
  readonly event: string;
  /** The event without its repository and sender, which are added. */
  readonly payload: Mapping;
  readonly ref: string;
  readonly headSha: string;
  /** The title when the file has no `run-name`. */
  readonly title: string;
  readonly file: string;
  readonly folder: string;
  /** A trigger with a known key creates no second run. */
  readonly key: string;
  /** The author of the pull request when the workflow is that of its fork. */
  readonly fork?: { readonly authorId: UserId | undefined } | undefined;
}

const TITLE_CHARACTERS_MAX = 255;
/** Steps in which the name and the group of a run are evaluated: some 10 ms. */
const STEPS_MAX = 1_000_000;

/** Creates runs. */
export type StartRun = ReturnType<typeof createRunStarter>;

export function createRunStarter({
  engine,
  urls,
  open,
}: {
  readonly engine: RunEngine;
  readonly urls: ForgeUrls;
  readonly open: (tx: Transaction, runId: RunId) => Promise<OpenRun | undefined>;
}) {
  return {
    /**
     * Creates a run with its jobs and decides those that need no other; undefined when the trigger has created it
     * before, and when the workflow was disabled or the repository archived or deleted in the meantime. A concurrency group allows one active run: others are cancelled, or the new run waits in place of one
     * that waited. The run of a fork waits for approval if `needsApproval` says so, in place of one of the same workflow and
     * pull request.
     */
    async start(
      tx: Transaction,
      requestedTrigger: RunTrigger,
      workflow: Workflow,
    ): Promise<ActionRun | undefined> {
      const trigger = await complete(tx, requestedTrigger);
      if (trigger === undefined) return undefined;
      const { owned, actor, fork } = trigger;
      const waits =
        fork !== undefined && (await needsApproval(tx, owned, [actor?.id, fork.authorId]));
      if (waits) await cancelUnapproved(tx, trigger);
      const run = await insertRun(tx, {
        ...toRow(trigger),
        title: trigger.title,
        definition: JSON.stringify(workflow),
        status: "blocked",
        error: "",
        concurrencyGroup: "",
        isHeld: false,
        needsApproval: waits,
      });
      if (run === undefined) return undefined;
      // The id and the number of the run may be part of its name and of its group.
      const actorName = actor?.name ?? "Ghost";
      const github = toGithubContext({ run, owned, actorName, workflowName: workflow.name, urls });
      const inputs = toInputsContext(workflow, trigger.payload);
      const vars = await readVariables(tx, owned.repository);
      const settings = evaluateSettings(run, workflow, { github, inputs, vars });
      if (typeof settings === "string") return endFailed(tx, run, settings);
      for (const definition of workflow.jobs) await insertBlockedJob(tx, run, definition);
      if (waits) await updateRun(tx, run.id, { title: settings.title });
      else await enterGroup(tx, run, settings);
      await engine.begin(tx, run.id);
      return run;
    },

    /** Lets a run begin that waits for approval, in the group that it names. Has no effect on any other run. */
    async approve(tx: Transaction, runId: RunId, userId: UserId): Promise<void> {
      const opened = await open(tx, runId);
      if (opened?.run.needsApproval !== true) return;
      const { run, workflow } = opened;
      await updateRun(tx, runId, { needsApproval: false, approvedBy: userId });
      const settings = evaluateSettings(run, workflow, opened);
      // Its variables were changed since it was made.
      if (typeof settings === "string") throw new AppError("unprocessable", settings);
      await enterGroup(tx, run, settings);
      await engine.advance(tx, runId);
    },

    /** Creates a run that failed before it had jobs, such as the run of an invalid file; undefined as `start` does. */
    async fail(
      tx: Transaction,
      requestedTrigger: RunTrigger,
      error: string,
    ): Promise<ActionRun | undefined> {
      const trigger = await complete(tx, requestedTrigger);
      return trigger && insertFailed(tx, trigger, error);
    },
  };

  /** Cancels the runs of the same workflow and pull request that still wait for approval: their commits are not the head. */
  async function cancelUnapproved(
    tx: Transaction,
    { owned, ref, file, event }: RunTrigger,
  ): Promise<void> {
    for (const other of await listUnapprovedRuns(tx, owned.repository.id, ref))
      if (other.workflowFile === file && other.event === event) await engine.cancel(tx, other);
  }

  /** Gives a run its title and its group: others of the group are cancelled, or the run waits for them. */
  async function enterGroup(
    tx: Transaction,
    run: ActionRun,
    { group, cancelsOthers, title }: RunSettings,
  ): Promise<void> {
    const others = group === "" ? [] : await listGroup(tx, run.repositoryId, group);
    // This run is in no group yet: the end of a cancelled run must not start this one beside another.
    // Held ones first, which would begin when the others end.
    for (const other of others.toSorted((left, right) => +right.isHeld - +left.isHeld))
      if (cancelsOthers || other.isHeld) await engine.cancel(tx, other);
    // A cancelled run may still clean up.
    const left = group === "" ? [] : await listGroup(tx, run.repositoryId, group);
    await updateRun(tx, run.id, { title, concurrencyGroup: group, isHeld: left.length > 0 });
  }

  async function insertFailed(
    tx: Transaction,
    trigger: RunTrigger,
    error: string,
  ): Promise<ActionRun | undefined> {
    const run = await insertRun(tx, {
      ...toRow(trigger),
      title: trigger.title,
      definition: undefined,
      status: "failure",
      error: toShownError(error),
      concurrencyGroup: "",
      isHeld: false,
    });
    return run && endFailed(tx, run, error);
  }

  async function endFailed(tx: Transaction, run: ActionRun, error: string): Promise<ActionRun> {
    const changes = {
      definition: undefined,
      status: "failure",
      error: toShownError(error),
      needsApproval: false,
      completedAt: tx.now,
    } as const;
    await updateRun(tx, run.id, changes);
    await engine.begin(tx, run.id);
    return { ...run, ...changes };
  }

  /**
   * Adds the subjects that every event has, as hooks receive them: actions read them from `github.event`. Returns undefined
   * when the repository no longer runs the workflow: its files were read before the transaction.
   */
  async function complete(tx: Transaction, trigger: RunTrigger): Promise<RunTrigger | undefined> {
    const { actor, event, payload, file } = trigger;
    const { id } = trigger.owned.repository;
    const repository = await findRepositoryById(tx, id);
    const owner = repository && (await findUserById(tx, repository.ownerId));
    if (repository === undefined || owner === undefined || !hasActions(repository))
      return undefined;
    if ((await listDisabledWorkflows(tx, id)).has(file)) return undefined;
    const owned = { repository, owner };
    const watchers = (await countWatchers(tx, [id])).get(id) ?? 0;
    const details = { ...owned, watchers, access: "owner", isSignedIn: false } as const;
    const sender = actor === undefined ? toGhostView(urls) : toEmbeddedUserView(actor, false, urls);
    const subjects = {
      ...(owned.owner.kind === "organization"
        ? { organization: toOrganizationView(owned.owner, urls) }
        : {}),
      repository: toRepositoryView(details, urls),
      ...(event === "push" ? { pusher: sender } : {}),
      sender,
    };
    // Serialized as the runner will get it: JSON omits some members of the views.
    return {
      ...trigger,
      owned,
      payload: { ...payload, ...toJsonMapping(subjects) },
    };
  }
}

/** The settings of a run that its file has as expressions. */
interface RunSettings {
  readonly title: string;
  /** Empty outside of groups. */
  readonly group: string;
  readonly cancelsOthers: boolean;
}

/** Evaluates the name and the group of a run; returns the reason when that fails. */
function evaluateSettings(
  run: ActionRun,
  workflow: Workflow,
  { github, inputs, vars }: Pick<OpenRun, "github" | "inputs" | "vars">,
): RunSettings | string {
  const file = run.workflowFile;
  const scope = { contexts: { github, inputs, vars }, work: createWork(STEPS_MAX) };
  try {
    const runName = toText(evaluateTemplate(workflow.runName, scope));
    const named = assertStorable(runName, "run-name").replaceAll(/\s+/g, " ");
    const title = [...(named.trim() || run.title)].slice(0, TITLE_CHARACTERS_MAX).join("");
    if (workflow.concurrency === undefined) return { group: "", cancelsOthers: false, title };
    const { group, cancelInProgress } = workflow.concurrency;
    const cancels = evaluateDeep(cancelInProgress, scope);
    const groupName = toText(evaluateTemplate(group, scope));
    return {
      group: toGroup(run, assertStorable(groupName, "concurrency")),
      cancelsOthers: isTruthy(cancels) && cancels !== "false",
      title,
    };
  } catch (error) {
    if (error instanceof ExpressionError) return `${file}: ${error.message}`;
    if (error instanceof WorkExceeded)
      return `${file}: evaluating run-name and concurrency takes too much time`;
    throw error;
  }
}

function toRow(trigger: RunTrigger) {
  const { owned, actor, event, payload, ref, headSha, file, folder, key, fork } = trigger;
  return {
    repositoryId: owned.repository.id,
    actorId: actor?.id,
    event,
    workflowFile: file,
    workflowFolder: folder,
    ref,
    headSha,
    eventPayload: JSON.stringify(payload),
    triggerKey: key,
    isFork: fork !== undefined,
  };
}
