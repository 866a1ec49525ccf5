import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { Git } from "../../../storage/git/git.ts";
import { parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { toPerson } from "../code/code.feature.ts";
import type { Compute } from "../compute.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import { isDraft } from "../issues/issue.view.ts";
import type { ForgeUrls } from "../urls.ts";
import { createRequestOwners, isPassing } from "./code-owners.ts";
import { createApplySuggestions } from "./apply-suggestions.ts";
import { createPullRefs } from "../pulls/pull-refs.ts";
import { createFollowLines } from "./followed-lines.ts";
import { createIsOfficial } from "./review-access.ts";
import { createReviewLines } from "./review-lines.service.ts";
import { createReviewRequests } from "./review-requests.service.ts";
import { reviewRoutes } from "./reviews.routes.ts";
import { createMarkStale } from "./stale-reviews.ts";
import { createReviews } from "./reviews.service.ts";

export interface ForgeReviewsDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly compute: Compute;
  readonly emit: Emit;
  readonly urls: ForgeUrls;
  readonly enqueue: Enqueue;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newUuid: () => string;
  readonly writeRefs: WriteRefs;
}

const OWNERS_JOB = "forge.pulls.owners";
const ownersPayload = z.object({ issueId: z.int().brand<"IssueId">() });

/** Wires up the reviews of pull requests. */
export function createForgeReviews(deps: ForgeReviewsDeps) {
  const isOfficial = createIsOfficial(deps.compute);
  const refs = createPullRefs(deps);
  const lines = createReviewLines({ ...deps, refs });
  const requests = createReviewRequests({ ...deps, isOfficial });
  const toCommitPerson = (user: ForgeUser) => toPerson(user, deps.urls);
  const reviews = createReviews({ ...deps, lines, isOfficial });
  const requestOwners = createRequestOwners({ ...deps, addRequests: requests.addRequests });
  return {
    jobs: [
      {
        kind: OWNERS_JOB,
        run: (payload) => requestOwners(parsePayload(ownersPayload, payload).issueId),
      },
    ],
    subscribers: [
      {
        // The owners of the code are asked once it is ready.
        async issue(tx, { issue, changes }) {
          if (!issue.isPull || !isDraft(changes?.["title"]?.from ?? "") || isDraft(issue.title))
            return;
          await enqueueOwners(tx, issue.id);
        },
      },
    ],
    services: {
      requestReviews: requests.request,
      followLines: createFollowLines(deps),
      markStale: createMarkStale(deps),
      /** Asks the owners of the code: now, or by a job when that is not possible at the moment. */
      async requestOwners(issueId: IssueId): Promise<void> {
        try {
          await requestOwners(issueId);
        } catch (error) {
          if (!isPassing(error)) throw error;
          await deps.db.transaction((tx) => enqueueOwners(tx, issueId));
        }
      },
    },
    routes: reviewRoutes({
      reviews,
      requests,
      lines,
      applySuggestions: createApplySuggestions({ ...deps, refs, toCommitPerson }),
      urls: deps.urls,
    }),
  } satisfies ForgeFeature;

  async function enqueueOwners(tx: Transaction, issueId: IssueId): Promise<void> {
    const payload: z.input<typeof ownersPayload> = { issueId };
    await deps.enqueue(tx, { kind: OWNERS_JOB, payload, key: String(issueId) });
  }
}
