// Pull requests: issues with a kind, whose branches git compares. Start here: one factory wires up the services of this
// folder. pulls.service.ts has the rules, pull-refs.ts the refs that git serves.
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import { createRunInFolder } from "../git/run-in-folder.ts";
import type { IssueChanges } from "../issues/issue-changes.ts";
import type { IssueEdits } from "../issues/issue-edits.ts";
import type { ForgeUrls } from "../urls.ts";
import { createPullEdits } from "./pull-edits.service.ts";
import { createPullRefs } from "./pull-refs.ts";
import { pullRoutes } from "./pulls.routes.ts";
import { createPulls, type RequestReviews } from "./pulls.service.ts";

export interface ForgePullsDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly urls: ForgeUrls;
  readonly emit: Emit;
  readonly changes: IssueChanges;
  readonly edits: IssueEdits;
  readonly requestReviews: RequestReviews;
}

/** The pull requests of the forge. */
export function createForgePulls(deps: ForgePullsDeps) {
  const { db, git, locate, urls, emit, changes, edits } = deps;
  const refs = createPullRefs({ db, git, runInFolder: createRunInFolder({ db, locate }) });
  return {
    routes: pullRoutes({
      pulls: createPulls({ ...deps, refs }),
      edits: createPullEdits({ db, emit, changes, edits, refs }),
      urls,
    }),
  } satisfies ForgeFeature;
}
