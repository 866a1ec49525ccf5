import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Git } from "../../storage/git/git.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import type { ForgeRepository } from "../../storage/tables/forge/repositories/repositories.ts";
import { createAvatars } from "../forge/accounts/avatars.service.ts";
import { avatarRoutes } from "../forge/accounts/profile.routes.ts";
import { createForgeActions } from "../forge/actions/actions.ts";
import { createForgeActivities } from "../forge/activities/activities.ts";
import { createCode } from "../forge/code/code.ts";
import { createFolderListings } from "../forge/code/folder-listings.ts";
import { createCompute } from "../forge/compute.ts";
import { createCommitFinder, createPushReader } from "../forge/git/commit-readers.ts";
import { createProcessorShares } from "../jobs/processor-shares.ts";
import { createPushHook } from "../forge/git/push-hook.ts";
import { createPushNotice } from "../forge/git/push-notice.ts";
import { WORKFLOW_REFS_MAX } from "../forge/actions/runs/pushed-workflows.ts";
import { HOOK_REFS_MAX } from "../forge/hooks/pushes.ts";
import { ACTIVITY_REFS_MAX } from "../forge/activities/push-activities.ts";
import { createPushJournal, type PushJournal } from "../forge/git/push-journal.ts";
import { createPushes } from "../forge/git/pushes.ts";
import { createPushRecorder, type PushRecorder } from "../forge/git/record-push.ts";
import { createRefCheck } from "../forge/git/ref-check.ts";
import { createRunInFolder } from "../forge/git/run-in-folder.ts";
import { createSmartHttp } from "../forge/git/smart-http.service.ts";
import { createRefWriter } from "../forge/git/write-refs.ts";
import { createForgeHooks } from "../forge/hooks/hooks.ts";
import { hookRoutes } from "../forge/hooks/hooks.routes.ts";
import { ownerHookRoutes } from "../forge/hooks/owner-hooks.routes.ts";
import { repositoryHookRoutes } from "../forge/hooks/repository-hooks.routes.ts";
import { createForgeIssues } from "../forge/issues/issues.ts";
import { createForgePulls } from "../forge/pulls/pulls.ts";
import { createMiscellaneous } from "../forge/instance/miscellaneous.ts";
import { createForgeLargeFiles } from "../forge/large-files/large-files.ts";
import { createForgeNotifications } from "../forge/notifications/notifications.ts";
import { notificationRoutes } from "../forge/notifications/notifications.routes.ts";
import { createThreadStreams } from "../forge/notifications/thread-streams.ts";
import { createForgeOrganizationRoutes } from "../forge/organizations/organizations.ts";
import { createTeamRepositories } from "../forge/organizations/team-repositories.service.ts";
import { teamRepositoryRoutes } from "../forge/organizations/teams.routes.ts";
import { createForgePackages, createPackageDependents } from "../forge/packages/packages.ts";
import { createRepositoryDependents } from "../forge/repositories/dependents.ts";
import { createRepositoryTasks } from "../forge/repositories/maintenance.ts";
import { createEvents, type Emit } from "../forge/events.ts";
import { createForgeRepositories } from "../forge/repositories/repositories.ts";
import { branchProtectionRoutes } from "../forge/repositories/branch-protections.routes.ts";
import { createPushCheck } from "../forge/repositories/protected-refs.ts";
import { deployKeyRoutes } from "../forge/repositories/deploy-keys.routes.ts";
import { createCommitGraphs } from "../forge/repositories/commit-graphs.ts";
import { createLanguages } from "../forge/repositories/languages/languages.service.ts";
import { collaboratorRoutes } from "../forge/repositories/collaborators.routes.ts";
import { starRoutes } from "../forge/repositories/stars.routes.ts";
import { forkRoutes } from "../forge/repositories/forks.routes.ts";
import { topicRoutes } from "../forge/repositories/topics.routes.ts";
import { repositoryRoutes } from "../forge/repositories/repositories.routes.ts";
import { createActivitySubscribers } from "../forge/subscribers/activities.ts";
import { createHookSubscribers } from "../forge/subscribers/hooks.ts";
import { createNotificationSubscribers } from "../forge/subscribers/notifications.ts";
import { createWorkflowSubscribers } from "../forge/subscribers/workflows.ts";
import { statusRoutes } from "../forge/statuses/statuses.routes.ts";
import { createStatuses } from "../forge/statuses/statuses.service.ts";
import type { CronTasks } from "../forge/cron/cron.service.ts";
import type { Mailer } from "../outbound/mail/mailer.ts";
import { openGuardedDispatcher } from "./people.ts";
import type { OpenRepositories } from "./repositories.ts";
import type { TransportTools } from "./transport-tools.ts";
import { createGuardedRequest } from "../outbound/guarded-request.ts";
import type { ServiceDeps } from "./services.ts";

/** Latency of notification streams: subscribers receive an event within half a second. */
const STREAM_POLL_MS = 500;
/** Proxies close connections that are silent for half a minute. */
const STREAM_HEARTBEAT_MS = 15_000;

export interface ForgeDeps extends ServiceDeps {
  readonly mailer: Mailer;
  readonly objects: ObjectStore;
  readonly repositories: OpenRepositories;
  readonly tools: TransportTools;
  /** The scheduled tasks of the whole daemon, for administrators. */
  readonly cron: CronTasks;
}

/** Wires up the features of the forge: a new one is an entry of `features`. */
export async function openFeatures(deps: ForgeDeps) {
  const { db, input, stores, addresses, queue, log, newId } = deps;
  const { clock, settings } = input;
  const { publicUrl } = addresses;
  const urls = { publicUrl, sshAddress: addresses.ssh };
  const { git, files, folders, isAlone } = deps.repositories;
  const { locate } = folders;

  const compute = createCompute({
    workerUrl: new URL("./compute.worker.ts", import.meta.url),
    shares: createProcessorShares({ clock }),
  });
  const dispatcher = openGuardedDispatcher(deps);
  const readPush = createPushReader({ git, locate });
  const { emit, subscribe } = createEvents();
  const hooks = createForgeHooks({
    compute,
    db,
    clock,
    random: Math.random,
    newUuid: randomUUID,
    sealer: stores.keyring,
    jobs: queue,
    urls,
    request: createGuardedRequest(dispatcher),
    readPush,
  });
  const notifications = createForgeNotifications({ db, jobs: queue });
  const activities = createForgeActivities({
    db,
    clock,
    jobs: queue,
    urls,
    retentionDays: settings.activityDays,
  });
  const workflows = createForgeActions({
    db,
    clock,
    random: randomBytes,
    newUuid: randomUUID,
    keyring: stores.keyring,
    git,
    locate,
    compute,
    jobs: queue,
    urls,
    emit,
    publisher: hooks.publisher,
    // Without a mail server the outbox is for links that an administrator hands on.
    queueMail: settings.smtpUrl === undefined ? undefined : deps.mailer.queueMail,
    instanceName: settings.instanceName,
    objects: deps.objects,
    limits: {
      artifactBytesMax: settings.maxUploadBytes,
      runArtifactBytesMax: settings.maxRunArtifactBytes,
      artifactDays: settings.artifactDays,
      logDays: settings.workflowLogDays,
      runDays: settings.workflowRunDays,
    },
    reportBug: (error) => log.error({ err: error }, "a call of a runner failed"),
  });
  const languages = createLanguages({
    db,
    git,
    locate,
    moves: folders.moves,
    enqueue: queue.enqueue,
  });
  queue.register(languages.job);
  const listings = createFolderListings(git);
  const commitGraphs = createCommitGraphs({
    db,
    git,
    locate,
    enqueue: queue.enqueue,
    moves: folders.moves,
    clock,
    searchLastCommits: listings.prepare,
  });
  queue.register(commitGraphs.job);
  const issues = createForgeIssues({
    db,
    clock,
    urls,
    emit,
    store: deps.objects,
    newUuid: randomUUID,
    uploadBytesMax: settings.maxUploadBytes,
  });
  const pulls = createForgePulls({ db, git, locate, urls, emit, issues });
  const pushes = createPushes({
    db,
    enqueue: queue.enqueue,
    readPush,
    log,
    subscribers: [hooks, notifications, activities, issues, workflows].map(
      ({ pushSubscriber }) => pushSubscriber,
    ),
  });
  for (const job of pushes.jobs) queue.register(job);
  subscribe(createHookSubscribers({ ...hooks, urls }));
  subscribe(createNotificationSubscribers({ ...notifications, ...workflows }));
  subscribe(createActivitySubscribers(activities));
  subscribe(createWorkflowSubscribers(workflows, urls));
  for (const { subscribers } of [languages, commitGraphs, pushes]) subscribe(subscribers);
  const streams = createThreadStreams({
    db,
    warn: (message, cause) => log.warn({ err: cause }, message),
    pollMs: STREAM_POLL_MS,
    keepAliveMs: Math.min(STREAM_HEARTBEAT_MS, (settings.idleTimeoutSeconds * 1000) / 2),
  });
  const miscellaneous = createMiscellaneous({
    db,
    random: randomBytes,
    publicUrl,
    dataDirectory: stores.directory.root,
    addressKey: deps.limiter.addressKey,
    uploadBytesMax: settings.maxUploadBytes,
    warn: (message) => log.warn(message),
    reportBug: (error) => log.error({ err: error }, "rendering failed"),
  });
  const repositories = createForgeRepositories({
    db,
    git,
    files,
    folders,
    urls,
    log,
    clock,
    newId,
    emit,
    jobs: queue,
    templates: miscellaneous.templates,
    copyHooks: hooks.hooks.copyOf,
    commitGraphs,
  });
  const packages = createForgePackages({
    db,
    compute,
    store: deps.objects,
    emit,
    urls,
    clock,
    uploadBytesMax: settings.maxUploadBytes,
  });
  const avatars = createAvatars({ db, store: deps.objects });
  const statuses = createStatuses({
    db,
    findCommit: createCommitFinder({ git, locate }),
    emit,
  });
  const records = await openPushes({ ...deps, git, locate, emit, isAlone });
  const checkPush = createPushCheck(db, compute);
  const checkRefs = createRefCheck({
    git,
    runInFolder: createRunInFolder({ db, locate }),
    checkPush,
  });
  const writeRefs = createRefWriter({ git, locate, checkRefs, ...records });
  const transfers = createSmartHttp({
    db,
    git,
    locate,
    log,
    ...records,
    checkPush,
    checkRefs,
    describePush: createPushNotice([
      { text: "Workflows run for", refsMax: WORKFLOW_REFS_MAX },
      { text: "Webhooks are called for", refsMax: HOOK_REFS_MAX },
      { text: "Activities show", refsMax: ACTIVITY_REFS_MAX },
    ]),
    prepareHook: createPushHook(join(stores.directory.tmp, "git-hooks")),
    pushBytesMax: settings.maxUploadBytes,
  });
  const largeFiles = createForgeLargeFiles({
    db,
    store: deps.objects,
    git,
    locate,
    sealer: stores.keyring,
    clock,
    urls,
    limits: {
      fileBytesMax: settings.maxUploadBytes,
      repositoryBytesMax: settings.maxRepositoryLfsBytes,
    },
  });
  subscribe(largeFiles.subscribers);
  const code = createCode({
    findLargeFile: largeFiles.largeFiles.find,
    compute,
    db,
    clock,
    newId,
    git,
    locate,
    writeRefs,
    urls,
    repositories: repositories.repositories,
    listings,
  });
  return {
    /** Of `/api/v1`. */
    routes: [
      ...repositoryRoutes(repositories),
      ...code.routes,
      ...collaboratorRoutes(repositories),
      ...starRoutes(repositories),
      ...avatarRoutes(avatars),
      ...createForgeOrganizationRoutes({
        db,
        random: randomBytes,
        emit,
        avatars,
        dependents: [createRepositoryDependents(queue.enqueue), createPackageDependents()],
        urls,
      }),
      ...branchProtectionRoutes(repositories.protections),
      ...deployKeyRoutes(repositories),
      ...forkRoutes(repositories),
      ...topicRoutes({ ...repositories, languages }),
      ...teamRepositoryRoutes({
        ...repositories,
        teamRepositories: createTeamRepositories({ db, lists: repositories.lists }),
      }),
      ...packages.routes,
      ...hookRoutes(hooks),
      ...repositoryHookRoutes(hooks),
      ...ownerHookRoutes(hooks),
      ...notificationRoutes({ ...notifications, streams, urls, clock }),
      ...issues.routes,
      ...pulls.routes,
      ...activities.routes,
      ...statusRoutes({ statuses, urls }),
      ...workflows.routes,
      ...miscellaneous.routes,
    ],
    /** Clones and pushes, over HTTP and SSH. */
    transfers: { ...transfers, authorizeLargeFiles: largeFiles.authorize },
    largeFiles,
    registryRoutes: packages.registryRoutes,
    workflows,
    rendering: miscellaneous.rendering,
    findFileLanguage: code.findFileLanguage,
    tasks: [
      ...createRepositoryTasks({ db, git, locate }),
      ...hooks.tasks,
      ...activities.tasks,
      ...workflows.tasks,
      ...largeFiles.tasks,
    ],
    /** Ends event streams and held requests, which would otherwise keep a stopping daemon waiting. */
    closeStreams: (): void => {
      streams.close();
      workflows.beginStop();
    },
    async close(): Promise<void> {
      await dispatcher.destroy();
      await Promise.all([miscellaneous.close(), code.close(), workflows.close(), compute.close()]);
    },
  };
}

/** Creates the recorder of pushes and its journal, after the journal has recovered pushes that an earlier process did not complete. */
async function openPushes({
  db,
  git,
  locate,
  emit,
  log,
  queue,
  input,
  isAlone,
}: ForgeDeps & {
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly emit: Emit;
  readonly isAlone: boolean;
}): Promise<PushRecorder & { readonly journal: PushJournal }> {
  const recorder = createPushRecorder({ db, git, locate, emit });
  const journal = createPushJournal({
    db,
    clock: input.clock,
    git,
    locate,
    recordPush: recorder.recordPush,
    enqueue: queue.enqueue,
    log,
  });
  queue.register(journal.job);
  await journal.recover(isAlone);
  return { journal, ...recorder };
}
