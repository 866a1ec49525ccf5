import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Compute } from "../compute.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import { createRunInFolder } from "../git/run-in-folder.ts";
import type { ForgeUrls } from "../urls.ts";
import { createIsOfficial } from "./review-access.ts";
import { createReviewLines } from "./review-lines.service.ts";
import { createReviewRequests } from "./review-requests.service.ts";
import { reviewRoutes } from "./reviews.routes.ts";
import { createReviews } from "./reviews.service.ts";

export interface ForgeReviewsDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly compute: Compute;
  readonly emit: Emit;
  readonly urls: ForgeUrls;
}

/** Wires up the reviews of pull requests. */
export function createForgeReviews(deps: ForgeReviewsDeps) {
  const isOfficial = createIsOfficial(deps.compute);
  const lines = createReviewLines({ ...deps, runInFolder: createRunInFolder(deps) });
  const requests = createReviewRequests({ ...deps, isOfficial });
  const reviews = createReviews({ ...deps, lines, isOfficial });
  return {
    services: { requestReviews: requests.request },
    routes: reviewRoutes({ reviews, requests, lines, urls: deps.urls }),
  } satisfies ForgeFeature;
}
