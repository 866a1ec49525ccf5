import type { Transaction } from "../../../../storage/engine/database.ts";
import {
  type ActionRun,
  insertRun,
  listGroup,
  updateRun,
} from "../../../../storage/tables/forge/actions/runs.ts";
import { listDisabledWorkflows } from "../../../../storage/tables/forge/actions/workflows.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { countWatchers } from "../../../../storage/tables/forge/repositories/watches.ts";
import { toOrganizationView } from "../../accounts/organization.view.ts";
import { toEmbeddedUserView, toGhostView } from "../../accounts/user.view.ts";
import type { OwnedRepository } from "../../events.ts";
import { toRepositoryView } from "../../repositories/repository.view.ts";
import type { ForgeUrls } from "../../urls.ts";
import { readVariables } from "../secrets/variables.service.ts";
import { evaluateTemplate } from "../../../workflows/expressions/evaluate.ts";
import { ExpressionError, isTruthy, toText } from "../../../workflows/expressions/values.ts";
import { createWork, WorkExceeded } from "../../../workflows/expressions/work.ts";
import { toInputsContext } from "../../../workflows/dispatch-inputs.ts";
import { evaluateDeep, type Mapping, toJsonMapping } from "../../../workflows/mapping.ts";
import type { Workflow } from "../../../workflows/workflow.ts";
import type { RunEngine } from "./advance-run.ts";
import { insertBlockedJob } from "./new-jobs.ts";
import { toGithubContext } from "./run-contexts.ts";
import { hasActions } from "./workflow-files.ts";

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
}

const TITLE_CHARACTERS_MAX = 255;
/** Steps in which the name and the group of a run are evaluated: some 10 ms. */
const STEPS_MAX = 1_000_000;

/** Creates runs. */
export type StartRun = ReturnType<typeof createRunStarter>;

export function createRunStarter({
  engine,
  urls,
}: {
  readonly engine: RunEngine;
  readonly urls: ForgeUrls;
}) {
  return {
    /**
     * Creates a run with its jobs and decides those that need no other; undefined when the trigger has created it
     * before, and when the workflow was disabled or the repository archived or deleted in the meantime. A concurrency group allows one active run: others are cancelled, or the new run waits in place of one
     * that waited.
     */
    async start(
      tx: Transaction,
      requestedTrigger: RunTrigger,
      workflow: Workflow,
    ): Promise<ActionRun | undefined> {
      const trigger = await complete(tx, requestedTrigger);
      if (trigger === undefined) return undefined;
      const vars = await readVariables(tx, trigger.owned.repository);
      const run = await insertRun(tx, {
        ...toRow(trigger),
        title: trigger.title,
        definition: JSON.stringify(workflow),
        status: "blocked",
        error: "",
        concurrencyGroup: "",
        isHeld: false,
      });
      if (run === undefined) return undefined;
      // The id and the number of the run may be part of its name and of its group.
      const settings = evaluateSettings(trigger, run, workflow, vars);
      if (typeof settings === "string") return endFailed(tx, run, settings);
      const { group, cancelsOthers, title } = settings;
      const others = group === "" ? [] : await listGroup(tx, run.repositoryId, group);
      for (const definition of workflow.jobs) await insertBlockedJob(tx, run, definition);
      // This run is in no group yet: the end of a cancelled run must not start this one beside another.
      // Held ones first, which would begin when the others end.
      for (const other of others.toSorted((left, right) => +right.isHeld - +left.isHeld))
        if (cancelsOthers || other.isHeld) await engine.cancel(tx, other);
      // A cancelled run may still clean up.
      const left = group === "" ? [] : await listGroup(tx, run.repositoryId, group);
      const changes = { title, concurrencyGroup: group, isHeld: left.length > 0 };
      await updateRun(tx, run.id, changes);
      await engine.begin(tx, run.id);
      return { ...run, ...changes };
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
      error,
      concurrencyGroup: "",
      isHeld: false,
    });
    return run && endFailed(tx, run, error);
  }

  async function endFailed(tx: Transaction, run: ActionRun, error: string): Promise<ActionRun> {
    const changes = {
      definition: undefined,
      status: "failure",
      error,
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

  function evaluateSettings(
    { owned, actor, payload, title: usualTitle, file }: RunTrigger,
    run: ActionRun,
    workflow: Workflow,
    vars: Mapping,
  ) {
    const actorName = actor?.name ?? "Ghost";
    const github = toGithubContext({ run, owned, actorName, workflowName: workflow.name, urls });
    const inputs = toInputsContext(workflow, payload);
    const scope = { contexts: { github, inputs, vars }, work: createWork(STEPS_MAX) };
    try {
      const named = toText(evaluateTemplate(workflow.runName, scope)).replaceAll(/\s+/g, " ");
      const title = [...(named.trim() || usualTitle)].slice(0, TITLE_CHARACTERS_MAX).join("");
      if (workflow.concurrency === undefined) return { group: "", cancelsOthers: false, title };
      const { group, cancelInProgress } = workflow.concurrency;
      const cancels = evaluateDeep(cancelInProgress, scope);
      return {
        group: toText(evaluateTemplate(group, scope)),
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
}

function toRow({ owned, actor, event, payload, ref, headSha, file, folder, key }: RunTrigger) {
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
  };
}
