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
import type { PushId } from "../../../storage/tables/forge/ids.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import type { OwnedRepository, RefChange, RepositoryEvents } from "../repositories/events.ts";

/** A push that git has carried out. */
export interface CompletedPush {
  /** Its journal entry, which the transaction that records the push deletes, so that the push is published once. */
  readonly noteId: PushId;
  readonly repository: ForgeRepository;
  readonly pusher: ForgeUser;
  /** The refs that git moved. */
  readonly changes: readonly RefChange[];
  readonly options?: PushOptions;
}

/** Changes to the repository that `git push -o` requests; ignored unless the pusher administers it. */
export interface PushOptions {
  readonly isPrivate: boolean | undefined;
  readonly isTemplate: boolean | undefined;
}

/** Updates the record of a repository after a push and publishes the push to subscribers, once for each journal entry. */
export type RecordPush = (push: CompletedPush) => Promise<void>;

export function createPushRecorder({
  db,
  git,
  locate,
  events,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly events: RepositoryEvents;
}): RecordPush {
  return async ({ noteId, repository, pusher, changes, options }) => {
    if (changes.length === 0) {
      await deletePush(db, noteId);
      return;
    }
    const directory = await locate(repository);
    const [branchList, sizeKib] = await Promise.all([
      readBranches(git, directory),
      readSizeKib(git, directory),
    ]);
    const isNew = branchList.head === undefined || !branchList.branches.includes(branchList.head);
    const chosen = isNew ? chooseDefaultBranch(branchList, [repository.defaultBranch]) : undefined;
    // The first branch pushed to an empty repository becomes its default when the configured one is missing.
    if (repository.isEmpty && chosen !== undefined) await writeHead(git, directory, chosen);
    const defaultBranch =
      repository.isEmpty && chosen !== undefined ? { defaultBranch: chosen } : {};
    await db.transaction(async (tx) => {
      if (!(await deletePush(tx, noteId))) return;
      await updateRepository(tx, repository.id, {
        isEmpty: branchList.branches.length === 0,
        branchCount: branchList.branches.length,
        sizeKib,
        updatedAt: tx.now,
        ...defaultBranch,
      });
      const former = await findRepositoryById(tx, repository.id);
      const owner = former && (await findUserById(tx, former.ownerId));
      if (former === undefined || owner === undefined) return;
      const edited = await applyOptions(tx, { repository: former, owner }, pusher, options);
      const current = edited ?? former;
      await events.pushed?.(tx, { repository: current, owner, pusher, changes });
      if (edited !== undefined)
        await events.edited?.(tx, { repository: edited, owner, actor: pusher, former });
    });
  };
}

/** Applies the options of a push. Returns undefined when nothing changes or the pusher may not administer the repository. */
async function applyOptions(
  tx: Transaction,
  { repository, owner }: OwnedRepository,
  pusher: ForgeUser,
  {
    isPrivate = repository.isPrivate,
    isTemplate = repository.isTemplate,
  }: Partial<PushOptions> = {},
): Promise<ForgeRepository | undefined> {
  if (isPrivate === repository.isPrivate && isTemplate === repository.isTemplate) return undefined;
  if (!reaches(await findAccess(tx, { repository, owner }, pusher), "admin")) return undefined;
  await updateRepository(tx, repository.id, { isPrivate, isTemplate });
  return findRepositoryById(tx, repository.id);
}
