// Repositories: rows, owners, names and folders on disk. Start here: one factory wires up the services of this folder.
// The git protocol is in ../git.
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Emit } from "../events.ts";
import type { RepositoryTemplates } from "./first-files.ts";
import { createFolderMoves, enqueueCleanup, type FolderMovesDeps } from "./folder-moves.ts";
import { type BranchProtections, createBranchProtections } from "./branch-protections.service.ts";
import { type Collaborators, createCollaborators } from "./collaborators.service.ts";
import { createDeployKeys, type DeployKeys } from "./deploy-keys.service.ts";
import { createRepositoryLists, type RepositoryLists } from "./repository-lists.service.ts";
import { createRepositoriesService, type Repositories } from "./repositories.service.ts";
import { createStars, type Stars } from "./stars.service.ts";
import { createTopics, type Topics } from "./topics.service.ts";
import { createGenerator, type GenerateRepository } from "./templates/generate.service.ts";
import { createTransfers, type Transfers } from "./transfers.service.ts";
import type { CommitGraphs } from "./commit-graphs.ts";
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
  readonly emit: Emit;
  readonly urls: ForgeUrls;
  readonly log: Log;
  readonly folders: RepositoryFolders;
  /** Copies the hooks of a repository, with their secrets, to another one. */
  readonly copyHooks: (tx: Transaction, from: RepositoryId, to: RepositoryId) => Promise<void>;
  readonly commitGraphs: CommitGraphs;
}

/** The forge's repositories. */
export interface ForgeRepositories {
  readonly repositories: Repositories;
  readonly lists: RepositoryLists;
  readonly stars: Stars;
  readonly collaborators: Collaborators;
  readonly protections: BranchProtections;
  readonly deployKeys: DeployKeys;
  readonly topics: Topics;
  readonly generate: GenerateRepository;
  readonly transfers: Transfers;
  readonly unadopted: Unadopted;
  readonly urls: ForgeUrls;
}

export function createForgeRepositories(deps: ForgeRepositoriesDeps): ForgeRepositories {
  const { jobs, urls, folders } = deps;
  const { moves, locate, sweepSoon } = folders;
  const commitEmail = (user: ForgeUser) => toEmbeddedUserView(user, true, urls).email;
  const lists = createRepositoryLists(deps);
  return {
    repositories: createRepositoriesService({
      ...deps,
      moves,
      locate,
      commitEmail,
      enqueue: jobs.enqueue,
    }),
    lists,
    stars: createStars({ ...deps, lists }),
    generate: createGenerator({ ...deps, moves, locate, commitEmail }),
    collaborators: createCollaborators(deps),
    protections: createBranchProtections(deps),
    deployKeys: createDeployKeys(deps),
    topics: createTopics(deps),
    transfers: createTransfers({ ...deps, moves, enqueue: jobs.enqueue }),
    unadopted: createUnadopted({ ...deps, moves, sweepSoon }),
    urls,
  };
}

export type RepositoryFolders = ReturnType<typeof createRepositoryFolders>;

/** The folders on disk that belong to the repositories' rows. */
export function createRepositoryFolders(
  deps: FolderMovesDeps & { readonly jobs: Pick<JobQueue, "enqueue" | "register"> },
) {
  const { db, files, jobs } = deps;
  const moves = createFolderMoves(deps);
  jobs.register(moves.job);
  const sweepSoon = () => db.transaction((tx) => enqueueCleanup(jobs.enqueue, tx));
  return {
    moves,
    /** Enqueues the job that completes moves and deletions. */
    sweepSoon,

    /**
     * Returns the absolute folder of a repository's files, also while they are being moved. Run git in it at once,
     * because it may be moved later. Refuses with `not_found` when the repository or its files are missing.
     */
    async locate(repository: ForgeRepository): Promise<string> {
      const found = await files.locate(repository.path);
      if (found !== undefined) return found;
      // A move may be in progress; after it, the path of the row is valid again.
      const moved = await moves.withLock(async () => {
        const current = await findRepositoryById(db, repository.id);
        return current && files.locate(current.path);
      });
      if (moved === undefined)
        throw new AppError("not_found", "the repository's files are missing");
      return moved;
    },

    /** Completes or undoes operations that a crash interrupted. Call it before the daemon listens. */
    async recover(): Promise<void> {
      await moves.recover();
      await sweepSoon();
    },
  };
}
