import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { Sealer } from "../../../storage/keys/keyring.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import type { RepositoryEvents } from "../repositories/events.ts";
import type { ForgeUrls } from "../urls.ts";
import { createActions } from "./actions.service.ts";
import { createRunnerHandler } from "./protocol/connect-handler.ts";
import { createLogs } from "./runners/logs.service.ts";
import { createRegistration } from "./runners/registration.service.ts";
import { createTasks } from "./runners/tasks.service.ts";
import { createRunEngine } from "./runs/advance-run.ts";
import { createJobStatusReporter } from "./runs/job-statuses.ts";
import { openRun } from "./runs/open-run.ts";
import { createPushedWorkflows } from "./runs/pushed-workflows.ts";
import { createRunStarter } from "./runs/start-run.ts";

export interface ForgeActionsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array;
  readonly newUuid: () => string;
  readonly sealer: Sealer;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly readPush: ReadPush;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  readonly urls: ForgeUrls;
  readonly reportBug: (error: unknown) => void;
}

/** Workflows: runs made from pushes, and the runners that execute their jobs. */
export type ForgeActions = ReturnType<typeof createForgeActions>;

export function createForgeActions(deps: ForgeActionsDeps) {
  const { db, clock, jobs, urls } = deps;
  const stop = new AbortController();
  const engine = createRunEngine({
    open: (tx, runId) => openRun(tx, urls, runId),
    report: createJobStatusReporter(urls),
  });
  const starter = createRunStarter({ engine, urls });
  const registration = createRegistration(deps);
  const tasks = createTasks({ db, clock, urls, engine });
  const logs = createLogs({ db });
  const pushes = createPushedWorkflows({ ...deps, enqueue: jobs.enqueue, starter });
  jobs.register(pushes.job);
  const repositoryEvents: RepositoryEvents = {
    pushed: (tx, { repository, pusher, changes }) =>
      pushes.enqueuePush(tx, { repository, pusherId: pusher.id }, changes),
  };
  return {
    repositoryEvents,
    actions: createActions({ db, clock, registration, tasks, logs, engine }),
    /** Serves `/api/actions`. */
    runnerHandler: createRunnerHandler({
      registration,
      tasks,
      logs,
      stopping: stop.signal,
      reportBug: deps.reportBug,
    }),
    /** Ends tasks whose runner is gone. */
    failSilentTasks: tasks.failSilent,
    /** Answers held requests of runners, which would keep a stopping daemon waiting. */
    beginStop: () => stop.abort(),
  };
}
