import { z } from "zod";
import type { Transaction } from "../../../storage/engine/database.ts";
import type { UserId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { RefChange } from "../repositories/events.ts";

/** A push whose commits are to be read. */
export interface PublishedPush {
  readonly repositoryId: RepositoryId;
  readonly pusherId: UserId;
  /** When git moved the refs, in epoch milliseconds. */
  readonly pushedAt: number;
}

export interface PushJobDeps {
  /** Name of the kind of job. */
  readonly kind: string;
  readonly enqueue: Enqueue;
  /** Selects the refs to publish, at most this many of one push: a push of a mirror may move any number. */
  readonly select: (change: RefChange) => boolean;
  readonly refsMax: number;
  /** Called for each ref, outside of a transaction. A failed job is retried as a whole, so it may be called twice. */
  readonly publish: (push: PublishedPush, change: RefChange) => Promise<void>;
}

/** Maximum number of refs of one job: its payload is bounded, and a ref name may have 4 KiB. */
const REFS_PER_JOB = 40;

const payloadSchema = z.object({
  repositoryId: z.int().brand<"RepositoryId">(),
  pusherId: z.int().brand<"UserId">(),
  // Absent in payloads of version 0.1.0.
  at: z.int().default(0),
  changes: z.array(
    z.object({ ref: z.string(), before: z.string().optional(), after: z.string().optional() }),
  ),
});

/** Publishes pushes by a job, because reading commits takes git, which has no place in a transaction. */
export function createPushJob({ kind, enqueue, select, refsMax, publish }: PushJobDeps) {
  return {
    /** Enqueues the publication of the selected changes. */
    async enqueuePush(
      tx: Transaction,
      owned: { readonly repository: ForgeRepository; readonly pusherId: UserId },
      changes: readonly RefChange[],
    ): Promise<void> {
      const selected = changes.filter(select).slice(0, refsMax);
      for (let start = 0; start < selected.length; start += REFS_PER_JOB) {
        const payload: z.input<typeof payloadSchema> = {
          repositoryId: owned.repository.id,
          pusherId: owned.pusherId,
          at: tx.now,
          changes: selected.slice(start, start + REFS_PER_JOB),
        };
        await enqueue(tx, { kind, payload });
      }
    },

    job: {
      kind,
      async run(payload) {
        const { repositoryId, pusherId, at, changes } = parsePayload(payloadSchema, payload);
        for (const { ref, before, after } of changes)
          await publish({ repositoryId, pusherId, pushedAt: at }, { ref, before, after });
      },
    } satisfies JobKind as JobKind,
  };
}
