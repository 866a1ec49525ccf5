// Repositories: rows, owners, names and folders on disk. Start here: one factory wires up the services of this folder.
// The git protocol is in ../git.
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { createSharedLocks } from "../../jobs/shared-locks.ts";
import type { Log } from "../../utilities/logging.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import type { RepositoryTemplates } from "./first-files.ts";
import type { RepositoryFolders } from "./repository-folders.ts";
import { branchProtectionRoutes } from "./branch-protections.routes.ts";
import { createBranchProtections } from "./branch-protections.service.ts";
import { collaboratorRoutes } from "./collaborators.routes.ts";
import { createCollaborators } from "./collaborators.service.ts";
import { type CommitGraphDeps, createCommitGraphs } from "./commit-graphs.ts";
import { deployKeyRoutes } from "./deploy-keys.routes.ts";
import { createDeployKeys } from "./deploy-keys.service.ts";
import { forkRoutes } from "./forks.routes.ts";
import { createForks } from "./forks.service.ts";
import { createLanguages } from "./languages/languages.service.ts";
import { createRepositoryTasks } from "./maintenance.ts";
import type { MirrorIntervals } from "./mirror-interval.ts";
import { repositoryRoutes } from "./repositories.routes.ts";
import { createRepositoriesService } from "./repositories.service.ts";
import { createRepositoryLists } from "./repository-lists.service.ts";
import { starRoutes } from "./stars.routes.ts";
import { createStars } from "./stars.service.ts";
import { createGenerator } from "./templates/generate.service.ts";
import { tagProtectionRoutes } from "./tag-protections.routes.ts";
import { createTagProtections } from "./tag-protections.service.ts";
import { topicRoutes } from "./topics.routes.ts";
import { createTopics } from "./topics.service.ts";
import { createTransfers } from "./transfers.service.ts";
import { createUnadopted } from "./unadopted.service.ts";

export interface ForgeRepositoriesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly git: Git;
  readonly files: RepositoryFiles;
  readonly templates: RepositoryTemplates;
  readonly enqueue: Enqueue;
  readonly emit: Emit;
  readonly urls: ForgeUrls;
  readonly log: Log;
  readonly folders: RepositoryFolders;
  readonly intervals: MirrorIntervals;
  /** Copies the hooks of a repository, with their secrets, to another one. */
  readonly copyHooks: (tx: Transaction, from: RepositoryId, to: RepositoryId) => Promise<void>;
  /** Searches the last commits of a top folder ahead of the first request. */
  readonly searchLastCommits: CommitGraphDeps["searchLastCommits"];
}

/** The forge's repositories. */
export function createForgeRepositories(given: ForgeRepositoriesDeps) {
  const { urls, folders } = given;
  const { moves, locate, sweepSoon } = folders;
  const deps = { ...given, moves, locate };
  const languages = createLanguages(deps);
  const commitGraphs = createCommitGraphs(deps);
  const commitEmail = (user: ForgeUser) => toEmbeddedUserView(user, true, urls).email;
  const lists = createRepositoryLists(deps);
  const repositories = createRepositoriesService({ ...deps, commitEmail });
  return {
    services: { repositories, lists },
    routes: [
      ...repositoryRoutes({
        repositories,
        lists,
        transfers: createTransfers(deps),
        unadopted: createUnadopted({
          ...deps,
          commitGraphs,
          sweepSoon,
          locks: createSharedLocks(deps),
        }),
        generate: createGenerator({ ...deps, commitEmail }),
        urls,
      }),
      ...collaboratorRoutes({ collaborators: createCollaborators(deps), urls }),
      ...starRoutes({ stars: createStars({ ...deps, lists }), urls }),
      ...branchProtectionRoutes(createBranchProtections(deps)),
      ...tagProtectionRoutes(createTagProtections(deps)),
      ...deployKeyRoutes({ deployKeys: createDeployKeys(deps), urls }),
      ...forkRoutes({ forks: createForks({ ...deps, commitEmail, lists }), urls }),
      ...topicRoutes({ topics: createTopics(deps), languages }),
    ],
    jobs: [languages.job, commitGraphs.job],
    tasks: createRepositoryTasks(deps),
    subscribers: [languages.subscribers, commitGraphs.subscribers],
  } satisfies ForgeFeature;
}
