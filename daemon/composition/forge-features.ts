import { join } from "node:path";
import { peopleRoutes } from "../forge/accounts/accounts.ts";
import { createAvatars } from "../forge/accounts/avatars.service.ts";
import { avatarRoutes } from "../forge/accounts/profile.routes.ts";
import { createForgeActions } from "../forge/actions/actions.feature.ts";
import { createForgeActivities } from "../forge/activities/activities.feature.ts";
import { createCode } from "../forge/code/code.feature.ts";
import { createFolderListings } from "../forge/code/folder-listings.ts";
import { cronRoutes } from "../forge/cron/cron.routes.ts";
import type { ForgeFeature } from "../forge/feature.ts";
import { gitRoutes } from "../forge/git/git.routes.ts";
import { createPushHook } from "../forge/git/push-hook.ts";
import { createPullSuggestion, createPushNotice, joinNotices } from "../forge/git/push-notice.ts";
import { createPushes } from "../forge/git/pushes.ts";
import { createSmartHttp, transferLimits } from "../forge/git/smart-http.service.ts";
import { createTransferAccess } from "../forge/git/transfer-access.ts";
import { createForgeHooks } from "../forge/hooks/hooks.feature.ts";
import { createMiscellaneous } from "../forge/instance/miscellaneous.feature.ts";
import { toIssueUrl } from "../forge/issues/issue.view.ts";
import { createForgeIssues } from "../forge/issues/issues.feature.ts";
import { createPullMerging } from "../forge/pulls/merging.feature.ts";
import type { ReviewPushes } from "../forge/git/review-ref.ts";
import { createPullRefs } from "../forge/pulls/pull-refs.ts";
import { createForgeOauth } from "../forge/oauth/oauth.feature.ts";
import { createForgePulls } from "../forge/pulls/pulls.feature.ts";
import { createForgeImports } from "../forge/imports/imports.feature.ts";
import { createForgeLargeFiles } from "../forge/large-files/large-files.feature.ts";
import { createForgeNotifications } from "../forge/notifications/notifications.feature.ts";
import { createForgeBlocks } from "../forge/organizations/blocks.feature.ts";
import { createForgeOrganizations } from "../forge/organizations/organizations.feature.ts";
import {
  createForgePackages,
  createPackageDependents,
} from "../forge/packages/packages.feature.ts";
import { codePages } from "../forge/pages/code-pages.tsx";
import { blamePage } from "../forge/pages/blame-page.tsx";
import { markPage } from "../forge/pages/repository-marks.tsx";
import { editPages } from "../forge/pages/edit-pages.tsx";
import { feedPages } from "../forge/pages/feed-pages.ts";
import { searchPages } from "../forge/pages/search-pages.tsx";
import { uploadPages } from "../forge/pages/upload-page.tsx";
import { findPages } from "../forge/pages/find-pages.tsx";
import { refPages } from "../forge/pages/ref-pages.tsx";
import { commitPages } from "../forge/pages/commit-pages.tsx";
import { filePages } from "../forge/pages/file-pages.ts";
import { forkPages } from "../forge/pages/fork-pages.tsx";
import { issueActionPages } from "../forge/pages/issue-actions.ts";
import { importPages } from "../forge/pages/import-pages.tsx";
import { issuePages } from "../forge/pages/issue-pages.tsx";
import { labelPages } from "../forge/pages/label-pages.tsx";
import { milestonePages } from "../forge/pages/milestone-pages.tsx";
import { notificationPages } from "../forge/pages/notification-pages.tsx";
import { newIssuePages } from "../forge/pages/new-issue-pages.tsx";
import { oauthPages } from "../forge/pages/oauth-pages.tsx";
import { ownPages } from "../forge/pages/own-pages.tsx";
import { packagePages } from "../forge/pages/package-pages.tsx";
import { peoplePages } from "../forge/pages/people-pages.tsx";
import { releasePages } from "../forge/pages/release-pages.tsx";
import { pullChangesPages } from "../forge/pages/pull-changes-pages.tsx";
import { pullPages } from "../forge/pages/pull-pages.tsx";
import { adminPages } from "../forge/pages/settings/admin-pages.tsx";
import { newPages } from "../forge/pages/settings/new-pages.tsx";
import { organizationPages } from "../forge/pages/settings/organization-settings.tsx";
import { ownSettingsPages } from "../forge/pages/settings/own-settings.tsx";
import { repositorySettingsPages } from "../forge/pages/settings/repository-settings.tsx";
import { wikiPages } from "../forge/pages/wiki-pages.tsx";
import { runPages } from "../forge/pages/run-pages.tsx";
import { createForgeReleases } from "../forge/releases/releases.feature.ts";
import { createRepositoryAvatars } from "../forge/repositories/repository-avatars.ts";
import { createRepositoryDependents } from "../forge/repositories/dependents.ts";
import { createForgeRepositories } from "../forge/repositories/repositories.feature.ts";
import { createForgeReviews } from "../forge/reviews/reviews.feature.ts";
import { statusRoutes } from "../forge/statuses/statuses.routes.ts";
import { createStatuses } from "../forge/statuses/statuses.service.ts";
import { createActivitySubscribers } from "../forge/subscribers/activities.ts";
import { createBlockSubscribers } from "../forge/subscribers/blocks.ts";
import { createHookSubscribers } from "../forge/subscribers/hooks.ts";
import { createNotificationSubscribers } from "../forge/subscribers/notifications.ts";
import { createWorkflowSubscribers } from "../forge/subscribers/workflows.ts";
import { createForgeWiki } from "../forge/wiki/wiki.feature.ts";
import { toTransfersByName, type WikiTransferDeps } from "../forge/wiki/wiki-transfers.ts";
import { createStreamLimiter } from "../forge/repositories/transfer-limiter.ts";
import { collect } from "../feature.ts";
import { createGuardedRequest } from "../outbound/guarded-request.ts";
import type { ForgeCore, ForgeDeps } from "./forge-core.ts";
import { createForgePeople, openGuardedDispatcher } from "./people.ts";

/**
 * The features of the forge: a new one is an entry of `features`. One that others use is created above the list, and they
 * get its services.
 */
export function createForgeFeatures(core: ForgeCore, deps: ForgeDeps) {
  const { db, settings, emit, urls, log } = core;
  const people = createForgePeople(deps, deps.mailer, emit);
  const avatars = createAvatars(core);
  const miscellaneous = createMiscellaneous({
    ...core,
    dataDirectory: deps.stores.directory.root,
    addressKey: deps.limiter.addressKey,
    warn: (message) => log.warn(message),
    reportBug: (error) => log.error({ err: error }, "rendering failed"),
  });
  const dispatcher = openGuardedDispatcher(deps);
  const hooks = createForgeHooks({
    ...core,
    random: Math.random,
    request: createGuardedRequest(dispatcher),
  });
  // Without a mail server the outbox is for links that an administrator hands on.
  const queueMail = settings.smtpUrl === undefined ? undefined : deps.mailer.queueMail;
  const notifications = createForgeNotifications({
    ...core,
    idleTimeoutSeconds: settings.idleTimeoutSeconds,
    queueMail,
    toAddress: (owned, issue) => toIssueUrl(owned, issue, urls),
  });
  const activities = createForgeActivities({ ...core, retentionDays: settings.activityDays });
  const actions = createForgeActions({
    ...core,
    publisher: hooks.services.publisher,
    serveHead: createPullRefs(core).writeHead,
    queueMail,
    limits: {
      artifactBytesMax: settings.maxUploadBytes,
      runArtifactBytesMax: settings.maxRunArtifactBytes,
      artifactDays: settings.artifactDays,
      logDays: settings.workflowLogDays,
      runDays: settings.workflowRunDays,
    },
    reportBug: (error) => log.error({ err: error }, "a call of a runner failed"),
  });
  const listings = createFolderListings(core.git);
  const repositories = createForgeRepositories({
    ...core,
    templates: miscellaneous.services.templates,
    copyHooks: hooks.services.hooks.copyOf,
    searchLastCommits: listings.prepare,
  });
  const largeFiles = createForgeLargeFiles({
    ...core,
    limits: {
      fileBytesMax: settings.maxUploadBytes,
      repositoryBytesMax: settings.maxRepositoryLfsBytes,
    },
  });
  const code = createCode({
    ...core,
    ...repositories.services,
    findLargeFile: largeFiles.services.largeFiles.find,
    listings,
  });
  const issues = createForgeIssues(core);
  const reviews = createForgeReviews(core);
  const merging = createPullMerging({ ...core, ...largeFiles.services });
  const pulls = createForgePulls({
    ...core,
    ...code.services,
    ...issues.services,
    ...reviews.services,
    async onComputed(issueId) {
      await reviews.services.followLines(issueId);
      await reviews.services.markStale(issueId);
      await reviews.services.requestOwners(issueId);
      await merging.services.onComputed(issueId);
    },
  });
  const wiki = createForgeWiki({ ...core, ...code.services });
  const packages = createForgePackages({
    ...core,
    containerLimits: {
      blobBytesMax: settings.maxUploadBytes,
      ownerBytesMax: settings.maxOwnerContainerBytes,
    },
    ownerPackageBytesMax: settings.maxOwnerPackageBytes,
  });
  const oauth = createForgeOauth(core);
  const features: readonly ForgeFeature[] = [
    { close: () => core.compute.close() },
    { close: () => dispatcher.destroy() },
    { routes: peopleRoutes(people), jobs: [people.passwordResets.job], pages: peoplePages() },
    { routes: avatarRoutes(avatars) },
    createRepositoryAvatars({ ...core, avatars }),
    createForgeBlocks(core),
    { subscribers: [createBlockSubscribers()] },
    { routes: cronRoutes(deps.cron) },
    actions,
    hooks,
    notifications,
    activities,
    { subscribers: [createHookSubscribers({ ...hooks.services, urls })] },
    {
      subscribers: [
        createNotificationSubscribers({ ...notifications.services, ...actions.services }),
      ],
    },
    { subscribers: [createActivitySubscribers(activities.services)] },
    { subscribers: [createWorkflowSubscribers(actions.services, urls)], pages: runPages() },
    repositories,
    largeFiles,
    code,
    {
      pages: [
        ...codePages(code.services.findFileLanguage),
        ...commitPages(),
        ...refPages(),
        blamePage,
        markPage,
        ...findPages(),
        ...editPages(),
        ...uploadPages(),
        ...feedPages(),
        ...searchPages(),
        ...forkPages(),
        ...importPages(),
        ...filePages(),
      ],
    },
    issues,
    merging,
    pulls,
    reviews,
    {
      pages: [
        ...issuePages(),
        ...issueActionPages(),
        ...newIssuePages(core.compute),
        ...labelPages(),
        ...milestonePages(),
        ...notificationPages(),
        ...ownPages(),
        ...pullPages(),
        ...pullChangesPages(),
      ],
    },
    createForgeReleases({
      ...core,
      ...code.services,
      attachments: issues.services.attachments,
      queueMail,
    }),
    { pages: releasePages() },
    wiki,
    { pages: wikiPages() },
    {
      pages: [
        ...repositorySettingsPages(),
        ...ownSettingsPages(oauth.services.oauth),
        ...newPages(),
        ...organizationPages(),
        ...adminPages(),
      ],
    },
    createForgeImports({
      ...core,
      ...repositories.services,
      dispatcher,
      templates: miscellaneous.services.templates,
      workFolder: deps.stores.directory.tmp,
      computePulls: pulls.services.computeSoon,
      countPull: pulls.services.countPull,
    }),
    createForgeOrganizations({
      ...core,
      ...repositories.services,
      avatars,
      dependents: [createRepositoryDependents(core), createPackageDependents()],
    }),
    packages,
    { pages: packagePages() },
    oauth,
    { pages: oauthPages(oauth.services.oauth) },
    {
      routes: statusRoutes({
        statuses: createStatuses({ db, findCommit: core.findCommit, emit }),
        urls,
      }),
    },
    miscellaneous,
  ];
  const transfers = createTransfers(core, deps, features, {
    reviewPushes: pulls.services.reviewPushes,
    wiki: wiki.services.transferDeps,
  });
  return {
    people,
    actions: actions.services,
    rendering: miscellaneous.services.rendering,
    largeFiles: largeFiles.services,
    containers: packages.services,
    oauth: oauth.services,
    /** Clones and pushes, over HTTP and SSH. */
    transfers: { ...transfers, authorizeLargeFiles: largeFiles.services.authorize },
    features: [...features, createPushFeature(core, features), { gitRoutes: gitRoutes(transfers) }],
  };
}

/** Publishes pushes to the features that read them. */
function createPushFeature(core: ForgeCore, features: readonly ForgeFeature[]): ForgeFeature {
  const pushes = createPushes({ ...core, subscribers: collect(features, "pushSubscribers") });
  return {
    jobs: [...pushes.jobs, core.journal.job],
    subscribers: [pushes.subscribers],
  };
}

function createTransfers(
  core: ForgeCore,
  { stores }: ForgeDeps,
  features: readonly ForgeFeature[],
  { reviewPushes, wiki }: { readonly reviewPushes: ReviewPushes; readonly wiki: WikiTransferDeps },
) {
  const effects = collect(features, "pushSubscribers").map(({ effect }) => effect);
  const common = {
    ...core,
    limiter: createStreamLimiter(transferLimits),
    prepareHook: createPushHook(join(stores.directory.tmp, "git-hooks")),
    pushBytesMax: core.uploadBytesMax,
  };
  const ofCode = createSmartHttp({
    ...common,
    access: createTransferAccess(core.db),
    ending: ".git",
    describePush: joinNotices([
      createPushNotice(effects.filter((effect) => effect !== undefined)),
      createPullSuggestion(core.urls),
    ]),
    reviewPushes,
  });
  return toTransfersByName(ofCode, createSmartHttp({ ...common, ...wiki }));
}
