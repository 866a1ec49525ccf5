import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import {
  chooseDefaultBranch,
  readBranches,
  readSizeKib,
  writeHead,
} from "../../../storage/git/refs.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  updateRepository,
} from "../../../storage/tables/forge/repositories.ts";
import { deletePush } from "../../../storage/tables/forge/repositories-pushes.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/users.ts";
import type { RefChange, RepositoryEvents } from "../repositories/events.ts";

/** A push that git is done with. */
export interface DonePush {
  /** Its note, which goes in the transaction that tells of it: a push is told of once. */
  readonly noteId: number;
  readonly repository: ForgeRepository;
  readonly pusher: ForgeUser;
  /** What it has really moved. */
  readonly changes: readonly RefChange[];
}

/** Has a repository's record and those who listen follow what a push has moved. */
export type FollowPush = (push: DonePush) => Promise<void>;

export function createFollowing({
  db,
  git,
  locate,
  events,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly events: RepositoryEvents;
}): FollowPush {
  return async ({ noteId, repository, pusher, changes }) => {
    if (changes.length === 0) {
      await deletePush(db, noteId);
      return;
    }
    const directory = await locate(repository);
    const [facts, sizeKib] = await Promise.all([
      readBranches(git, directory),
      readSizeKib(git, directory),
    ]);
    const isNew = facts.head === undefined || !facts.branches.includes(facts.head);
    const chosen = isNew ? chooseDefaultBranch(facts, [repository.defaultBranch]) : undefined;
    // The first branch of an empty repository becomes its default when the expected one did not come.
    if (repository.isEmpty && chosen !== undefined) await writeHead(git, directory, chosen);
    const defaultBranch =
      repository.isEmpty && chosen !== undefined ? { defaultBranch: chosen } : {};
    await db.transaction(async (tx) => {
      if (!(await deletePush(tx, noteId))) return;
      await updateRepository(tx, repository.id, {
        isEmpty: facts.branches.length === 0,
        branchCount: facts.branches.length,
        sizeKib,
        updatedAt: tx.now,
        ...defaultBranch,
      });
      const today = await findRepositoryById(tx, repository.id);
      const owner = today && (await findUserById(tx, today.ownerId));
      if (today !== undefined && owner !== undefined)
        await events.pushed?.(tx, { repository: today, owner, pusher, changes });
    });
  };
}
