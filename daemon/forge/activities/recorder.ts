import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  insertActivity,
  insertWatchersOf,
  type NewActivity,
} from "../../../storage/tables/forge/activities/activities.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { OwnedRepository } from "../events.ts";
import type { ActivityId } from "../../../storage/tables/forge/ids.ts";

/**
 * Records activities of a user in a repository, inside the transaction of the event, so they are committed with it.
 * They appear in the feeds of the actor, of an organization that owns the repository, and of its watchers.
 */
export type RecordActivities = (
  tx: Transaction,
  subject: OwnedRepository & { readonly actor: ForgeUser },
  activities: readonly Omit<NewActivity, "actorId" | "repositoryId">[],
) => Promise<void>;

/**
 * Maximum number of watchers whose feeds are written in one transaction, so that other writers are not blocked for
 * long.
 */
const WATCHERS_PER_TRANSACTION = 500;

const KIND = "forge.activities.deliver";

const payloadSchema = z.object({
  repositoryId: z.int().brand<"RepositoryId">(),
  activityIds: z.array(z.int().brand<"ActivityId">()),
  /** The last watcher whose feed was written. */
  after: z.int(),
});

export function createActivityRecorder({
  db,
  enqueue,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
}): { readonly record: RecordActivities; readonly job: JobKind } {
  const limit = WATCHERS_PER_TRANSACTION;
  return {
    async record(tx, { repository, owner, actor }, activities) {
      const { id: repositoryId } = repository;
      const receivers = [actor.id, ...(owner.kind === "organization" ? [owner.id] : [])];
      const activityIds: ActivityId[] = [];
      for (const activity of activities) {
        const made = { ...activity, actorId: actor.id, repositoryId };
        activityIds.push(await insertActivity(tx, made, receivers));
      }
      if (activityIds.length === 0) return;
      const delivery = { repositoryId, activityIds };
      const after = await insertWatchersOf(tx, delivery, { after: 0, limit });
      if (after !== undefined) await enqueue(tx, { kind: KIND, payload: { ...delivery, after } });
    },

    job: {
      kind: KIND,
      async run(payload) {
        const { after, ...delivery } = parsePayload(payloadSchema, payload);
        let last: number | undefined = after;
        while (last !== undefined) {
          const from: number = last;
          last = await db.transaction((tx) =>
            insertWatchersOf(tx, delivery, { after: from, limit }),
          );
        }
      },
    },
  };
}
