import { type Database, isConflict } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { type Inspection, inspectRepository } from "../../../storage/git/inspect.ts";
import type { Locks } from "../../../storage/locks.ts";
import { chooseDefaultBranch, writeHead } from "../../../storage/git/refs.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import {
  findRepositoryByName,
  type ForgeRepository,
  listRepositoryNames,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { isPathInUse, listPathsIn } from "../../../storage/tables/forge/repositories/moves.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { CommitGraphs } from "./commit-graphs.ts";
import { DEFAULT_BRANCH, recordRepository } from "./create-repository.ts";
import type { Emit } from "../events.ts";
import { refusing } from "./git-refusals.ts";
import { compileGlob } from "../../utilities/glob.ts";
import { isRepositoryName, toRepositoryPath } from "./names.ts";
import type { FolderMoves } from "./folder-moves.ts";
import { toNewSettings } from "./repository-settings.view.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

export type Unadopted = ReturnType<typeof createUnadopted>;

export interface UnadoptedDeps {
  readonly db: Database;
  readonly git: Git;
  readonly files: RepositoryFiles;
  readonly moves: FolderMoves;
  readonly newId: () => string;
  readonly emit: Emit;
  /** Locks that hold at all daemons: a folder is adopted or deleted. */
  readonly locks: Pick<Locks, "withLocks">;
  /** Enqueues the deletion of the folders that `remove` moved aside. */
  readonly sweepSoon: () => Promise<void>;
  readonly commitGraphs: Pick<CommitGraphs, "remove" | "writeFirst" | "searchFirst">;
}

/** Preferred default branches when the branch of HEAD does not exist. */
const PREFERRED_BRANCHES = [DEFAULT_BRANCH, "master", "main"];

/**
 * Size of a folder whose first requests would be slow without a commit-graph, so its adoption waits for one. Git reads the
 * commits of a smaller one in a fraction of a second, until the job has written the graph.
 */
const LARGE_KIB = 4 * 1024;

/** Repositories on disk without a row. */
export function createUnadopted(deps: UnadoptedDeps) {
  const { db, git, files, moves, newId, emit, sweepSoon, commitGraphs } = deps;
  const withPath = <T>(path: string, work: () => Promise<T>) =>
    deps.locks.withLocks([`unadopted ${path}`], work);
  return {
    /**
     * Returns a page of these repositories as `owner/name`, in the order of the folders, and the count of all matches.
     * `query` is a glob for owners, or for owners and names with a slash between. Refuses with `unprocessable` an invalid
     * glob.
     */
    async list(
      query: string,
      { page, limit }: PageWindow,
    ): Promise<{ readonly names: readonly string[]; readonly total: number }> {
      const [fitsOwner, fitsName] = toFilters(query);
      const names: string[] = [];
      for (const folder of await files.listFolders("")) {
        if (!fitsOwner(folder)) continue;
        const owner = folder === folder.toLowerCase() && (await findUserByName(db, folder));
        if (owner) names.push(...(await listOf(owner, fitsName)));
      }
      const start = Math.min((page - 1) * limit, names.length);
      return { names: names.slice(start, start + limit), total: names.length };
    },

    /**
     * Adopts a folder as a private repository. Refuses with `not_found` when the owner is unknown, a row exists or the
     * folder is missing, and with `unprocessable` when the folder is not a usable repository.
     */
    async adopt(ownerName: string, name: string, actor: ForgeUser): Promise<void> {
      const owner = await getOwner(ownerName, name);
      const path = toRepositoryPath(owner.name, name);
      await moves.completeAt(path);
      await withPath(path, () => adoptFiles(owner, name, path, actor));
    },

    /** Deletes the files of a folder. Refuses with `not_found` as `adopt` does. */
    async remove(ownerName: string, name: string): Promise<void> {
      const owner = await getOwner(ownerName, name);
      const path = toRepositoryPath(owner.name, name);
      await moves.completeAt(path);
      await withPath(path, () =>
        moves.withLock(async () => {
          await getUnrecorded(owner, name, path);
          await files.discard(path, newId());
        }),
      );
      await sweepSoon();
    },
  };

  async function adoptFiles(
    owner: ForgeUser,
    name: string,
    path: string,
    actor: ForgeUser,
  ): Promise<void> {
    const directory = await getUnrecorded(owner, name, path);
    const found = await inspect(directory, path);
    if (found.kind === "unusable")
      throw new AppError("unprocessable", `the repository cannot be adopted: ${found.reason}`);
    const branch = chooseDefaultBranch(found, PREFERRED_BRANCHES);
    const defaultBranch = branch ?? found.head ?? DEFAULT_BRANCH;
    if (branch !== undefined && branch !== found.head) await writeHead(git, directory, branch);
    const isLarge = found.sizeKib > LARGE_KIB;
    await commitGraphs.remove(directory);
    if (isLarge) await commitGraphs.writeFirst(directory);
    const repository = await record(owner.id, actor, {
      name,
      description: "",
      isPrivate: true,
      isTemplate: false,
      settings: toNewSettings(false),
      isEmpty: found.branches.length === 0,
      branchCount: found.branches.length,
      defaultBranch,
      objectFormat: found.objectFormat,
      trustModel: "default",
      licenses: [],
      sizeKib: found.sizeKib,
      path,
      needsMove: false,
    });
    if (isLarge && !repository.needsMove) await commitGraphs.searchFirst(repository, directory);
  }

  async function listOf(owner: ForgeUser, fitsName: (name: string) => boolean): Promise<string[]> {
    const recorded = new Set(await listRepositoryNames(db, owner.id));
    // A folder may still contain the files of a renamed owner.
    const inUse = new Set(await listPathsIn(db, owner.lowerName));
    return (await files.listFolders(owner.lowerName))
      .filter((folder) => folder.endsWith(".git") && !inUse.has(`${owner.lowerName}/${folder}`))
      .map((folder) => folder.slice(0, -".git".length))
      .filter(
        (name) =>
          name === name.toLowerCase() &&
          isRepositoryName(name) &&
          fitsName(name) &&
          !recorded.has(name),
      )
      .map((name) => `${owner.lowerName}/${name}`);
  }

  async function getOwner(ownerName: string, name: string): Promise<ForgeUser> {
    const owner = await findUserByName(db, ownerName);
    if (owner === undefined || !isRepositoryName(name)) throw notFound();
    return owner;
  }

  /** Returns the absolute folder of a repository without a row. */
  async function getUnrecorded(owner: ForgeUser, name: string, path: string): Promise<string> {
    const isRecorded =
      (await findRepositoryByName(db, owner.id, name)) !== undefined ||
      (await isPathInUse(db, path));
    const directory = isRecorded ? undefined : await files.locate(path);
    if (directory === undefined) throw notFound();
    return directory;
  }

  async function inspect(directory: string, path: string): Promise<Inspection> {
    try {
      return await refusing(() => inspectRepository(git, directory, newId()));
    } catch (error) {
      // The folder was deleted or moved during the inspection.
      throw (await files.exists(path)) ? error : notFound();
    }
  }

  async function record(
    ownerId: UserId,
    actor: ForgeUser,
    repository: Parameters<typeof recordRepository>[1]["repository"],
  ): Promise<ForgeRepository> {
    try {
      return await db.transaction(async (tx) => {
        const owner = await findUserById(tx, ownerId);
        if (owner === undefined) throw notFound();
        // The owner may have been renamed in the meantime, which moves the folder as well.
        const needsMove = toRepositoryPath(owner.name, repository.name) !== repository.path;
        return recordRepository(
          tx,
          { owner, actor, isAdopted: true, labels: [], repository: { ...repository, needsMove } },
          emit,
        );
      });
    } catch (error) {
      throw isConflict(error) ? notFound() : error;
    }
  }
}

function toFilters(query: string): readonly [Filter, Filter] {
  if (query === "") return [anything, anything];
  const slash = query.indexOf("/");
  const owner = compileGlob(slash === -1 ? query : query.slice(0, slash));
  const name = slash === -1 ? anything : compileGlob(query.slice(slash + 1));
  if (owner === undefined || name === undefined)
    throw new AppError("unprocessable", "query is not a valid glob");
  return [owner, name];
}

type Filter = (name: string) => boolean;
const anything: Filter = () => true;
