import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readRefs } from "../../../storage/git/refs.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  type AskedChange,
  deletePush,
  type ForgePush,
  insertPush,
  listPushes,
  releasePushes,
  renewPush,
} from "../../../storage/tables/forge/repositories/pushes.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import type { Log } from "../../utilities/logging.ts";
import type { RefChange } from "../repositories/events.ts";
import type { FollowPush } from "./following.ts";

/**
 * Notes of pushes, written before git can move a ref and gone in the transaction that tells of the push: a daemon that
 * dies in between leaves a note, and what git has done by then is told after all.
 */
export interface PushJournal {
  /** Notes a push by somebody; it is kept until `follow` takes it or `drop`. */
  begin(
    repository: ForgeRepository,
    pusherId: number,
    changes: readonly AskedChange[],
  ): Promise<PushNote>;
  /** After a start: takes up what an earlier run left. `isAlone`: nobody else runs pushes on this database. */
  recover(isAlone: boolean): Promise<void>;
  /** Tells of what dead processes left; `begin` and `recover` enqueue it. */
  readonly job: JobKind;
}

/** A note under way, renewed as long as this process lives. */
export interface PushNote {
  readonly id: number;
  /** Ends the renewals. What is still noted then is taken up by the job. */
  end(): void;
}

export interface PushJournalDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly follow: FollowPush;
  readonly enqueue: Enqueue;
  readonly log: Log;
}

const KIND = "forge.git.pushes";
const LEASE_MS = 60_000;
/** A git that outlives its daemon may still move refs of a push that it had received whole. */
const SURVIVAL_MS = 900_000;
const LOOK_AGAIN_MS = 500;
/** Refs that a note names, and characters of it: who listens is told of fewer. */
const CHANGES_MAX = 2_000;
const CHARACTERS_MAX = 1_048_576;

export function createPushJournal(deps: PushJournalDeps): PushJournal {
  const { db, clock, git, locate, follow, enqueue, log } = deps;
  const underWay = new Set<number>();

  return {
    async begin(repository, pusherId, changes) {
      const id = await db.transaction(async (tx) => {
        const leasedUntil = tx.now + LEASE_MS;
        await enqueue(tx, { kind: KIND, payload: null, key: "all", runAt: leasedUntil });
        return insertPush(tx, {
          repositoryId: repository.id,
          pusherId,
          changes: withinBounds(changes),
          leasedUntil,
        });
      });
      underWay.add(id);
      const timer = setInterval(() => {
        renewPush(db, id, clock() + LEASE_MS).catch((error: unknown) =>
          log.warn({ err: error }, "the note of a push could not be renewed"),
        );
      }, LEASE_MS / 3);
      timer.unref();
      return {
        id,
        end() {
          clearInterval(timer);
          underWay.delete(id);
        },
      };
    },

    async recover(isAlone) {
      if (isAlone) await releasePushes(db, clock());
      if ((await listPushes(db)).length > 0)
        await db.transaction((tx) => enqueue(tx, { kind: KIND, payload: null, key: "all" }));
    },

    job: {
      kind: KIND,
      async run() {
        const noted = await listPushes(db);
        const byRepository = Map.groupBy(noted, ({ repositoryId }) => repositoryId);
        for (const [repositoryId, pushes] of byRepository)
          await settle(repositoryId, pushes).catch((error: unknown) =>
            // The others do not wait for it; it is looked at again, ever more seldom.
            log.warn({ err: error, repository_id: repositoryId }, "pushes cannot be told of yet"),
          );
        const left = await listPushes(db);
        if (left.length === 0) return;
        const runAt = Math.min(...left.map(nextLook));
        await db.transaction((tx) => enqueue(tx, { kind: KIND, payload: null, key: "all", runAt }));
      },
    },
  };

  /** Tells of those pushes to one repository that nobody runs any more and that git has carried out. */
  async function settle(repositoryId: number, pushes: readonly ForgePush[]): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    const lapsed = pushes.filter((push) => !isAlive(push));
    if (repository === undefined || lapsed.length === 0) return;
    const names = pushes.flatMap(({ changes }) => changes.map(({ ref }) => ref));
    const refs = new Map(await readRefs(git, await locate(repository), names));
    // From the newest backwards: a later push began where an earlier one ended.
    const moved = new Map(
      pushes.toReversed().map((push) => [push.id, takeBack(refs, push.changes)] as const),
    );
    for (const push of lapsed) {
      const pusher = await findUserById(db, push.pusherId);
      const changes = moved.get(push.id) ?? [];
      if (pusher === undefined) continue;
      if (changes.length > 0) {
        log.info({ repository_id: repositoryId, refs: changes.length }, "a push is told of late");
        await follow({ noteId: push.id, repository, pusher, changes });
      } else if (clock() >= push.leasedUntil + SURVIVAL_MS) await deletePush(db, push.id);
    }
  }

  function isAlive(push: ForgePush): boolean {
    return underWay.has(push.id) || push.leasedUntil > clock();
  }

  /** When to look at a push again; the longer nothing moves, the more seldom. */
  function nextLook(push: ForgePush): number {
    if (isAlive(push)) return Math.max(push.leasedUntil, clock() + LOOK_AGAIN_MS);
    return clock() + Math.max(LOOK_AGAIN_MS, (clock() - push.leasedUntil) / 2);
  }
}

/** Those changes that lead to what the refs are; the refs are then what they were before them. */
function takeBack(refs: Map<string, string>, changes: readonly AskedChange[]): RefChange[] {
  const moved: RefChange[] = [];
  for (const { ref, before, after } of changes) {
    if (before === after || refs.get(ref) !== after) continue;
    moved.push({ ref, before, after });
    if (before === undefined) refs.delete(ref);
    else refs.set(ref, before);
  }
  return moved;
}

function withinBounds(changes: readonly AskedChange[]): readonly AskedChange[] {
  let room = CHARACTERS_MAX;
  return changes.slice(0, CHANGES_MAX).filter(({ ref }) => {
    room -= ref.length + 200;
    return room > 0;
  });
}
