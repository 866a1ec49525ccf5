import { z } from "zod";
import type { Transaction } from "../../../../storage/engine/database.ts";
import { hasWorkflowEvent } from "../../../../storage/tables/forge/actions/events.ts";
import type { RepositoryId } from "../../../../storage/tables/forge/ids.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import type { ActingUser } from "../../caller.ts";
import { isMapping, type Mapping, toJsonMapping } from "../../../workflows/mapping.ts";

/** The kind of the job that starts the workflows of an event. */
export const EVENT_JOB = "forge.actions.event";

export const eventJobSchema = z.object({
  repositoryId: z.int().brand<"RepositoryId">(),
  event: z.string(),
  actorId: z.int().brand<"UserId">().optional(),
  /** Unique to the event, so that a repeated job creates no second run. */
  key: z.string(),
  /** The tag that the event is about; without it, the event is about the default branch. */
  ref: z.string().optional(),
  payload: z.custom<Mapping>(isMapping),
});

/**
 * Maximum characters of a text: a job's payload is bounded, so long texts of an event, such as the body of an issue,
 * are cut.
 */
const TEXT_CHARACTERS_MAX = 16_384;

/**
 * Enqueues the start of the workflows that name an event, if the default branch has any: their files are read from
 * git, which has no place in a transaction. `load` returns what they get, or undefined to start none. Changes made by a
 * workflow's job start no workflow, which could loop forever.
 */
export type StartWorkflows = (
  tx: Transaction,
  repositoryId: RepositoryId,
  event: string,
  load: () => Promise<
    | {
        readonly payload: object;
        readonly actor: ActingUser | undefined;
        /** The tag at which the workflows run, such as `refs/tags/v1`; the default branch without it. */
        readonly ref?: string;
      }
    | undefined
  >,
) => Promise<void>;

export function createStartWorkflows({
  enqueue,
  newUuid,
}: {
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
}): StartWorkflows {
  return async (tx, repositoryId, event, load) => {
    if (!(await hasWorkflowEvent(tx, repositoryId, event))) return;
    const loaded = await load();
    if (loaded === undefined || loaded.actor?.task !== undefined) return;
    const { payload, actor, ref } = loaded;
    const job: z.input<typeof eventJobSchema> = {
      repositoryId,
      event,
      ...(actor === undefined ? {} : { actorId: actor.id }),
      key: newUuid(),
      ...(ref === undefined ? {} : { ref }),
      payload: toBoundedPayload(payload),
    };
    await enqueue(tx, { kind: EVENT_JOB, payload: job });
  };
}

/** Returns a payload as JSON would serialize it, with long texts cut. */
export function toBoundedPayload(payload: object): Mapping {
  return toJsonMapping(payload, (_key, value) =>
    typeof value === "string" && value.length > TEXT_CHARACTERS_MAX
      ? value.slice(0, TEXT_CHARACTERS_MAX)
      : value,
  );
}
