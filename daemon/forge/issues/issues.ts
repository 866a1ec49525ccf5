// Issues with their comments, labels, milestones and subscriptions. Start here: one factory wires up the services of this
// folder. issues.service.ts has the rules, issue-changes.ts the changes with their events, issue-access.ts the permissions.
import type { Database } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import type { Route } from "../../http/handle.ts";
import type { HookPublisher } from "../hooks/publisher.ts";
import type { NotifyIssue } from "../notifications/issue-notifications.ts";
import type { ForgeUrls } from "../urls.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import type { RepositoryEvents } from "../repositories/events.ts";
import { createCommitReferences } from "./commit-references.ts";
import { createAssignees } from "./assignees.service.ts";
import { attachmentRoutes } from "./attachments.routes.ts";
import { createAttachments } from "./attachments.service.ts";
import { dependencyRoutes, trackedTimeRoutes } from "./dependencies.routes.ts";
import { createDependencies } from "./dependencies.service.ts";
import { createIssueChanges } from "./issue-changes.ts";
import { type IssueEvents, joinIssueEvents } from "./issue-events.ts";
import { createIssueHooks } from "./issue-hooks.ts";
import { createIssueLabels } from "./issue-labels.service.ts";
import { issueRoutes } from "./issues.routes.ts";
import { createIssues, type Issues } from "./issues.service.ts";
import { issueStateRoutes } from "./issue-states.routes.ts";
import { createIssueStates } from "./issue-states.service.ts";
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
  readonly notify: NotifyIssue;
  readonly publisher: HookPublisher;
  /** A further subscriber to changes of issues. */
  readonly activities: IssueEvents;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  readonly readPush: ReadPush;
  /** The bytes of attachments. */
  readonly store: ObjectStore;
  readonly newUuid: () => string;
  /** Maximum bytes of any upload. */
  readonly uploadBytesMax: number;
}

/** The issues of the forge. */
export interface ForgeIssues {
  /** Below `/api/v1`. */
  readonly routes: readonly Route[];
  readonly issues: Issues;
  /** The subscriber to events of repositories. */
  readonly repositoryEvents: RepositoryEvents;
}

export function createForgeIssues({
  db,
  clock,
  urls,
  notify,
  publisher,
  activities,
  jobs,
  readPush,
  ...attachmentDeps
}: ForgeIssuesDeps): ForgeIssues {
  const events = joinIssueEvents(createIssueHooks({ publisher, urls }), activities);
  const changes = createIssueChanges({ notify, events });
  const issues = createIssues({ db, notify, events, changes });
  const { enqueue } = jobs;
  const references = createCommitReferences({ db, enqueue, readPush, notify, events, urls });
  jobs.register(references.job);
  return {
    repositoryEvents: references.repositoryEvents,
    routes: [
      ...issueRoutes({ issues, watching: createWatching({ db }), urls }),
      ...attachmentRoutes({ attachments: createAttachments({ db, ...attachmentDeps }), urls }),
      ...planningRoutes({
        labels: createLabels({ db }),
        issueLabels: createIssueLabels({ db, changes }),
        milestones: createMilestones({ db }),
        urls,
      }),
      ...issueStateRoutes({
        issues,
        states: createIssueStates({ db, events }),
        timelines: createTimelines({ db, events }),
        reactions: createReactions({ db }),
        assignees: createAssignees({ db, changes }),
        urls,
      }),
      ...dependencyRoutes({ dependencies: createDependencies({ db }), urls }),
      ...trackedTimeRoutes({ trackedTimes: createTrackedTimes({ db, clock }), urls }),
    ],
    issues,
  };
}
