import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import {
  chooseDefaultBranch,
  readBranches,
  readSizeKib,
  WIKI_FOLDER,
  writeHead,
} from "../../../storage/git/refs.ts";
import type { PlaceOutcome, RepositoryFiles } from "../../../storage/git/repository-files.ts";
import { isMissing } from "../../../storage/system-errors.ts";
import { countRecordedPushes } from "../../../storage/tables/forge/repositories/pushes.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import { refusing } from "../repositories/git-refusals.ts";
import type { RepositoryFolders } from "../repositories/repository-folders.ts";

/** The branch of a new wiki, as Gitea names it. */
const NEW_BRANCH = "main";
/** How often a new wiki is placed while other daemons move its repository. */
const ATTEMPTS_MAX = 3;

export interface WikiFoldersDeps {
  readonly db: Database;
  readonly git: Git;
  readonly files: RepositoryFiles;
  readonly folders: Pick<RepositoryFolders, "locate" | "moves">;
  readonly newId: () => string;
}

export type WikiFolders = ReturnType<typeof createWikiFolders>;

/**
 * The git repositories of wikis. Each lies in the folder of its repository, so that a move, a removal and a backup of that
 * are also those of the wiki, whatever a crash interrupts.
 */
export function createWikiFolders({ db, git, files, folders, newId }: WikiFoldersDeps) {
  return {
    locate,

    /**
     * Creates the wiki of a repository unless it exists. Refuses with `not_found` when the repository was deleted, and as
     * `refusing` does what git cannot do.
     */
    async ensure(repository: ForgeRepository): Promise<void> {
      if ((await find(repository)) !== undefined) return;
      const { objectFormat } = repository;
      const { path } = await refusing(() =>
        files.create({ key: newId(), objectFormat, defaultBranch: NEW_BRANCH }),
      );
      const outcome = await place(path, repository).finally(() => files.undo(path));
      if (outcome === "missing") throw notFound();
    },

    /** Points HEAD to a branch that exists, and counts the size, after refs of a wiki have moved. */
    async follow(repository: ForgeRepository): Promise<void> {
      const directory = await locate(repository);
      const list = await readBranches(git, directory);
      const chosen = chooseDefaultBranch(list, [NEW_BRANCH, "master"]);
      if (chosen !== undefined && chosen !== list.head) await writeHead(git, directory, chosen);
      const seen = await countRecordedPushes(db, repository.id);
      const sizeKib = await readSizeKib(git, await folders.locate(repository));
      await db.transaction(async (tx) => {
        // A push that was recorded in the meantime has counted, after this.
        if ((await countRecordedPushes(tx, repository.id)) === seen)
          await updateRepository(tx, repository.id, { sizeKib });
      });
    },
  };

  /** Moves a new wiki into the folder of its repository, which another daemon may move meanwhile. */
  async function place(path: string, repository: ForgeRepository): Promise<PlaceOutcome> {
    let outcome: PlaceOutcome = "missing";
    for (let attempt = 0; outcome === "missing" && attempt < ATTEMPTS_MAX; attempt += 1) {
      await folders.locate(repository);
      // This daemon does not move it meanwhile.
      outcome = await folders.moves.withLock(async () => {
        const current = await findRepositoryById(db, repository.id);
        return current === undefined ? "missing" : files.placeIn(path, current.path, WIKI_FOLDER);
      });
    }
    return outcome;
  }

  /** Returns the folder of a wiki. Refuses with `not_found` when it does not exist yet. */
  async function locate(repository: ForgeRepository): Promise<string> {
    const found = await find(repository);
    if (found === undefined) throw new AppError("not_found", "the wiki has no pages");
    return found;
  }

  async function find(repository: ForgeRepository): Promise<string | undefined> {
    const path = join(await folders.locate(repository), WIKI_FOLDER);
    try {
      // A symbolic link is not a page.
      return (await lstat(path)).isDirectory() ? path : undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}
