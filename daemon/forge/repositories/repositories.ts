// daemon/forge/repositories: repositories as things with an owner, a name, a record and a folder on disk.
// May import: daemon/contract, daemon/errors.ts, daemon/http/handle.ts (types), daemon/jobs and daemon/utilities/logging.ts (types), storage.
// Start here: one factory that joins the services of this folder. What git itself asks for is in ../git.
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { ForgeUrls } from "../urls.ts";
import type { RepositoryEvents } from "./events.ts";
import type { RepositoryTemplates } from "./first-files.ts";
import { createPlacing, enqueueTidy, type Placing, type PlacingDeps } from "./placing.ts";
import { createRepositoriesService, type Repositories } from "./repositories.service.ts";
import { createTransfers, type Transfers } from "./transfers.service.ts";
import { createUnadopted, type Unadopted } from "./unadopted.service.ts";

export interface ForgeRepositoriesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly git: Git;
  readonly files: RepositoryFiles;
  readonly templates: RepositoryTemplates;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  readonly events: RepositoryEvents;
  readonly urls: ForgeUrls;
  readonly log: Log;
  readonly folders: RepositoryFolders;
}

/** The forge's repositories. */
export interface ForgeRepositories {
  readonly repositories: Repositories;
  readonly transfers: Transfers;
  readonly unadopted: Unadopted;
  readonly urls: ForgeUrls;
}

export function createForgeRepositories(deps: ForgeRepositoriesDeps): ForgeRepositories {
  const { jobs, urls, folders } = deps;
  const { placing, locate, sweepSoon } = folders;
  const commitEmail = (user: ForgeUser) => toEmbeddedUserView(user, true, urls).email;
  return {
    repositories: createRepositoriesService({
      ...deps,
      placing,
      locate,
      commitEmail,
      enqueue: jobs.enqueue,
    }),
    transfers: createTransfers({ ...deps, placing, enqueue: jobs.enqueue }),
    unadopted: createUnadopted({ ...deps, placing, sweepSoon }),
    urls,
  };
}

/** The folders on disk that belong to the repositories' rows. */
export interface RepositoryFolders {
  readonly placing: Placing;
  /**
   * Returns the absolute folder of a repository's files, also while they are being moved. Run git in it at once: it may
   * move afterwards. Refuses with `not_found` when the repository or its files are missing.
   */
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  /** Enqueues the job that finishes moves and deletions. */
  readonly sweepSoon: () => Promise<void>;
  /** Finishes or undoes what a crash left. Call it before anything is served. */
  recover(): Promise<void>;
}

export function createRepositoryFolders(
  deps: PlacingDeps & { readonly jobs: Pick<JobQueue, "enqueue" | "register"> },
): RepositoryFolders {
  const { db, files, jobs } = deps;
  const placing = createPlacing(deps);
  jobs.register(placing.job);
  const sweepSoon = () => db.transaction((tx) => enqueueTidy(jobs.enqueue, tx));
  return {
    placing,
    sweepSoon,

    async locate(repository) {
      const found = await files.locate(repository.path);
      if (found !== undefined) return found;
      // A move may be under way: once it is over, the row's path holds again.
      const moved = await placing.alone(async () => {
        const today = await findRepositoryById(db, repository.id);
        return today && files.locate(today.path);
      });
      if (moved === undefined)
        throw new AppError("not_found", "the repository's files are missing");
      return moved;
    },

    async recover() {
      await placing.recover();
      await sweepSoon();
    },
  };
}
