import { hasActions } from "../../repositories/repository-settings.view.ts";
import { toFirstRun } from "../../repositories/work-in-folder.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId } from "../../../../storage/tables/forge/ids.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  listRepositoriesAfter,
} from "../../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import type { FindCommit } from "../../git/commit-readers.ts";
import type { Subscribers } from "../../events.ts";
import type { WorkflowSchedules } from "./schedules.ts";
import type { StartRun } from "./start-run.ts";
import { readWorkflowFiles, toExcessReason, type WorkflowFileDeps } from "./workflow-files.ts";

const KIND = "forge.actions.triggers";
/** Migration 0041 enqueues the first job of this kind. */
const SWEEP_KIND = "forge.actions.triggers.all";
/** Repositories of one job of the sweep. */
const BATCH = 200;
/** A branch that moves more often than this during one job fails the attempt. */
const READS_MAX = 3;

const payloadSchema = z.object({ repositoryId: z.int().brand<"RepositoryId">() });
const sweepSchema = z.object({ after: z.int() });

export interface TriggerRefreshDeps extends WorkflowFileDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly findCommit: FindCommit;
  readonly schedules: Pick<WorkflowSchedules, "replace">;
  readonly starter: Pick<StartRun, "fail">;
}

/**
 * Reads schedules and events of repositories again, from the workflow files of the current default branch. Used after
 * changes that start no run: those by jobs, another default branch, and an upgrade of croft.
 */
export type TriggerRefresh = ReturnType<typeof createTriggerRefresh>;

export function createTriggerRefresh(deps: TriggerRefreshDeps) {
  const { db, enqueue, findCommit, schedules, starter } = deps;
  return {
    enqueueRefresh,

    /** Reads the files again unless the default branch is still at a commit. */
    async refreshUnless(repositoryId: RepositoryId, commit: string): Promise<void> {
      const repository = await findRepositoryById(db, repositoryId);
      if (repository !== undefined && (await findHead(repository)) !== commit)
        await refresh(repositoryId);
    },

    subscribers: {
      async "repository.created"(tx, { repository, isAdopted }) {
        if (!repository.isEmpty) await enqueueRefresh(tx, repository, toFirstRun(tx, isAdopted));
      },
      async "repository.edited"(tx, { repository, former }) {
        // Pushes read nothing while workflows are disabled.
        const isEnabled = hasActions(repository) && !hasActions(former);
        if (isEnabled || repository.defaultBranch !== former.defaultBranch)
          await enqueueRefresh(tx, repository);
      },
    } satisfies Subscribers,

    jobs: [
      {
        kind: KIND,
        run: (payload) => refresh(parsePayload(payloadSchema, payload).repositoryId),
      },
      {
        kind: SWEEP_KIND,
        async run(payload) {
          const { after } = parsePayload(sweepSchema, payload);
          await db.transaction(async (tx) => {
            const repositories = await listRepositoriesAfter(tx, after, BATCH);
            for (const repository of repositories)
              if (!repository.isEmpty) await enqueueRefresh(tx, repository);
            const last = repositories.at(-1)?.id;
            if (last === undefined || repositories.length < BATCH) return;
            const next: z.input<typeof sweepSchema> = { after: last };
            await enqueue(tx, { kind: SWEEP_KIND, payload: next, key: String(last) });
          });
        },
      },
    ] satisfies readonly JobKind[] as readonly JobKind[],
  };

  async function enqueueRefresh(
    tx: Transaction,
    { id }: ForgeRepository,
    runAt = tx.now,
  ): Promise<void> {
    const payload: z.input<typeof payloadSchema> = { repositoryId: id };
    await enqueue(tx, { kind: KIND, payload, key: String(id), runAt });
  }

  async function findHead(repository: ForgeRepository): Promise<string | undefined> {
    return (await findCommit(repository, repository.defaultBranch))?.id;
  }

  /** Adds a failed run that says which files are left out, once for a commit: no push has said it. */
  async function reportExcess(
    repository: ForgeRepository,
    { id, message }: { readonly id: string; readonly message: string },
    folder: string,
    file: string,
  ): Promise<void> {
    const key = createHash("sha256")
      .update(JSON.stringify(["beyond", id, file]))
      .digest("hex");
    await db.transaction(async (tx) => {
      const owner = await findUserById(tx, repository.ownerId);
      if (owner === undefined) return;
      const trigger = {
        owned: { repository, owner },
        actor: undefined,
        event: "push",
        payload: {},
        ref: `refs/heads/${repository.defaultBranch}`,
        headSha: id,
        title: message.split("\n", 1).join() || file,
        file,
        folder,
        key,
      };
      await starter.fail(tx, trigger, toExcessReason(folder, file));
    });
  }

  /** @throws GitError when the repository's files are missing */
  async function refresh(repositoryId: RepositoryId): Promise<void> {
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      const repository = await findRepositoryById(db, repositoryId);
      if (repository === undefined || !hasActions(repository)) return;
      const head = await findCommit(repository, repository.defaultBranch);
      const commit = head?.id;
      const { folder, files, beyond } =
        commit === undefined
          ? { folder: "", files: [], beyond: undefined }
          : await readWorkflowFiles(deps, repository, commit);
      const isWritten = await schedules.replace(repository, files);
      // The job of a concurrent push may have written newer triggers before this one.
      if (!isWritten || (await findHead(repository)) !== commit) continue;
      if (head !== undefined && beyond !== undefined)
        await reportExcess(repository, head, folder, beyond);
      return;
    }
    throw new Error(`the default branch of repository ${repositoryId} moves while it is read`);
  }
}
