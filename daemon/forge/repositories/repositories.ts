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
import { createPlacing, enqueueTidy } from "./placing.ts";
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
  /** No other process works in the folder of repositories. */
  readonly isAlone: boolean;
}

/** The forge's repositories. */
export interface ForgeRepositories {
  readonly repositories: Repositories;
  readonly transfers: Transfers;
  readonly unadopted: Unadopted;
  readonly urls: ForgeUrls;
  /**
   * The absolute folder of a repository's files, wherever they are on the way to. Valid for work that begins now: run
   * git in it, it may be moved meanwhile. Refuses with `not_found` when the repository or its files are gone.
   */
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  /** Finishes or undoes what a crash left. Before anything is served. */
  recover(): Promise<void>;
}

export function createForgeRepositories(deps: ForgeRepositoriesDeps): ForgeRepositories {
  const { db, files, jobs, urls } = deps;
  const placing = createPlacing(deps);
  jobs.register(placing.job);
  const sweepSoon = () => db.transaction((tx) => enqueueTidy(jobs.enqueue, tx));
  const commitEmail = (user: ForgeUser) => toEmbeddedUserView(user, true, urls).email;
  const locate: ForgeRepositories["locate"] = async (repository) => {
    const found = await files.locate(repository.path);
    if (found !== undefined) return found;
    // Being moved at this moment: what the row says holds again when the move is over.
    const moved = await placing.alone(async () => {
      const today = await findRepositoryById(db, repository.id);
      return today && files.locate(today.path);
    });
    if (moved === undefined) throw new AppError("not_found", "the repository's files are missing");
    return moved;
  };
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
    locate,

    async recover() {
      await placing.recover();
      await sweepSoon();
    },
  };
}
