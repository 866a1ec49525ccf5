// Merging of pull requests. Start here: one factory wires up the services. merges.service.ts has the order of a merge,
// merge-decision.ts its refusals, merged-pull.ts what follows from it.
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import type { Compute } from "../compute.ts";
import { toPerson } from "../code/code.feature.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import type { PushJournal } from "../git/push-journal.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { CopyNamedFiles } from "../large-files/copy-named.ts";
import type { ForgeUrls } from "../urls.ts";
import { createAutoMerges } from "./auto-merges.service.ts";
import { createDeleteHead } from "./delete-head.ts";
import { createMergeDecisions } from "./merge-decision.ts";
import { createMergeDetection } from "./merge-detection.ts";
import { createMergeTexts } from "./merge-texts.ts";
import { createMarkMerged, createMergeSubscribers } from "./merged-pull.ts";
import { mergeRoutes } from "./merges.routes.ts";
import { createMerges } from "./merges.service.ts";

export interface PullMergingDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly compute: Compute;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly urls: ForgeUrls;
  readonly log: Pick<Log, "warn">;
  readonly emit: Emit;
  readonly enqueue: Enqueue;
  readonly writeRefs: WriteRefs;
  readonly copyNamedFiles: CopyNamedFiles;
  readonly journal: Pick<PushJournal, "recoverRepository">;
}

/** The merging of pull requests. Its subscribers come before those that follow the branches of pull requests. */
export function createPullMerging(deps: PullMergingDeps) {
  const { journal, urls } = deps;
  const markMerged = createMarkMerged(deps);
  const merges = createMerges({
    ...deps,
    recoverPushes: (repositoryId) => journal.recoverRepository(repositoryId),
    decisions: createMergeDecisions(deps),
    readTexts: createMergeTexts({ ...deps, toCommitPerson: (user) => toPerson(user, urls) }),
    markMerged,
    deleteHead: createDeleteHead(deps),
  });
  const autoMerges = createAutoMerges({ ...deps, merges });
  const detection = createMergeDetection({ ...deps, markMerged });
  return {
    services: { onComputed: autoMerges.retryComputed },
    routes: mergeRoutes({ merges, autoMerges }),
    jobs: [autoMerges.job, detection.job],
    subscribers: [
      createMergeSubscribers(markMerged),
      autoMerges.subscribers,
      detection.subscribers,
    ],
  } satisfies ForgeFeature;
}
