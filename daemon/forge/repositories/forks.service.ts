import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { copyBranchesAndTags } from "../../../storage/git/share-objects.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  findForkOf,
  findRepositoryById,
  findRepositoryByName,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { getVisibleAccount } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedRepository } from "../opened.ts";
import type { PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { findAccess } from "./access.ts";
import { createRepository, type CreateRepositoryDeps } from "./create-repository.ts";
import { reopenRepository } from "./open-repository.ts";
import { withParents } from "./parents.ts";
import { assertMayBePrivate, mayCreateIn } from "./repositories.service.ts";
import type { RepositoryLists, RepositoryPage } from "./repository-lists.service.ts";
import { toForkSettings } from "./repository-settings.view.ts";
import type { RepositoryDetails } from "./repository.view.ts";
import { createTransferLimiter } from "./transfer-limiter.ts";
import { workInFolder } from "./work-in-folder.ts";

export type Forks = ReturnType<typeof createForks>;

export interface ForksDeps extends CreateRepositoryDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly lists: Pick<RepositoryLists, "search">;
}

/** Who gets a fork, and under which name. */
export interface ForkOptions {
  /** The name of the organization; empty for the caller. */
  readonly organization: string;
  /** Empty for the name of the parent. */
  readonly name: string;
}

/** Maximum number of concurrent forks, in total and of one user; others wait. */
const limits = {
  atOnce: 4,
  perClient: 1,
  anonymous: 0,
  waiting: 32,
  waitingPerClient: 8,
} as const;

/** Forks: repositories that begin with the branches and tags of another one, their parent. */
export function createForks(deps: ForksDeps) {
  const { db, git, locate, moves, emit, lists } = deps;
  const limiter = createTransferLimiter(limits);
  return {
    /** Returns a page of the forks that the caller may read, the oldest first. */
    list: (
      { repository }: GrantedRepository,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<RepositoryPage> =>
      lists.search(
        {
          forkOf: repository.id,
          term: "",
          includesDescription: false,
          isPublicOnly: false,
          sort: "id",
          descending: false,
        },
        window,
        caller,
      ),

    /**
     * Forks a repository. The fork has branches, tags, description and default branch of its parent, is private if that
     * is, and shares its objects on disk. Refuses as `createRepository` does; with `not_found` an unknown organization,
     * with `forbidden` one in which the caller may not create repositories, with `conflict` a second fork of one owner.
     */
    async create(
      opened: GrantedRepository,
      options: ForkOptions,
      caller: ForgeCaller,
      signal: AbortSignal,
    ): Promise<RepositoryDetails> {
      const { repository: source } = opened;
      const owner = await getNewOwner(db, options, caller);
      const name = options.name === "" ? source.name : options.name;
      const release = await limiter.acquire({ caller, address: "" }, signal);
      try {
        const made = await createRepository(
          deps,
          owner.name,
          toNewRepository(source, name),
          caller.user,
          {
            admit: async (queries, current) => {
              const { id } = await getNewOwner(queries, options, caller);
              if (current.id !== id) throw notFound();
              await assertUnforked(queries, opened, current);
              await assertNameFree(queries, current, name);
            },
            fill: (directory) => copyTo(source, directory),
            decide: async (tx) => {
              const { repository: parent, owner: parentOwner } = await reopenRepository(tx, opened);
              const isPrivate = parent.isPrivate || parentOwner.visibility === "private";
              assertMayBePrivate({ isPrivate }, owner, caller);
              return {
                isPrivate,
                forkOf: parent.id,
                licenses: parent.licenses,
                settings: toForkSettings(),
              };
            },
            recorded: (tx, fork) => publish(tx, opened, fork, caller.user),
          },
        );
        const access = await findAccess(db, made, caller.user);
        const details = { ...made, watchers: 1, access, isSignedIn: true };
        return (await withParents(db, [details], caller))[0] ?? details;
      } finally {
        release();
      }
    },
  };

  /** Copies branches and tags, again if the parent's folder moves meanwhile. Returns the number of branches. */
  async function copyTo(source: ForgeRepository, target: string): Promise<number> {
    const folders = { find: findParent, complete: moves.complete, locate };
    let branches: number | undefined;
    await workInFolder(folders, source.id, async (directory) => {
      branches = await copyBranchesAndTags(git, directory, target);
    });
    // The parent was deleted.
    if (branches === undefined) throw notFound();
    return branches;
  }

  function findParent(id: ForgeRepository["id"]): Promise<ForgeRepository | undefined> {
    return findRepositoryById(db, id);
  }

  async function publish(
    tx: Transaction,
    opened: GrantedRepository,
    repository: ForgeRepository,
    actor: ForgeUser,
  ): Promise<void> {
    const parent = await findRepositoryById(tx, opened.repository.id);
    const parentOwner = parent && (await findUserById(tx, parent.ownerId));
    const owner = await findUserById(tx, repository.ownerId);
    if (parent === undefined || parentOwner === undefined || owner === undefined) throw notFound();
    const forked = { repository: parent, owner: parentOwner };
    await emit(tx, "fork", { repository, owner, actor, parent: forked });
  }
}

/** Returns the owner of a fork. Throws unless the caller may create a repository for it. */
async function getNewOwner(
  queries: Queries,
  { organization: name }: ForkOptions,
  caller: ForgeCaller,
): Promise<ForgeUser> {
  const { user } = caller;
  if (name === "") return (await findUserById(queries, user.id)) ?? user;
  const organization = await getVisibleAccount(queries, name, caller);
  if (organization.kind !== "organization") throw notFound();
  if (!(await mayCreateIn(queries, organization, user)))
    throw new AppError(
      "forbidden",
      "Given user is not allowed to create repository in organization.",
    );
  return organization;
}

async function assertUnforked(
  queries: Queries,
  { repository, owner: parentOwner }: GrantedRepository,
  owner: ForgeUser,
): Promise<void> {
  const fork = await findForkOf(queries, repository.id, owner.id);
  if (fork === undefined) return;
  const path = `${parentOwner.name}/${repository.name}`;
  throw new AppError(
    "conflict",
    `repository is already forked by user [uname: ${owner.name}, repo path: ${path}, fork path: ${owner.name}/${fork.name}]`,
  );
}

async function assertNameFree(queries: Queries, owner: ForgeUser, name: string): Promise<void> {
  if ((await findRepositoryByName(queries, owner.id, name)) !== undefined)
    throw new AppError(
      "conflict",
      `repository already exists [uname: ${owner.name}, name: ${name}]`,
    );
}

function toNewRepository(source: ForgeRepository, name: string) {
  return {
    name,
    description: source.description,
    isPrivate: source.isPrivate,
    isTemplate: false,
    issueLabels: "",
    autoInit: false,
    gitignores: "",
    license: "",
    readme: "",
    defaultBranch: source.defaultBranch,
    trustModel: source.trustModel,
    objectFormat: source.objectFormat,
  };
}
