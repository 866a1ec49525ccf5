import { z } from "zod";
import type { Queries, Transaction } from "../../../../storage/engine/database.ts";
import { hasWorkflowEvent } from "../../../../storage/tables/forge/actions/events.ts";
import type { RepositoryId } from "../../../../storage/tables/forge/ids.ts";
import type { HookEvent } from "../../../contract/forge/hooks/fields.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import { toPackagePayload } from "../../hooks/payloads.view.ts";
import type { HookPublisher, PublishedEvent } from "../../hooks/publisher.ts";
import type { ForgeUrls } from "../../urls.ts";
import { isMapping, type Mapping, toJsonMapping } from "../../../workflows/mapping.ts";

/** Maps events of hooks to events in `on`. Pushes, created and deleted refs come from the push itself. */
const WORKFLOW_EVENTS: Partial<Record<HookEvent, string>> = {
  issues: "issues",
  issue_assign: "issues",
  issue_label: "issues",
  issue_milestone: "issues",
  issue_comment: "issue_comment",
  package: "registry_package",
  workflow_run: "workflow_run",
};

/** The kind of the job that starts the workflows of an event. */
export const EVENT_JOB = "forge.actions.event";

export const eventJobSchema = z.object({
  repositoryId: z.int().brand<"RepositoryId">(),
  event: z.string(),
  actorId: z.int().brand<"UserId">().optional(),
  /** Unique to the event, so that a repeated job creates no second run. */
  key: z.string(),
  payload: z.custom<Mapping>(isMapping),
});

/**
 * Maximum characters of a text: a job's payload is bounded, so long texts of an event, such as the body of an issue,
 * are cut.
 */
const TEXT_CHARACTERS_MAX = 16_384;

export interface EventPublisherDeps {
  readonly publisher: HookPublisher;
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
  readonly urls: ForgeUrls;
}

/**
 * Returns a publisher that also starts the workflows of an event. It enqueues a job in the same transaction, because
 * their files are read from git. Changes made by a workflow's job start no workflow, which could loop forever.
 */
export function createEventPublisher(deps: EventPublisherDeps): HookPublisher {
  const { publisher, enqueue, newUuid, urls } = deps;
  return {
    ...publisher,

    async publish(tx, subject) {
      await publisher.publish(tx, subject);
      const { repositoryId } = subject;
      if (repositoryId !== undefined && (await starts(tx, repositoryId, subject.event)))
        await start(tx, repositoryId, subject);
    },

    hasSubscribers: async (tx, repositoryId, events) => {
      if (await publisher.hasSubscribers(tx, repositoryId, events)) return true;
      for (const event of repositoryId === undefined ? [] : events)
        if (repositoryId !== undefined && (await starts(tx, repositoryId, event))) return true;
      return false;
    },

    async package(tx, action, subject) {
      await publisher.package(tx, action, subject);
      const repositoryId = subject.linked?.repository.id;
      if (action !== "created" || repositoryId === undefined) return;
      if (!(await starts(tx, repositoryId, "package"))) return;
      const payload = await toPackagePayload(tx, action, subject, urls);
      const event = { event: "package", repositoryId, payload, actor: subject.sender } as const;
      await start(tx, repositoryId, event);
    },
  };

  async function start(
    tx: Transaction,
    repositoryId: RepositoryId,
    { event, payload, actor }: PublishedEvent,
  ): Promise<void> {
    const name = WORKFLOW_EVENTS[event];
    if (name === undefined || actor?.task !== undefined) return;
    const job: z.input<typeof eventJobSchema> = {
      repositoryId,
      event: name,
      ...(actor === undefined ? {} : { actorId: actor.id }),
      key: newUuid(),
      payload: toBounded(payload),
    };
    await enqueue(tx, { kind: EVENT_JOB, payload: job });
  }
}

async function starts(db: Queries, repositoryId: RepositoryId, event: HookEvent): Promise<boolean> {
  const name = WORKFLOW_EVENTS[event];
  return name !== undefined && (await hasWorkflowEvent(db, repositoryId, name));
}

/** Returns a payload as JSON would serialize it, with long texts cut. */
function toBounded(payload: object): Mapping {
  return toJsonMapping(payload, (_key, value) =>
    typeof value === "string" && value.length > TEXT_CHARACTERS_MAX
      ? value.slice(0, TEXT_CHARACTERS_MAX)
      : value,
  );
}
