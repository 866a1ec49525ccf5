import type { Database, Transaction } from "../../../storage/engine/database.ts";
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
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { deletePush } from "../../../storage/tables/forge/repositories/pushes.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import type { OwnedRepository, RefChange, RepositoryEvents } from "../repositories/events.ts";

/** A push that git is done with. */
export interface DonePush {
  /** Its note, which goes in the transaction that tells of it: a push is told of once. */
  readonly noteId: number;
  readonly repository: ForgeRepository;
  readonly pusher: ForgeUser;
  /** What it has really moved. */
  readonly changes: readonly RefChange[];
  readonly wishes?: PushWishes;
}

/** What a push shall change of the repository besides; done for whom administers it. */
export interface PushWishes {
  readonly isPrivate: boolean | undefined;
  readonly isTemplate: boolean | undefined;
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
  return async ({ noteId, repository, pusher, changes, wishes }) => {
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
      const former = await findRepositoryById(tx, repository.id);
      const owner = former && (await findUserById(tx, former.ownerId));
      if (former === undefined || owner === undefined) return;
      const edited = await grant(tx, { repository: former, owner }, pusher, wishes);
      const today = edited ?? former;
      await events.pushed?.(tx, { repository: today, owner, pusher, changes });
      if (edited !== undefined)
        await events.edited?.(tx, { repository: edited, owner, actor: pusher, former });
    });
  };
}

/** Changes what a push asks for; undefined when that is nothing, or not for the pusher to decide. */
async function grant(
  tx: Transaction,
  { repository, owner }: OwnedRepository,
  pusher: ForgeUser,
  {
    isPrivate = repository.isPrivate,
    isTemplate = repository.isTemplate,
  }: Partial<PushWishes> = {},
): Promise<ForgeRepository | undefined> {
  if (isPrivate === repository.isPrivate && isTemplate === repository.isTemplate) return undefined;
  if (!reaches(await findAccess(tx, { repository, owner }, pusher), "admin")) return undefined;
  await updateRepository(tx, repository.id, { isPrivate, isTemplate });
  return findRepositoryById(tx, repository.id);
}
