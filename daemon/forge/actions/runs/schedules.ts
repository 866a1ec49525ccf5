import { hasActions } from "../../repositories/repository-settings.view.ts";
import { createHash } from "node:crypto";
import type { Database } from "../../../../storage/engine/database.ts";
import { GitError } from "../../../../storage/git/git.ts";
import type { FolderFile } from "../../../../storage/git/folder-files.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { replaceWorkflowEvents } from "../../../../storage/tables/forge/actions/events.ts";
import {
  type ActionSchedule,
  deleteSchedule,
  listDisabledWorkflows,
  listDueSchedules,
  listSchedulesPlannedAfter,
  moveSchedule,
  replaceSchedules,
} from "../../../../storage/tables/forge/actions/workflows.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../../errors.ts";
import { forEachAlone } from "../../../jobs/cron-task.ts";
import type { FindCommit } from "../../git/commit-readers.ts";
import type { OwnedRepository } from "../../events.ts";
import type { ResolveCalls } from "./called-workflows.ts";
import { nextCronTime } from "./cron-times.ts";
import { readWorkflowFiles, type WorkflowFileDeps } from "./workflow-files.ts";
import type { RunTrigger, StartRun } from "./start-run.ts";

export interface WorkflowSchedulesDeps extends WorkflowFileDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly findCommit: FindCommit;
  readonly starter: StartRun;
  readonly resolveCalls: ResolveCalls;
}

/** Maximum number of schedules that one run of the task starts; the rest start a minute later. */
const DUE_MAX = 500;
const PAGE = 50;
/** Delay of a schedule whose files cannot be read, or that cannot be started. */
const RETRY_MS = 60_000;

/** Starts workflows by the cron expressions of the default branch. */
export type WorkflowSchedules = ReturnType<typeof createWorkflowSchedules>;

export function createWorkflowSchedules(deps: WorkflowSchedulesDeps) {
  const { db, clock, parser, findCommit, starter, resolveCalls } = deps;
  return {
    /**
     * Replaces the schedules and the events of a repository by those of the files of its default branch. Returns false, and
     * writes nothing, when another branch has become the default.
     */
    async replace(repository: ForgeRepository, files: readonly FolderFile[]): Promise<boolean> {
      const now = clock();
      const schedules: Pick<ActionSchedule, "file" | "cron" | "nextAt">[] = [];
      const events = new Set<string>();
      for (const { name: file, text } of files) {
        const workflow = await parser.parse({ file, text, ownerId: repository.ownerId });
        if (typeof workflow === "string") continue;
        for (const event of Object.keys(workflow.triggers)) events.add(event);
        for (const cron of workflow.triggers["schedule"]?.cron ?? []) {
          const nextAt = nextCronTime(cron, now);
          if (nextAt !== undefined) schedules.push({ file, cron, nextAt });
        }
      }
      return db.transaction(async (tx) => {
        const current = await findRepositoryById(tx, repository.id);
        if (current?.defaultBranch !== repository.defaultBranch) return false;
        await replaceSchedules(tx, repository.id, schedules);
        await replaceWorkflowEvents(tx, repository.id, events);
        return true;
      });
    },

    /**
     * Starts the due schedules, each once even when it is several times overdue. Throws after the last one for those that
     * cannot be started; they are due again after `RETRY_MS`.
     */
    async startDue(signal: AbortSignal): Promise<void> {
      await bringForward(signal);
      await forEachAlone(listDue(signal), startOrDelay);
    },
  };

  async function* listDue(signal: AbortSignal): AsyncGenerator<ActionSchedule> {
    for (let started = 0; started < DUE_MAX && !signal.aborted; started += PAGE) {
      const due = await listDueSchedules(db, clock(), PAGE);
      yield* due;
      if (due.length < PAGE) return;
    }
  }

  /** Starts a schedule, and delays one that cannot be started: it would be the first one again, ahead of all others. */
  async function startOrDelay(schedule: ActionSchedule): Promise<void> {
    try {
      await start(schedule);
    } catch (error) {
      await db.transaction((tx) => moveSchedule(tx, schedule, clock() + RETRY_MS));
      throw error;
    }
  }

  /**
   * Moves schedules whose next time a clock that was ahead has computed, in this daemon or another: they would wait until the
   * clock is there again.
   */
  async function bringForward(signal: AbortSignal): Promise<void> {
    const now = clock();
    let page: readonly ActionSchedule[] = [];
    do {
      const afterId = page.at(-1)?.id ?? 0;
      page = await listSchedulesPlannedAfter(db, now, { afterId, limit: PAGE });
      for (const schedule of page) {
        const next = nextCronTime(schedule.cron, now) ?? schedule.nextAt;
        const nextAt = Math.min(next, schedule.nextAt);
        await db.transaction((tx) => moveSchedule(tx, schedule, nextAt));
      }
    } while (page.length === PAGE && !signal.aborted);
  }

  async function start(schedule: ActionSchedule): Promise<void> {
    const next = nextCronTime(schedule.cron, clock());
    const repository = await findRepositoryById(db, schedule.repositoryId);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (next === undefined || repository === undefined || owner === undefined) {
      await deleteSchedule(db, schedule.id);
      return;
    }
    const disabled = await listDisabledWorkflows(db, repository.id);
    if (!hasActions(repository) || disabled.has(schedule.file)) {
      await db.transaction((tx) => moveSchedule(tx, schedule, next));
      return;
    }
    const actor = owner.kind === "individual" ? owner : undefined;
    const owned = { repository, owner };
    const found = await findFile(owned, actor, schedule);
    if (found === "unreadable") {
      // The files are missing or git has failed, perhaps for a moment: the run is late, not lost.
      const retryAt = Math.min(next, clock() + RETRY_MS);
      await db.transaction((tx) => moveSchedule(tx, schedule, retryAt));
      return;
    }
    if (found === undefined) {
      // The push that took it out of the file deletes it. A push that puts it back in this moment must not lose it.
      await db.transaction((tx) => moveSchedule(tx, schedule, next));
      return;
    }
    const { head, workflow, folder } = found;
    const { file, cron, nextAt } = schedule;
    const trigger: RunTrigger = {
      owned,
      actor,
      event: "schedule",
      payload: { schedule: cron },
      ref: `refs/heads/${repository.defaultBranch}`,
      headSha: head.id,
      title: head.message.split("\n", 1).join() || file,
      file,
      folder,
      key: createHash("sha256")
        .update(JSON.stringify(["schedule", file, cron, nextAt]))
        .digest("hex"),
    };
    await db.transaction(async (tx) => {
      const current = await findRepositoryById(tx, repository.id);
      // Of another default branch: the schedule stays due, if that branch has it.
      if (current?.defaultBranch !== repository.defaultBranch) return;
      if (!(await moveSchedule(tx, schedule, next))) return;
      if (typeof workflow === "string") await starter.fail(tx, trigger, workflow);
      else await starter.start(tx, trigger, workflow);
    });
  }

  /**
   * Returns the workflow in its current version on the default branch, or why its calls cannot be resolved; undefined
   * when it no longer has this schedule.
   */
  async function findFile(
    owned: OwnedRepository,
    actor: ForgeUser | undefined,
    { file, cron }: ActionSchedule,
  ) {
    const { repository } = owned;
    try {
      const head = await findCommit(repository, repository.defaultBranch);
      if (head === undefined) return undefined;
      const { folder, files } = await readWorkflowFiles(deps, repository, head.id);
      const text = files.find(({ name }) => name === file)?.text;
      const workflow = await parser.parse({ file, text, ownerId: owned.owner.id });
      if (typeof workflow === "string") return undefined;
      const isListed = workflow.triggers["schedule"]?.cron?.includes(cron) === true;
      if (!isListed) return undefined;
      const source = { owned, commit: head.id, folder, file, actor };
      return { head, workflow: await resolveCalls(source, workflow), folder };
    } catch (error) {
      if (error instanceof GitError || error instanceof AppError) return "unreadable" as const;
      throw error;
    }
  }
}
