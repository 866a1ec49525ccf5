// Repositories: rows, owners, names and folders on disk. Start here: one factory wires up the services of this folder.
// The git protocol is in ../git.
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Emit } from "../events.ts";
import type { RepositoryTemplates } from "./first-files.ts";
import type { RepositoryFolders } from "./repository-folders.ts";
import { type BranchProtections, createBranchProtections } from "./branch-protections.service.ts";
import { type Collaborators, createCollaborators } from "./collaborators.service.ts";
import { createDeployKeys, type DeployKeys } from "./deploy-keys.service.ts";
import { createRepositoryLists, type RepositoryLists } from "./repository-lists.service.ts";
import { createRepositoriesService, type Repositories } from "./repositories.service.ts";
import { createForks, type Forks } from "./forks.service.ts";
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
  readonly forks: Forks;
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
    forks: createForks({ ...deps, moves, locate, commitEmail, lists }),
    collaborators: createCollaborators(deps),
    protections: createBranchProtections(deps),
    deployKeys: createDeployKeys(deps),
    topics: createTopics(deps),
    transfers: createTransfers({ ...deps, moves, enqueue: jobs.enqueue }),
    unadopted: createUnadopted({ ...deps, moves, sweepSoon }),
    urls,
  };
}
