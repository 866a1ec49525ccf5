import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readRefs } from "../../../storage/git/refs.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  type RequestedChange,
  deletePush,
  type ForgePush,
  insertPush,
  listPushes,
  releasePushes,
  renewPush,
} from "../../../storage/tables/forge/repositories/pushes.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { PushId, UserId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import type { Log } from "../../utilities/logging.ts";
import type { RefChange } from "../events.ts";
import type { RecordPush } from "./record-push.ts";

export type PushJournal = ReturnType<typeof createPushJournal>;

/** A journal entry whose lease this process renews. */
export interface PushNote {
  readonly id: PushId;
  /** Stops renewing the lease. The job recovers an entry that still exists. */
  end(): void;
}

export interface PushJournalDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly recordPush: RecordPush;
  readonly enqueue: Enqueue;
  readonly log: Log;
}

const KIND = "forge.git.pushes";
const LEASE_MS = 60_000;
/** A git process that outlives its daemon may still move refs of a push that it has received completely. */
const SURVIVAL_MS = 900_000;
const RECHECK_MS = 500;
/** Refs and characters of one entry; fewer refs are published. */
const CHANGES_MAX = 2_000;
const CHARACTERS_MAX = 1_048_576;

/**
 * A journal of pushes. An entry is written before git can move a ref and deleted in the transaction that records the
 * push. When the daemon crashes in between, the entry remains, and recovery records the refs that git had moved.
 */
export function createPushJournal(deps: PushJournalDeps) {
  const { db, clock, git, locate, recordPush, enqueue, log } = deps;
  const underWay = new Set<PushId>();
  /** Pushes of this process that ended before they were recorded, as the database failed: no lease protects them. */
  const unrecorded = new Set<PushId>();

  return {
    /**
     * Writes the entry of a push and keeps its lease.
     * @param prepare called in the same transaction; what it throws leaves no entry
     */
    async begin(
      repository: ForgeRepository,
      pusherId: UserId,
      changes: readonly RequestedChange[],
      prepare?: (tx: Transaction, id: PushId) => Promise<void>,
    ): Promise<PushNote> {
      await recoverFormer(repository.id).catch((error: unknown) =>
        log.warn({ err: error, repository_id: repository.id }, "push recovery failed, will retry"),
      );
      const id = await db.transaction(async (tx) => {
        const leasedUntil = tx.now + LEASE_MS;
        await enqueue(tx, { kind: KIND, payload: null, key: "all", runAt: leasedUntil });
        const pushId = await insertPush(tx, {
          repositoryId: repository.id,
          pusherId,
          changes: withinBounds(changes),
          leasedUntil,
        });
        await prepare?.(tx, pushId);
        return pushId;
      });
      underWay.add(id);
      const timer = setInterval(() => {
        renewPush(db, id, clock() + LEASE_MS).catch((error: unknown) =>
          log.warn({ err: error }, "failed to renew the lease of a push"),
        );
      }, LEASE_MS / 3);
      timer.unref();
      return {
        id,
        end() {
          clearInterval(timer);
          underWay.delete(id);
          unrecorded.add(id);
        },
      };
    },

    /** Records the pushes to a repository whose processes have died and whose refs git has moved. */
    async recoverRepository(repositoryId: RepositoryId): Promise<void> {
      const pushes = await listPushes(db);
      await recoverPushes(
        repositoryId,
        pushes.filter((push) => push.repositoryId === repositoryId),
      );
    },

    /** Enqueues recovery at startup. `isAlone`: no other process runs pushes on this database. */
    async recover(isAlone: boolean): Promise<void> {
      if (isAlone) await releasePushes(db, clock());
      if ((await listPushes(db)).length > 0)
        await db.transaction((tx) => enqueue(tx, { kind: KIND, payload: null, key: "all" }));
    },

    /** Records the pushes of dead processes. `begin` and `recover` enqueue it. */
    job: {
      kind: KIND,
      async run() {
        const noted = await listPushes(db);
        const byRepository = Map.groupBy(noted, ({ repositoryId }) => repositoryId);
        for (const [repositoryId, pushes] of byRepository)
          await recoverPushes(repositoryId, pushes).catch((error: unknown) =>
            // Other repositories continue; this one is retried with backoff.
            log.warn(
              { err: error, repository_id: repositoryId },
              "push recovery failed, will retry",
            ),
          );
        const left = await listPushes(db);
        if (left.length === 0) return;
        const runAt = Math.min(...left.map(nextCheckAt));
        await db.transaction((tx) => enqueue(tx, { kind: KIND, payload: null, key: "all", runAt }));
      },
    } satisfies JobKind,
  };

  /** Records earlier pushes of this process, so that their events precede those of the next one. */
  async function recoverFormer(repositoryId: RepositoryId): Promise<void> {
    if (unrecorded.size === 0) return;
    const left = await listPushes(db);
    for (const id of unrecorded) if (!left.some((push) => push.id === id)) unrecorded.delete(id);
    const pushes = left.filter((push) => push.repositoryId === repositoryId);
    if (pushes.some(({ id }) => unrecorded.has(id))) await recoverPushes(repositoryId, pushes);
  }

  /** Records the pushes to one repository whose lease has expired and whose refs git has moved. */
  async function recoverPushes(
    repositoryId: RepositoryId,
    pushes: readonly ForgePush[],
  ): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    const lapsed = pushes.filter((push) => !isAlive(push));
    if (repository === undefined || lapsed.length === 0) return;
    const names = pushes.flatMap(({ changes }) => changes.map(({ ref }) => ref));
    const refs = new Map(await readRefs(git, await locate(repository), names));
    // Newest first, because a later push began where an earlier one ended.
    const moved = new Map(
      pushes.toReversed().map((push) => [push.id, revertMoved(refs, push.changes)] as const),
    );
    for (const push of lapsed) {
      const pusher = await findUserById(db, push.pusherId);
      const changes = moved.get(push.id) ?? [];
      if (pusher === undefined) continue;
      if (changes.length > 0) {
        log.info(
          { repository_id: repositoryId, refs: changes.length },
          "delivered events of a recovered push",
        );
        await recordPush({ noteId: push.id, repository, pusher, changes });
      } else if (clock() >= push.leasedUntil + SURVIVAL_MS) await deletePush(db, push.id);
    }
  }

  function isAlive(push: ForgePush): boolean {
    if (unrecorded.has(push.id)) return false;
    return underWay.has(push.id) || push.leasedUntil > clock();
  }

  /** Returns when to check a push again; the interval grows while no ref moves. */
  function nextCheckAt(push: ForgePush): number {
    if (isAlive(push)) return Math.max(push.leasedUntil, clock() + RECHECK_MS);
    return clock() + Math.max(RECHECK_MS, Math.ceil((clock() - push.leasedUntil) / 2));
  }
}

/** Returns the changes that are marked or led to the current refs, and reverts them in `refs`. */
function revertMoved(refs: Map<string, string>, changes: readonly RequestedChange[]): RefChange[] {
  const moved: RefChange[] = [];
  for (const { ref, before, after, isMade } of changes) {
    if (before === after || (isMade !== true && refs.get(ref) !== after)) continue;
    moved.push({ ref, before, after });
    if (before === undefined) refs.delete(ref);
    else refs.set(ref, before);
  }
  return moved;
}

function withinBounds(changes: readonly RequestedChange[]): readonly RequestedChange[] {
  let room = CHARACTERS_MAX;
  return changes.slice(0, CHANGES_MAX).filter(({ ref }) => {
    room -= ref.length + 200;
    return room > 0;
  });
}
