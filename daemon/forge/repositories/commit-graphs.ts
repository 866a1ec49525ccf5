import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { RepositoryEvents } from "./events.ts";
import type { FolderMoves } from "./folder-moves.ts";
import { workInFolder } from "./work-in-folder.ts";

export interface CommitGraphDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly enqueue: Enqueue;
  readonly moves: Pick<FolderMoves, "complete">;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Updates the commit-graphs of repositories. */
export interface CommitGraphs {
  /** Enqueues the job. */
  readonly events: RepositoryEvents;
  /** Adds the new commits to the commit-graph, with the paths that they change. Idempotent. */
  readonly job: JobKind;
}

const KIND = "forge.repositories.commit-graph";
/** Time limit; the first graph of a large history takes long. */
const TIMEOUT_MS = 30 * 60_000;
const payloadSchema = z.object({ repositoryId: z.int().brand<"RepositoryId">() });
/** `--split` adds a file for a few new commits; git merges the files when there are many. */
const WRITE = [
  "commit-graph",
  "write",
  "--reachable",
  "--changed-paths",
  "--split",
  "--no-progress",
];

/** Without a commit-graph git reads every commit and tree to count a history or to find the last commit of a file. */
export function createCommitGraphs(deps: CommitGraphDeps): CommitGraphs {
  const { db, git, locate, enqueue, moves, clock } = deps;
  const { complete } = moves;
  const folders = { find: (id: RepositoryId) => findRepositoryById(db, id), complete, locate };
  const writeSoon = (tx: Transaction, { id }: ForgeRepository) =>
    enqueue(tx, { kind: KIND, payload: { repositoryId: id }, key: String(id) });
  return {
    events: {
      async created(tx, { repository }) {
        if (!repository.isEmpty) await writeSoon(tx, repository);
      },
      async pushed(tx, { repository, changes }) {
        if (changes.some(({ after }) => after !== undefined)) await writeSoon(tx, repository);
      },
    },

    job: {
      kind: KIND,
      async run(payload, { signal }) {
        const { repositoryId } = parsePayload(payloadSchema, payload);
        // git would leave its lock behind in a folder that is moved while it runs.
        await workInFolder(folders, repositoryId, async (directory) => {
          await removeOldLock(directory, clock());
          await git.run(WRITE, { directory, signal, timeoutMs: TIMEOUT_MS });
        });
      },
    },
  };
}

/**
 * Removes a stale lock of a git process that was killed, or whose folder was moved. A running job holds its lock for a
 * shorter time.
 */
async function removeOldLock(directory: string, now: number): Promise<void> {
  const lock = join(directory, "objects/info/commit-graphs/commit-graph-chain.lock");
  const found = await stat(lock).catch(() => undefined);
  if (found !== undefined && now - found.mtimeMs > TIMEOUT_MS) await rm(lock, { force: true });
}
