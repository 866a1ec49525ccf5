// Pull requests: issues with a kind, whose branches git compares. Start here: one factory wires up the services of this
// folder. pulls.service.ts has the rules, pull-refs.ts the refs that git serves.
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Route } from "../../http/handle.ts";
import type { Emit } from "../events.ts";
import { createRunInFolder } from "../git/run-in-folder.ts";
import type { ForgeIssues } from "../issues/issues.ts";
import type { ForgeUrls } from "../urls.ts";
import { createPullEdits } from "./pull-edits.service.ts";
import { createPullRefs } from "./pull-refs.ts";
import { pullRoutes } from "./pulls.routes.ts";
import { createPulls } from "./pulls.service.ts";

export interface ForgePullsDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly urls: ForgeUrls;
  readonly emit: Emit;
  readonly issues: Pick<ForgeIssues, "changes" | "edits">;
}

/** The pull requests of the forge. */
export function createForgePulls({ db, git, locate, urls, emit, issues }: ForgePullsDeps): {
  /** Below `/api/v1`. */
  readonly routes: readonly Route[];
} {
  const refs = createPullRefs({ db, git, runInFolder: createRunInFolder({ db, locate }) });
  const pulls = createPulls({ db, emit, changes: issues.changes, refs });
  const edits = createPullEdits({ db, emit, ...issues, refs });
  return { routes: pullRoutes({ pulls, edits, urls }) };
}
