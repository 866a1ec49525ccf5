import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import type { ActingUser } from "../caller.ts";
import type { ForgeEvents, RefChange, Subscribers } from "../events.ts";
import type { ReadPush } from "./commit-readers.ts";
import type { PublishedPush, PushSubscriber } from "../push-subscriber.ts";

export interface PushesDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly readPush: ReadPush;
  readonly log: Pick<Log, "warn">;
  readonly subscribers: readonly PushSubscriber[];
}

const KIND = "forge.push";
/** Pushes of different repositories are read concurrently; those of one repository in their order. */
const CONCURRENCY = 3;
/** Maximum number of refs of one job: its payload is bounded, and a ref name may have 4 KiB, twice as long in JSON. */
const REFS_PER_JOB = 25;

const changeSchema = z.object({
  ref: z.string(),
  before: z.string().optional(),
  after: z.string().optional(),
});
const pushShape = {
  repositoryId: z.int().brand<"RepositoryId">(),
  pusherId: z.int().brand<"UserId">(),
  // Absent in payloads of version 0.1.0.
  at: z.int().default(0),
  isByJob: z.boolean().default(false),
};
const payloadSchema = z.object({
  ...pushShape,
  /** `kinds` names the subscribers that selected the ref. */
  changes: z.array(changeSchema.extend({ kinds: z.array(z.string()) })),
});
const retrySchema = z.object({ ...pushShape, changes: z.array(changeSchema) });

/**
 * Publishes pushes by a job, because reading commits takes git, which has no place in a transaction. The job reads each ref
 * once for all subscribers. What a subscriber fails to publish is left to a job of its own kind, with its own retries, so
 * that the failure of one repeats nothing of the others. Only a crash during the job repeats all of it.
 */
export function createPushes({ db, enqueue, readPush, log, subscribers }: PushesDeps) {
  const byKind = new Map(subscribers.map((subscriber) => [subscriber.kind, subscriber]));
  return {
    subscribers: { push: enqueuePush } satisfies Subscribers,

    jobs: [
      {
        kind: KIND,
        concurrency: CONCURRENCY,
        inTurns: true,
        async run(payload) {
          const { changes, ...push } = parsePayload(payloadSchema, payload);
          await publishAll(push, changes);
        },
      },
      ...subscribers.map((subscriber) => ({
        kind: subscriber.kind,
        async run(payload: unknown) {
          const { changes, ...push } = parsePayload(retrySchema, payload);
          for (const change of changes.map(toRefChange)) {
            const pushed = await read(push.repositoryId, change, subscriber.commitsMax);
            await subscriber.publish(toPublished(push), change, pushed);
          }
        },
      })),
    ] satisfies readonly JobKind[] as readonly JobKind[],
  };

  async function enqueuePush(tx: Transaction, push: ForgeEvents["push"]): Promise<void> {
    const { repository, owner, pusher } = push;
    const kinds = new Map<RefChange, string[]>();
    for (const { kind, select } of subscribers)
      for (const change of await select(tx, push))
        kinds.set(change, [...(kinds.get(change) ?? []), kind]);
    const changes = push.changes
      .filter((change) => kinds.has(change))
      .map((change) => ({ ...change, kinds: kinds.get(change) ?? [] }));
    const account = String(owner.id);
    const user: ActingUser = pusher;
    const common = {
      repositoryId: repository.id,
      pusherId: pusher.id,
      at: tx.now,
      isByJob: user.task !== undefined,
    };
    for (let start = 0; start < changes.length; start += REFS_PER_JOB) {
      const payload: z.input<typeof payloadSchema> = {
        ...common,
        changes: changes.slice(start, start + REFS_PER_JOB),
      };
      await enqueue(tx, { kind: KIND, payload, account, sequence: String(repository.id) });
    }
  }

  async function publishAll(
    push: StoredPush,
    changes: readonly (StoredChange & { readonly kinds: readonly string[] })[],
  ): Promise<void> {
    const failed = new Map<string, RefChange[]>();
    for (const { kinds, ...stored } of changes) {
      const change = toRefChange(stored);
      for (const kind of await publishChange(push, change, kinds))
        failed.set(kind, [...(failed.get(kind) ?? []), change]);
    }
    if (failed.size === 0) return;
    await db.transaction(async (tx) => {
      for (const [kind, rest] of failed) {
        const payload: z.input<typeof retrySchema> = { ...push, changes: rest };
        await enqueue(tx, { kind, payload });
      }
    });
  }

  /** Publishes one ref to the subscribers that selected it. Returns the kinds of those that failed. */
  async function publishChange(
    push: StoredPush,
    change: RefChange,
    kinds: readonly string[],
  ): Promise<readonly string[]> {
    const selected = kinds.map((kind) => byKind.get(kind)).filter((each) => each !== undefined);
    const commitsMax = Math.max(...selected.map((subscriber) => subscriber.commitsMax));
    const warn = (error: unknown, kind: string) =>
      log.warn(
        { err: error, repository_id: push.repositoryId, ref: change.ref, job_kind: kind },
        "failed to publish a push, will retry",
      );
    const found = await read(push.repositoryId, change, commitsMax).then(
      (pushed) => ({ pushed }),
      (error: unknown) => warn(error, KIND),
    );
    if (found === undefined) return kinds;
    const { pushed } = found;
    const outcomes = await Promise.all(
      selected.map(({ kind, commitsMax: own, publish }) =>
        publish(
          toPublished(push),
          change,
          pushed && { ...pushed, commits: pushed.commits.slice(0, own) },
        ).then(
          () => [],
          (error: unknown) => {
            warn(error, kind);
            return [kind];
          },
        ),
      ),
    );
    return outcomes.flat();
  }

  async function read(id: RepositoryId, change: RefChange, commitsMax: number) {
    const repository = await findRepositoryById(db, id);
    return repository && readPush(repository, change, commitsMax);
  }
}

type StoredPush = Omit<z.output<typeof retrySchema>, "changes">;
type StoredChange = z.output<typeof changeSchema>;

const toRefChange = ({ ref, before, after }: StoredChange): RefChange => ({ ref, before, after });

const toPublished = ({ repositoryId, pusherId, at, isByJob }: StoredPush): PublishedPush => ({
  repositoryId,
  pusherId,
  isByJob,
  pushedAt: at,
});
