import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { Subscribers } from "../events.ts";
import type { FolderMoves } from "./folder-moves.ts";
import { toFirstRun, workInFolder } from "./work-in-folder.ts";

export interface CommitGraphDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly enqueue: Enqueue;
  readonly moves: Pick<FolderMoves, "complete">;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Searches the last commits of the top folder, so that the first request need not wait. @throws GitError */
  readonly searchLastCommits: (
    repository: ForgeRepository,
    options: { readonly directory: string; readonly signal: AbortSignal },
  ) => Promise<void>;
}

/** Updates the commit-graphs of repositories. */
export type CommitGraphs = ReturnType<typeof createCommitGraphs>;

const KIND = "forge.repositories.commit-graph";
/** Time limit; the first graph of a large history takes long. */
const TIMEOUT_MS = 30 * 60_000;
/** Time limit while the request that adopts a repository waits. The job completes what takes longer. */
const ADOPTION_TIMEOUT_MS = 20_000;
const payloadSchema = z.object({ repositoryId: z.int().brand<"RepositoryId">() });
const WRITE = ["commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"];
/** Adds a file for a few new commits; git merges the files when there are many. */
const ADD = [...WRITE, "--split"];

/** Without a commit-graph git reads every commit and tree to count a history or to find the last commit of a file. */
export function createCommitGraphs(deps: CommitGraphDeps) {
  const { db, git, locate, enqueue, moves, clock, searchLastCommits } = deps;
  const { complete } = moves;
  const folders = { find: (id: RepositoryId) => findRepositoryById(db, id), complete, locate };
  const writeSoon = (tx: Transaction, { id }: ForgeRepository, runAt = tx.now) =>
    enqueue(tx, { kind: KIND, payload: { repositoryId: id }, key: String(id), runAt });
  return {
    /** Enqueues the job. */
    subscribers: {
      async "repository.created"(tx, { repository, isAdopted }) {
        if (!repository.isEmpty) await writeSoon(tx, repository, toFirstRun(tx, isAdopted));
      },
      async push(tx, { repository, changes }) {
        if (changes.some(({ after }) => after !== undefined)) await writeSoon(tx, repository);
      },
    } satisfies Subscribers,

    /**
     * Adds the new commits to the commit-graph, with the paths that they change, and searches the last commits of the top
     * folder. Idempotent.
     */
    job: {
      kind: KIND,
      async run(payload, { signal }) {
        const { repositoryId } = parsePayload(payloadSchema, payload);
        // git would leave its lock behind in a folder that is moved while it runs.
        await workInFolder(folders, repositoryId, async (directory, repository) => {
          await removeOldLock(directory, clock());
          await git.run(ADD, { directory, signal, timeoutMs: TIMEOUT_MS });
          await searchLastCommits(repository, { directory, signal });
        });
      },
    } satisfies JobKind,

    /** Removes the graph of a folder that is adopted: it may have no changed paths, or be damaged. The job writes another. */
    async remove(directory: string): Promise<void> {
      const info = join(directory, "objects/info");
      await rm(join(info, "commit-graph"), { force: true });
      await rm(join(info, "commit-graphs"), { recursive: true, force: true });
    },

    /**
     * Writes the graph of a folder that is adopted. Ends after 20 s, or when git finds a fault in the folder: then the job
     * writes the graph, or reports the fault.
     */
    writeFirst: (directory: string): Promise<void> =>
      unlessGitFails(git.run(ADD, { directory, timeoutMs: ADOPTION_TIMEOUT_MS })),

    /** Searches the last commits of the top folder for at most 20 s. */
    searchFirst: (repository: ForgeRepository, directory: string): Promise<void> =>
      unlessGitFails(
        searchLastCommits(repository, {
          directory,
          signal: AbortSignal.timeout(ADOPTION_TIMEOUT_MS),
        }),
      ),
  };
}

/** Waits for work that the job does again, and reports. */
async function unlessGitFails(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
    if (!(error instanceof GitError) && !isTimeout) throw error;
  }
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
