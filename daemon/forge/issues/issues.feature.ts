// Issues with their comments, labels, milestones and subscriptions. Start here: one factory wires up the services of this
// folder. issues.service.ts has the rules, issue-changes.ts the changes with their events, issue-access.ts the permissions.
import type { Database } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { indexMissing } from "../../../storage/tables/forge/issues/search-index.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import { createCommitReferences } from "./commit-references.ts";
import { createAssignees } from "./assignees.service.ts";
import { attachmentRoutes } from "./attachments.routes.ts";
import { createAttachments } from "./attachments.service.ts";
import { dependencyRoutes, trackedTimeRoutes } from "./dependencies.routes.ts";
import { createDependencies } from "./dependencies.service.ts";
import { createIssueChanges } from "./issue-changes.ts";
import { createIssueEdits } from "./issue-edits.ts";
import { createIssueLabels } from "./issue-labels.service.ts";
import { issueRoutes } from "./issues.routes.ts";
import { createIssues } from "./issues.service.ts";
import { issueStateRoutes } from "./issue-states.routes.ts";
import { createIssueStates } from "./issue-states.service.ts";
import { createReferenceSubscribers } from "./references.ts";
import { createReactions } from "./reactions.service.ts";
import { createTrackedTimes } from "./tracked-times.service.ts";
import { createTimelines } from "./timeline.service.ts";
import { createLabels } from "./labels.service.ts";
import { createMilestones } from "./milestones.service.ts";
import { planningRoutes } from "./planning.routes.ts";
import { createWatching } from "./watching.service.ts";

export interface ForgeIssuesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly urls: ForgeUrls;
  readonly emit: Emit;
  /** The bytes of attachments. */
  readonly store: ObjectStore;
  readonly newUuid: () => string;
  /** Maximum bytes of any upload. */
  readonly uploadBytesMax: number;
}

/** The issues of the forge. */
export function createForgeIssues({ db, clock, urls, emit, ...attachmentDeps }: ForgeIssuesDeps) {
  const changes = createIssueChanges({ emit });
  const edits = createIssueEdits({ emit, changes });
  const issues = createIssues({ db, emit, changes, edits });
  const attachments = createAttachments({ db, ...attachmentDeps });
  return {
    services: { issues, changes, edits, attachments },
    // The migration that made the index enqueues this job.
    jobs: [{ kind: "forge.issues.index", run: (_payload, { signal }) => indexIssues(db, signal) }],
    subscribers: [createReferenceSubscribers({ urls })],
    // Records pushed commits in the timelines of the issues that they name.
    pushSubscribers: [createCommitReferences({ db, emit, urls })],
    routes: [
      ...issueRoutes({ issues, watching: createWatching({ db }), urls }),
      ...attachmentRoutes({ attachments, urls }),
      ...planningRoutes({
        labels: createLabels({ db }),
        issueLabels: createIssueLabels({ db, changes }),
        milestones: createMilestones({ db }),
        urls,
      }),
      ...issueStateRoutes({
        issues,
        states: createIssueStates({ db, emit }),
        timelines: createTimelines({ db, emit }),
        reactions: createReactions({ db }),
        assignees: createAssignees({ db, changes }),
        urls,
      }),
      ...dependencyRoutes({ dependencies: createDependencies({ db, emit }), urls }),
      ...trackedTimeRoutes({ trackedTimes: createTrackedTimes({ db, clock }), urls }),
    ],
  } satisfies ForgeFeature;
}

/** Issues of one transaction, which other writers wait for. */
const BATCH = 100;

/** Indexes the issues of an earlier version for searches. Goes on where an interrupted run ended. */
async function indexIssues(db: Database, signal: AbortSignal): Promise<void> {
  let isMissing = true;
  while (isMissing) {
    signal.throwIfAborted();
    isMissing = await db.transaction((tx) => indexMissing(tx, BATCH));
  }
}
