import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import type { Keyring } from "../../../storage/keys/keyring.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { QueueMail } from "../accounts/welcome-mail.ts";
import type { HookPublisher } from "../hooks/publisher.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import { forgeTasks } from "../tasks.ts";
import type { ForgeUrls } from "../urls.ts";
import { actionRoutes } from "./actions.routes.ts";
import type { Compute } from "../compute.ts";
import { createActions } from "./actions.service.ts";
import { createArtifactAddresses } from "./artifacts/artifact-addresses.ts";
import { createArtifactUploads } from "./artifacts/artifact-uploads.service.ts";
import { createArtifactsApi } from "./artifacts/artifacts-api.ts";
import { artifactRoutes, artifactServiceRoutes } from "./artifacts/artifacts.routes.ts";
import { createArtifacts } from "./artifacts/artifacts.service.ts";
import { createSummaries } from "./artifacts/summaries.service.ts";
import { createRunningTasks } from "./artifacts/running-tasks.ts";
import { createRuntimeTokens } from "./artifacts/runtime-tokens.ts";
import { createRunnerHandler } from "./protocol/connect-handler.ts";
import { createLogs } from "./runners/logs.service.ts";
import { createRegistration } from "./runners/registration.service.ts";
import { runnerRoutes } from "./runners/runners.routes.ts";
import { createRunners } from "./runners/runners.service.ts";
import { createTaskUpkeep } from "./runners/task-upkeep.ts";
import { createTasks } from "./runners/tasks.service.ts";
import { createRunEngine } from "./runs/advance-run.ts";
import { createCallResolver } from "./runs/called-workflows.ts";
import { createJobStatusReports, createStatusJob } from "./runs/job-statuses.ts";
import { openRun } from "./runs/open-run.ts";
import type { FindCommit } from "../git/commit-readers.ts";
import { createActionRetention } from "./runs/retention.ts";
import { createReruns } from "./runs/rerun.ts";
import { createEvaluator } from "./runs/evaluator.ts";
import { createStartWorkflows } from "./runs/start-workflows.ts";
import { createEventWorkflows } from "./runs/event-workflows.ts";
import { createPullWorkflows } from "./runs/pull-workflows.ts";
import { createWorkflowSchedules } from "./runs/schedules.ts";
import { createTriggerRefresh } from "./runs/trigger-refresh.ts";
import { createRunMails } from "./runs/run-mails.ts";
import { createRunNotifications } from "./runs/run-notifications.ts";
import { workflowRoutes } from "./runs/workflows.routes.ts";
import { createWorkflowParser } from "./runs/workflow-parser.ts";
import { createWorkflows } from "./runs/workflows.service.ts";
import { createPushedWorkflows } from "./runs/pushed-workflows.ts";
import { createMasks } from "./secrets/masks.service.ts";
import { secretRoutes } from "./secrets/secrets.routes.ts";
import { createSecrets } from "./secrets/secrets.service.ts";
import { variableRoutes } from "./secrets/variables.routes.ts";
import { createVariables } from "./secrets/variables.service.ts";
import { createRunStarter } from "./runs/start-run.ts";
import type { IssueId, RunId } from "../../../storage/tables/forge/ids.ts";

export interface ForgeActionsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array;
  readonly newUuid: () => string;
  readonly keyring: Keyring;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly findCommit: FindCommit;
  /** Brings the head of a pull request into the repository of its base. */
  readonly serveHead: (issueId: IssueId) => Promise<void>;
  readonly compute: Compute;
  readonly enqueue: Enqueue;
  readonly urls: ForgeUrls;
  readonly emit: Emit;
  readonly publisher: Pick<HookPublisher, "hasSubscribers">;
  /** Queues mails about runs; undefined without a mail server. */
  readonly queueMail: QueueMail | undefined;
  readonly instanceName: string;
  /** Keeps the bytes of artifacts. */
  readonly store: ObjectStore;
  readonly limits: {
    /** Largest artifact. */
    readonly artifactBytesMax: number;
    /** All artifacts of a run. */
    readonly runArtifactBytesMax: number;
    /** Maximum retention of artifacts. */
    readonly artifactDays: number;
    /** Retention of logs and runs after their end. */
    readonly logDays: number;
    readonly runDays: number;
  };
  readonly reportBug: (error: unknown) => void;
}

const DAY_MS = 86_400_000;

/** Workflows: runs made from pushes, and the runners that execute their jobs. */
export type ForgeActions = ReturnType<typeof createForgeActions>;

export function createForgeActions(deps: ForgeActionsDeps) {
  const { db, clock, random, enqueue, urls, keyring, emit } = deps;
  const sealer = keyring;
  const stop = new AbortController();
  const evaluator = createEvaluator({ db, enqueue, compute: deps.compute });
  const reportStatus = createJobStatusReports(deps);
  const open = (tx: Transaction, runId: RunId) => openRun(tx, urls, runId);
  const engine = createRunEngine({
    evaluator,
    open,
    reports: {
      run: (tx, run) => emit(tx, "run", { run }),
      async job(tx, run, job) {
        await reportStatus(tx, run, job);
        await emit(tx, "run_job", { run, job });
      },
    },
  });
  const starter = createRunStarter({ engine, urls, open });
  const registration = createRegistration({ ...deps, sealer });
  const secrets = createSecrets({ db, sealer });
  const variables = createVariables({ db });
  const masks = createMasks({ sealer, compute: deps.compute });
  const runtimeTokens = createRuntimeTokens({ keyring });
  const tasks = createTasks({ db, random, urls, engine, secrets, masks, runtimeTokens });
  const logs = createLogs({ db, masks });
  const addresses = createArtifactAddresses(deps);
  const artifacts = createArtifacts({ db, store: deps.store, addresses });
  const summaries = createSummaries({ db, masks });
  const uploads = createArtifactUploads({
    ...deps,
    addresses,
    bytesMax: deps.limits.artifactBytesMax,
    runBytesMax: deps.limits.runArtifactBytesMax,
    retentionMs: deps.limits.artifactDays * DAY_MS,
  });
  const reruns = createReruns({ engine, open });
  const parser = createWorkflowParser();
  const files = { ...deps, parser };
  const resolveCalls = createCallResolver(files);
  const schedules = createWorkflowSchedules({ ...files, starter, resolveCalls });
  const events = createEventWorkflows({ ...files, starter, resolveCalls });
  const pullWorkflows = createPullWorkflows({ ...files, starter, resolveCalls, engine });
  const triggers = createTriggerRefresh({ ...files, schedules, starter });
  const pushes = createPushedWorkflows({
    ...files,
    events,
    triggers,
    starter,
    schedules,
    resolveCalls,
  });
  const retention = createActionRetention({ db, clock, ...deps.limits });
  return {
    services: {
      triggers,
      startWorkflows: createStartWorkflows(deps),
      pullWorkflows,
      notifyOfRun: createRunNotifications(
        deps.queueMail && createRunMails({ ...deps, queueMail: deps.queueMail }),
      ),
      /** The artifact service of jobs, which has credentials and errors of its own. */
      artifactService: {
        api: createArtifactsApi({
          runningTasks: createRunningTasks({ db, runtimeTokens }),
          addresses,
        }),
        routes: artifactServiceRoutes({ artifacts, summaries, uploads }),
      },
      /** Serves `/api/actions`. */
      runnerHandler: createRunnerHandler({
        registration,
        tasks,
        logs,
        stopping: stop.signal,
        reportBug: deps.reportBug,
      }),
    },
    jobs: [
      evaluator.createJob(engine.advance),
      events.job,
      pullWorkflows.job,
      ...triggers.jobs,
      createStatusJob(deps),
    ],
    pushSubscribers: [pushes],
    routes: [
      ...actionRoutes({
        actions: createActions({ db, logs, engine, reruns, starter }),
        summaries,
        urls,
      }),
      ...runnerRoutes({ runners: createRunners({ db, clock, registration, tasks }) }),
      ...workflowRoutes({
        workflows: createWorkflows({ ...files, starter, resolveCalls }),
        urls,
      }),
      ...secretRoutes({ secrets }),
      ...variableRoutes({ variables }),
      ...artifactRoutes({ artifacts, urls }),
    ],
    tasks: [
      ...createTaskUpkeep({ db, clock, engine }),
      {
        ...forgeTasks.start_schedule_tasks,
        run: (signal) => schedules.startDue(signal),
      },
      {
        // Deletes artifacts, logs and runs that have expired.
        ...forgeTasks.cleanup_actions,
        run: (signal) => retention.cleanUp(signal),
      },
    ],
    /** Answers the held requests of runners, which would delay the stop of the daemon. */
    beginStop: () => stop.abort(),
    /** Terminates the threads that parse workflow files. */
    close: parser.close,
  } satisfies ForgeFeature;
}
