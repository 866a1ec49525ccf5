import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { allEnded, type Git } from "../../../storage/git/git.ts";
import {
  chooseDefaultBranch,
  readBranchNames,
  readHeadBranch,
  readSizeKib,
  writeHead,
} from "../../../storage/git/refs.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  countRecordedPush,
  countRecordedPushes,
  deletePush,
  hasPush,
  listPushes,
  updatePushChanges,
} from "../../../storage/tables/forge/repositories/pushes.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { PushId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { createLocks } from "../../../storage/locks.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { endPublic, isOfPrivateParent } from "../repositories/parents.ts";
import type { OwnedRepository, RefChange, Emit } from "../events.ts";

/** A push that git has carried out. */
export interface CompletedPush {
  /** Its journal entry, which the transaction that records the push deletes, so that the push is published once. */
  readonly noteId: PushId;
  readonly repository: ForgeRepository;
  readonly pusher: ForgeUser;
  /** The refs that git moved. */
  readonly changes: readonly RefChange[];
  readonly options?: PushOptions;
  /** What was read before git moved the refs; without it the repository is read now. */
  readonly observed?: Promise<ObservedRefs | undefined>;
}

/** The branches and the size of a repository, and how many of its pushes were recorded before they were read. */
export interface ObservedRefs {
  readonly recordedPushes: number;
  readonly branches: readonly string[];
  readonly sizeKib: number;
}

/**
 * Reads a repository for the record of a push while git still carries the push out, so that its client does not wait for two
 * more runs of git afterwards. Call it when the objects are in their place and no ref has moved; `RecordPush` applies the
 * changes. Resolves to undefined on a failure, after which the repository is read later; never rejects.
 */
export type ObserveRefs = (repository: ForgeRepository) => Promise<ObservedRefs | undefined>;

/** Changes to the repository that `git push -o` requests; ignored unless the pusher administers it. */
export interface PushOptions {
  readonly isPrivate: boolean | undefined;
  readonly isTemplate: boolean | undefined;
}

/** Updates the record of a repository after a push and publishes the push to subscribers, once for each journal entry. */
export type RecordPush = (push: CompletedPush) => Promise<void>;

export interface PushRecorder {
  readonly recordPush: RecordPush;
  readonly observeRefs: ObserveRefs;
}

export function createPushRecorder({
  db,
  git,
  locate,
  emit,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly emit: Emit;
}): PushRecorder {
  const { withLocks } = createLocks();
  return {
    observeRefs: (repository) => read(repository).catch(() => undefined),
    async recordPush(push) {
      // Its git must have ended when the push has.
      const observed = await push.observed;
      if (push.changes.length === 0) await deletePush(db, push.noteId);
      // Pushes of one daemon take turns. Those of another daemon are seen in the transaction.
      else await withLocks([String(push.repository.id)], () => record(push, observed));
    },
  };

  /** Of two pushes at once the one that is recorded last counts the branches after both. */
  async function record(push: CompletedPush, observed: ObservedRefs | undefined): Promise<void> {
    let refs = observed && applyChanges(observed, push.changes);
    for (let isFirst = true; ; isFirst = false) {
      const current = await findRepositoryById(db, push.repository.id);
      refs ??= current && (await read(current));
      // Deleted in the meantime.
      if (refs === undefined || current === undefined)
        return void (await deletePush(db, push.noteId));
      const { recordedPushes } = refs;
      const state = await chooseHead(current, refs, isFirst);
      if (await db.transaction((tx) => write(tx, push, recordedPushes, state))) return;
      refs = undefined;
    }
  }

  /** Returns undefined when the repository was deleted. */
  async function read(repository: ForgeRepository): Promise<ObservedRefs | undefined> {
    const recordedPushes = await countRecordedPushes(db, repository.id);
    if (recordedPushes === undefined) return undefined;
    const directory = await locate(repository);
    const [branches, sizeKib] = await allEnded([
      readBranchNames(git, directory),
      readSizeKib(git, directory),
    ]);
    return { recordedPushes, branches, sizeKib };
  }

  /** Points HEAD to a branch where a push calls for that, and returns what changes of a repository's record. */
  async function chooseHead(
    repository: ForgeRepository,
    { branches, sizeKib }: ObservedRefs,
    isFirst: boolean,
  ): Promise<RefState> {
    const state = { isEmpty: branches.length === 0, branchCount: branches.length, sizeKib };
    const { defaultBranch, isEmpty } = repository;
    if (isFirst && !isEmpty) return state;
    const directory = await locate(repository);
    const head = await readHeadBranch(directory);
    // The push that another one overtook has pointed HEAD to its own branch.
    const isOvertaken = !isFirst && !isEmpty && head !== defaultBranch;
    if (isOvertaken && branches.includes(defaultBranch))
      await writeHead(git, directory, defaultBranch);
    // The first branch pushed to an empty repository becomes its default when the configured one is missing.
    const chosen = isEmpty ? chooseDefaultBranch({ branches, head }, [defaultBranch]) : undefined;
    if (chosen === undefined) return state;
    if (chosen !== head) await writeHead(git, directory, chosen);
    return { ...state, defaultBranch: chosen };
  }

  /** Returns false, and writes nothing, when another push has been recorded since the refs were read. */
  async function write(
    tx: Transaction,
    push: CompletedPush,
    seen: number,
    state: RefState,
  ): Promise<boolean> {
    const {
      noteId,
      repository: { id },
      changes,
    } = push;
    if (!(await countRecordedPush(tx, id, seen))) return false;
    // Recorded before: the journal may be read by two daemons.
    if (!(await hasPush(tx, noteId))) return true;
    await markFormer(tx, { noteId, repositoryId: id, changes });
    await updateRepository(tx, id, { ...state, updatedAt: tx.now });
    await publish(tx, push);
    // Last: subscribers read what the entry says of the push.
    await deletePush(tx, noteId);
    return true;
  }

  async function publish(
    tx: Transaction,
    { noteId, repository: { id }, pusher, changes, options }: CompletedPush,
  ): Promise<void> {
    const former = await findRepositoryById(tx, id);
    const owner = former && (await findUserById(tx, former.ownerId));
    if (former === undefined || owner === undefined) return;
    const edited = await applyOptions(tx, { repository: former, owner }, pusher, { emit, options });
    const current = edited ?? former;
    await emit(tx, "push", { repository: current, owner, pusher, changes, pushId: noteId });
    if (edited !== undefined)
      await emit(tx, "repository.edited", { repository: edited, owner, actor: pusher, former });
  }
}

const BRANCHES = "refs/heads/";

/** Returns what `observed` is after git has made the changes. */
function applyChanges(observed: ObservedRefs, changes: readonly RefChange[]): ObservedRefs {
  const branches = new Set(observed.branches);
  for (const { ref, after } of changes) {
    if (!ref.startsWith(BRANCHES)) continue;
    const name = ref.slice(BRANCHES.length);
    if (after === undefined) branches.delete(name);
    else branches.add(name);
  }
  return { ...observed, branches: [...branches].toSorted() };
}

/** What a push changes of the record of its repository. */
type RefState = Pick<ForgeRepository, "isEmpty" | "branchCount" | "sizeKib"> & {
  readonly defaultBranch?: string;
};

/**
 * Marks the changes of earlier pushes at whose ends these changes began, and which are not recorded yet: afterwards the
 * refs no longer show that git has made them.
 */
async function markFormer(
  tx: Transaction,
  {
    noteId,
    repositoryId,
    changes,
  }: {
    readonly noteId: PushId;
    readonly repositoryId: RepositoryId;
    readonly changes: readonly RefChange[];
  },
): Promise<void> {
  const starts = new Map(changes.map(({ ref, before }) => [ref, before]));
  for (const push of await listPushes(tx)) {
    if (push.repositoryId !== repositoryId || push.id >= noteId) continue;
    const marked = push.changes.map((change) =>
      starts.has(change.ref) &&
      starts.get(change.ref) === change.after &&
      change.before !== change.after
        ? { ...change, isMade: true }
        : change,
    );
    if (marked.some(({ isMade }, index) => isMade !== push.changes[index]?.isMade))
      await updatePushChanges(tx, push.id, marked);
  }
}

/** Applies the options of a push. Returns undefined when nothing changes or the pusher may not administer the repository. */
async function applyOptions(
  tx: Transaction,
  { repository, owner }: OwnedRepository,
  pusher: ForgeUser,
  {
    emit,
    options = {},
  }: { readonly emit: Emit; readonly options?: Partial<PushOptions> | undefined },
): Promise<ForgeRepository | undefined> {
  const { isTemplate = repository.isTemplate } = options;
  const isPrivate =
    (options.isPrivate ?? repository.isPrivate) ||
    (repository.isPrivate && (await isOfPrivateParent(tx, repository)));
  if (isPrivate === repository.isPrivate && isTemplate === repository.isTemplate) return undefined;
  if (!reaches(await findAccess(tx, { repository, owner }, pusher), "admin")) return undefined;
  await updateRepository(tx, repository.id, { isPrivate, isTemplate });
  if (isPrivate && !repository.isPrivate)
    await endPublic(tx, repository.id, { emit, actor: pusher });
  return findRepositoryById(tx, repository.id);
}
