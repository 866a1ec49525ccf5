import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { Compute } from "../compute.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { ForgeUrls } from "../urls.ts";
import { createRequestOwners } from "./code-owners.ts";
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
}

/** Wires up the reviews of pull requests. */
export function createForgeReviews(deps: ForgeReviewsDeps) {
  const isOfficial = createIsOfficial(deps.compute);
  const lines = createReviewLines(deps);
  const requests = createReviewRequests({ ...deps, isOfficial });
  const reviews = createReviews({ ...deps, lines, isOfficial });
  return {
    services: {
      requestReviews: requests.request,
      markStale: createMarkStale(deps),
      requestOwners: createRequestOwners({ ...deps, addRequests: requests.addRequests }),
    },
    routes: reviewRoutes({ reviews, requests, lines, urls: deps.urls }),
  } satisfies ForgeFeature;
}
