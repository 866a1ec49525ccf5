// Pull requests: issues with a kind, whose branches git compares. Start here: one factory wires up the services of this
// folder. pulls.service.ts has the rules, pull-refs.ts the refs that git serves, pull-pushes.ts what a push changes, and
// pull-state.ts the job that computes conflicts and counts.
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { toPerson } from "../code/code.feature.ts";
import type { CodeAccess } from "../code/open-code.ts";
import type { Commits } from "../code/commits.service.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import type { TakeUpstream } from "../git/take-upstream.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { IssueChanges } from "../issues/issue-changes.ts";
import type { IssueEdits } from "../issues/issue-edits.ts";
import type { ForgeUrls } from "../urls.ts";
import { pullChangeRoutes } from "./pull-changes.routes.ts";
import { createPullChanges } from "./pull-changes.service.ts";
import { createPullEdits } from "./pull-edits.service.ts";
import { createPullFiles } from "./pull-files.ts";
import { createPullPushes } from "./pull-pushes.ts";
import { createPullRefs } from "./pull-refs.ts";
import { createPullState } from "./pull-state.ts";
import { createPullUpdate } from "./pull-update.service.ts";
import { createPullRevert } from "./pull-revert.service.ts";
import { pullRoutes } from "./pulls.routes.ts";
import { createReviewPushes } from "./review-pushes.ts";
import { createPulls, type RequestReviews } from "./pulls.service.ts";

export interface ForgePullsDeps {
  readonly db: Database;
  readonly git: Git;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly runInFolder: RunInFolder;
  readonly writeRefs: WriteRefs;
  readonly urls: ForgeUrls;
  readonly emit: Emit;
  readonly enqueue: Enqueue;
  /** A name that no other running call uses. */
  readonly newUuid: () => string;
  readonly changes: IssueChanges;
  readonly edits: IssueEdits;
  readonly requestReviews: RequestReviews;
  readonly access: CodeAccess;
  readonly takeUpstream: TakeUpstream;
  readonly commits: Commits;
  /** Called after the job has computed a pull request. */
  readonly onComputed: (issueId: IssueId) => Promise<void>;
}

/** The pull requests of the forge. */
export function createForgePulls(deps: ForgePullsDeps) {
  const { db, git, runInFolder, urls, emit, changes, edits } = deps;
  const refs = createPullRefs({ db, git, runInFolder });
  const files = createPullFiles({ git });
  const state = createPullState({ ...deps, refs, files, newKey: deps.newUuid });
  const pushes = createPullPushes({ db, git, runInFolder, emit, state });
  const pulls = createPulls({ ...deps, refs });
  return {
    services: {
      computeSoon: state.computeSoon,
      countPull: state.count,
      reviewPushes: createReviewPushes({ db, git, runInFolder, urls, emit, pulls, refs, state }),
    },
    routes: [
      ...pullRoutes({
        pulls,
        edits: createPullEdits({ db, emit, changes, edits, refs }),
        revert: createPullRevert({
          ...deps,
          toCommitPerson: (user) => toPerson(user, urls),
          pulls,
        }),
        urls,
      }),
      ...pullChangeRoutes({
        changes: createPullChanges({
          db,
          access: deps.access,
          commits: deps.commits,
          files,
          refs,
        }),
        update: createPullUpdate(deps),
        urls,
      }),
    ],
    jobs: state.jobs,
    subscribers: [state.subscribers, pushes.subscribers],
    pushSubscribers: [pushes.pushSubscriber],
  } satisfies ForgeFeature;
}
