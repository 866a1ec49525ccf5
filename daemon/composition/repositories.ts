import type { Database } from "../../storage/engine/database.ts";
import { createGit, GitError } from "../../storage/git/git.ts";
import { openRepositoryFiles } from "../../storage/git/repository-files.ts";
import { createFollowing } from "../forge/git/following.ts";
import { gitRoutes } from "../forge/git/git.routes.ts";
import { createPushJournal } from "../forge/git/push-journal.ts";
import { createSmartHttp } from "../forge/git/smart-http.service.ts";
import type { RepositoryEvents } from "../forge/repositories/events.ts";
import type { RepositoryTemplates } from "../forge/repositories/first-files.ts";
import {
  createForgeRepositories,
  type ForgeRepositories,
} from "../forge/repositories/repositories.ts";
import { repositoryRoutes } from "../forge/repositories/repositories.routes.ts";
import { transferRoutes } from "../forge/repositories/transfers.routes.ts";
import type { ForgeUrls } from "../forge/urls.ts";
import type { Route } from "../http/handle.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { Log } from "../utilities/logging.ts";

/** What repositories need of the daemon. */
export interface RepositorySurroundings {
  readonly db: Database;
  /** The folder of repositories; made when it is missing. */
  readonly directory: string;
  /** Where git is looked for, as in `PATH`. */
  readonly searchPath: string;
  /** Largest push. */
  readonly pushBytesMax: number;
  readonly templates: RepositoryTemplates;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  readonly urls: ForgeUrls;
  readonly log: Log;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly events: RepositoryEvents;
}

/** Repositories, ready to be served: what a crash left of them is in order. */
export interface OpenRepositories {
  readonly repositories: ForgeRepositories;
  /** Of the API, and of git beside it. */
  readonly routes: readonly Route[];
  readonly gitRoutes: readonly Route[];
}

/** Opens the folder of repositories and joins git to it. A missing git is told in the log; the rest works without. */
export async function openRepositories(around: RepositorySurroundings): Promise<OpenRepositories> {
  const { db, log, events, pushBytesMax } = around;
  const git = createGit({ searchPath: around.searchPath });
  const files = await openRepositoryFiles({ git, root: around.directory });
  // One process per embedded database.
  const isAlone = db.dialect === "sqlite";
  const repositories = createForgeRepositories({
    ...around,
    git,
    files,
    isAlone,
  });
  await repositories.recover();
  await git.run(["--version"], { directory: around.directory }).catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error;
    log.warn({ err: error }, "git does not run: repositories cannot be made, cloned or pushed to");
  });
  const { locate } = repositories;
  const follow = createFollowing({ db, git, locate, events });
  const { clock, jobs } = around;
  const journal = createPushJournal({ db, clock, git, locate, follow, enqueue: jobs.enqueue, log });
  jobs.register(journal.job);
  await journal.recover(isAlone);
  const smartHttp = createSmartHttp({ db, git, locate, journal, follow, log, pushBytesMax });
  return {
    repositories,
    routes: [...repositoryRoutes(repositories), ...transferRoutes(repositories)],
    gitRoutes: gitRoutes(smartHttp),
  };
}
