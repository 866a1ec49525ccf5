import { z } from "zod";
import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { openQuarantine } from "../../../storage/git/object-quarantine.ts";
import { readBranchAndTagIds } from "../../../storage/git/refs.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { toMirrorId } from "../../../storage/tables/forge/ids.ts";
import {
  findMirror,
  type ForgeMirror,
  listDueMirrors,
  listMirrorsOnCommit,
  updateMirror,
} from "../../../storage/tables/forge/repositories/mirrors.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { GitRemote } from "../../outbound/git-gateway.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import type { ForgeEvents, RefChange } from "../events.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { FolderMoves } from "../repositories/folder-moves.ts";
import { BEYOND_INTERVAL_MS, toNextSync } from "../repositories/mirror-interval.ts";
import { workInFolder } from "../repositories/work-in-folder.ts";
import { SliceOver } from "./import-share.ts";
import { followLargeFiles } from "./imports.service.ts";
import type { createLargeFilePush, PushedLargeFiles } from "./push-large-files.ts";
import { type CredentialSeals, toGitRemote } from "./remote-address.ts";
import { type Remotes, RemoteUnusable } from "./remotes.ts";

export interface MirrorJobsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly moves: FolderMoves;
  readonly writeRefs: WriteRefs;
  readonly enqueue: Enqueue;
  readonly remotes: Remotes;
  readonly seals: CredentialSeals;
  readonly pushLargeFiles: ReturnType<typeof createLargeFilePush>;
  readonly log: Log;
}

const KIND = "forge.mirrors";
const payloadSchema = z.object({ mirrorId: z.number().int().transform(toMirrorId) });
/** Mirrors whose jobs one run of the task enqueues; the rest is due at the next one. */
const DUE_MAX = 500;
/** Refs that one entry of the push journal moves: it holds no more. */
const REFS_AT_ONCE = 500;
/** Beneath the limits of transfers, which go on as long as bytes flow. */
const TIMEOUT_MS = 25 * 3_600_000;

/** Thrown when a mirror was removed during its synchronization. */
class MirrorRemoved extends Error {}

/** What a mirror records of a success, see `ForgeMirror`. */
type MirrorSuccess = Parameters<typeof updateMirror>[2] & { readonly lastError: string };

export type MirrorJobs = ReturnType<typeof createMirrorJobs>;

/** The jobs that compare mirrors with their remotes, in both directions. */
export function createMirrorJobs(deps: MirrorJobsDeps) {
  const { db, clock, enqueue, log, remotes, seals } = deps;
  const folders = {
    find: (id: ForgeRepository["id"]) => findRepositoryById(db, id),
    complete: deps.moves.complete,
    locate: deps.locate,
  };

  return {
    syncSoon,

    subscribers: {
      /** Passes a push on to the mirrors that want each of them. */
      async push(tx: Transaction, { repository }: ForgeEvents["push"]): Promise<void> {
        for (const mirror of await listMirrorsOnCommit(tx, repository.id))
          await syncSoon(tx, mirror);
      },
    },

    /** Enqueues the mirrors that are due. */
    async enqueueDue(): Promise<void> {
      await db.transaction(async (tx) => {
        const due = await listDueMirrors(tx, tx.now, {
          waitMs: BEYOND_INTERVAL_MS,
          limit: DUE_MAX,
        });
        for (const mirror of due) {
          await syncSoon(tx, mirror);
          // A run of the task while the job waits does not enqueue it again.
          await updateMirror(tx, mirror.id, { nextAt: toNextSync(mirror, tx.now) });
        }
      });
    },

    job: {
      kind: KIND,
      concurrency: 4,
      inTurns: true,
      perAccountMax: 1,
      attemptsMax: 3,
      retryFirstMs: 60_000,
      timeoutMs: TIMEOUT_MS,
      async run(payload, { signal }) {
        const { mirrorId } = parsePayload(payloadSchema, payload);
        const mirror = await findMirror(db, mirrorId);
        if (mirror === undefined) return;
        try {
          if (mirror.direction === "pull") await recordPull(mirror, await pull(mirror, signal));
          else await recordSuccess(mirror, await push(mirror, signal));
        } catch (error) {
          if (error instanceof MirrorRemoved) return;
          if (signal.aborted) throw error;
          if (error instanceof SliceOver) return goOnLater(mirror, error.message);
          const isRemote = error instanceof RemoteUnusable;
          await recordFailure(mirror, isRemote ? error.message : "it failed on this server");
          // The schedule of the mirror repeats what its remote has caused.
          if (!isRemote) throw error;
          log.warn({ err: error, mirror_id: mirror.id }, "failed to synchronize a mirror");
        }
      },
    } satisfies JobKind,
  };

  async function syncSoon(tx: Transaction, mirror: ForgeMirror): Promise<void> {
    const { id: mirrorId, repositoryId, actorId } = mirror;
    // Not of the owner: one person may have many organizations, and take the places of all others with them.
    const account = actorId ?? (await findRepositoryById(tx, repositoryId))?.ownerId ?? 0;
    await enqueue(tx, {
      kind: KIND,
      payload: { mirrorId },
      key: String(mirrorId),
      account: String(account),
    });
  }

  /** Makes branches and tags those of the remote, as pushes of the repository's owner. Returns whether one has changed. */
  async function pull(mirror: ForgeMirror, signal: AbortSignal): Promise<boolean> {
    const remote = toGitRemote(mirror.address, seals.openOfMirror(mirror));
    const taken = await remotes.list(remote, { hasPulls: false }, signal);
    let hasChanged = false;
    await workInFolder(folders, mirror.repositoryId, async (directory, repository) => {
      if (taken.refs.size > 0 && taken.objectFormat !== repository.objectFormat)
        throw new RemoteUnusable("its objects have another format than those here");
      const own = await readBranchAndTagIds(deps.git, directory);
      const { removed, moved } = compare(own, taken.refs);
      if (removed.length + moved.length === 0) return;
      await using quarantine = await openQuarantine(directory, deps.newId());
      const wanted = moved.flatMap(({ after }) => after ?? []);
      await remotes.fetch(remote, wanted, { directory, signal, quarantine: quarantine.env });
      // The objects come with the first change of a ref that may need them.
      await write(mirror, repository, removed);
      await write(mirror, repository, moved, quarantine);
      hasChanged = true;
    });
    return hasChanged;
  }

  /** Throws `MirrorRemoved`, and moves no further ref, when the repository does not follow the remote any more. */
  async function write(
    { id }: ForgeMirror,
    repository: ForgeRepository,
    changes: readonly RefChange[],
    quarantine?: Awaited<ReturnType<typeof openQuarantine>>,
  ): Promise<void> {
    const owner = await findUserById(db, repository.ownerId);
    if (owner === undefined) return;
    const prepareSync = (tx: Transaction) => assertNotRemoved(tx, { id });
    for (let at = 0; at < changes.length; at += REFS_AT_ONCE) {
      const outcome = await deps.writeRefs(
        { repository, owner },
        owner,
        changes.slice(at, at + REFS_AT_ONCE),
        { prepareSync, quarantine: at === 0 ? quarantine : undefined },
      );
      if (outcome !== "written")
        throw new RemoteUnusable("one of its branches or tags cannot be stored here");
    }
  }

  /**
   * Pushes the files of Git LFS, then the branches and tags that name them. Those are pushed without their files to a server that
   * has no Git LFS, and not at all when the server refuses a file.
   */
  async function push(mirror: ForgeMirror, signal: AbortSignal): Promise<MirrorSuccess> {
    const credentials = seals.openOfMirror(mirror);
    const { address } = mirror;
    const remote = toGitRemote(address, credentials);
    let success: MirrorSuccess = { lastError: "" };
    await workInFolder(folders, mirror.repositoryId, async (directory, repository) => {
      const files = await deps.pushLargeFiles(
        {
          directory,
          repositoryId: repository.id,
          remote: { address, credentials },
          without: mirror.hasLargeFiles ? await listTips(remote, signal) : [],
          assertWanted: () => assertNotRemoved(db, mirror),
        },
        signal,
      );
      const isFirst = mirror.syncedAt === undefined && !repository.isEmpty;
      await remotes.push(remote, {
        directory,
        signal,
        first: isFirst ? repository.defaultBranch : undefined,
      });
      const hasLargeFiles = files?.isComplete === true && (await isUnmoved(directory, files));
      success = { lastError: files?.note ?? "", hasLargeFiles };
    });
    return success;
  }

  /** Returns the commits of a remote's branches and tags; none when it does not exist yet. */
  async function listTips(remote: GitRemote, signal: AbortSignal): Promise<readonly string[]> {
    try {
      const { refs } = await remotes.list(remote, { hasPulls: false }, signal);
      return [...refs.values()];
    } catch (error) {
      if (error instanceof RemoteUnusable && error.isMissing) return [];
      throw error;
    }
  }

  /** Returns whether git has pushed only commits whose files were looked at: others may have pushed here meanwhile. */
  async function isUnmoved(directory: string, { tips }: PushedLargeFiles): Promise<boolean> {
    const { removed, moved } = compare(tips, await readBranchAndTagIds(deps.git, directory));
    return removed.length + moved.length === 0;
  }

  async function recordSuccess(
    { id }: ForgeMirror,
    success: MirrorSuccess,
    prepare: (tx: Transaction, current: ForgeMirror) => Promise<void> = async () => undefined,
  ): Promise<void> {
    await db.transaction(async (tx) => {
      // The interval may have changed meanwhile.
      const current = await findMirror(tx, id);
      if (current === undefined) return;
      const nextAt = toNextSync(current, tx.now);
      await updateMirror(tx, id, { ...success, failures: 0, syncedAt: tx.now, nextAt });
      await prepare(tx, current);
    });
  }

  function recordPull(mirror: ForgeMirror, hasChanged: boolean): Promise<void> {
    return recordSuccess(mirror, { lastError: "" }, async (tx, current) => {
      if (hasChanged) await followLargeFiles(deps, tx, current, seals.openOfMirror(current));
      await updateRepository(tx, mirror.repositoryId, {
        mirrorSyncedAt: tx.now,
        ...(hasChanged ? { mirrorUpdatedAt: tx.now } : {}),
      });
    });
  }

  /** Leaves the place to other mirrors. */
  async function goOnLater({ id }: ForgeMirror, lastError: string): Promise<void> {
    await db.transaction(async (tx) => {
      const current = await findMirror(tx, id);
      if (current === undefined) return;
      await updateMirror(tx, id, { lastError });
      await syncSoon(tx, current);
    });
  }

  async function recordFailure({ id }: ForgeMirror, lastError: string): Promise<void> {
    await db.transaction(async (tx) => {
      const current = await findMirror(tx, id);
      if (current === undefined) return;
      const failures = current.failures + 1;
      await updateMirror(tx, id, {
        failures,
        lastError,
        hasLargeFiles: false,
        nextAt: toNextSync(current, clock(), failures),
      });
    });
  }
}

async function assertNotRemoved(queries: Queries, { id }: Pick<ForgeMirror, "id">): Promise<void> {
  if ((await findMirror(queries, id)) === undefined) throw new MirrorRemoved();
}

function compare(own: ReadonlyMap<string, string>, theirs: ReadonlyMap<string, string>) {
  const removed: RefChange[] = [...own]
    .filter(([ref]) => !theirs.has(ref))
    .map(([ref, before]) => ({ ref, before, after: undefined }));
  const moved: RefChange[] = [...theirs]
    .filter(([ref, after]) => own.get(ref) !== after)
    .map(([ref, after]) => ({ ref, before: own.get(ref), after }));
  return { removed, moved };
}
