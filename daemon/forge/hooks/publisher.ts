import { matchNames } from "../repositories/name-patterns.ts";
import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { insertDelivery, insertPayload } from "../../../storage/tables/forge/hooks/deliveries.ts";
import { type ForgeHook, listFiringHooks } from "../../../storage/tables/forge/hooks/hooks.ts";
import type { UserId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { HookEvent } from "../../contract/forge/hooks/fields.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../caller.ts";
import type { Compute } from "../compute.ts";
import { enqueueDelivery } from "./delivery.ts";
import { passesBranchFilter, passesEveryRef, toFilteredNames } from "./hook-config.ts";

/** An event with the payload that hooks receive. */
export interface PublishedEvent {
  readonly event: HookEvent;
  /** The type that its receivers see, if it is finer than the event that hooks select. */
  readonly type?: string;
  /** The repository whose hooks receive it, with those of its owner and the system hooks. */
  readonly repositoryId: RepositoryId | undefined;
  /** The owner whose hooks receive an event that belongs to no repository. */
  readonly ownerId?: UserId;
  /** The full ref, for create, delete and push: the branch filter applies to it. */
  readonly ref?: string;
  /** The result of `matchFilters` for the ref. Filters that it does not know are matched in the transaction. */
  readonly passes?: PassesFilter;
  /** Chat services receive no push without commits. */
  readonly isWithoutCommits?: boolean;
  readonly payload: object;
  /** The user who made the change, if any. */
  readonly actor?: ActingUser;
}

/** Returns whether a branch filter passes a ref; undefined for one that was not matched. */
export type PassesFilter = (filter: string) => boolean | undefined;

/**
 * Publishes events to hooks. Call each function inside the transaction of the change, so that deliveries are committed
 * with it. They are sent after the commit.
 */
export type HookPublisher = ReturnType<typeof createHookPublisher>;

export interface HookPublisherDeps {
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
  readonly compute: Compute;
}

/** Kinds that receive payloads unchanged; the others are chat services. */
const plainKinds = new Set(["gitea", "gogs"]);

export function createHookPublisher({ enqueue, newUuid, compute }: HookPublisherDeps) {
  const publish = async (tx: Transaction, subject: PublishedEvent): Promise<void> => {
    const hooks = await listFiringHooks(tx, subject);
    const subscribers = hooks.filter((hook) => subscribes(hook, subject));
    if (subscribers.length === 0) return;
    // Indented as in the reference, because signatures cover this text.
    const indent = subject.event === "repository" || subject.event === "wiki" ? 1 : 2;
    const payload = JSON.stringify(subject.payload, undefined, indent);
    // One for all of them: a push of many refs to a repository with many hooks would write it some thousand times.
    const payloadId = await insertPayload(tx, payload);
    for (const { id: hookId } of subscribers) {
      const delivery = {
        hookId,
        uuid: newUuid(),
        event: subject.type ?? subject.event,
        payloadId,
        isRedelivery: false,
      };
      await enqueueDelivery(enqueue, tx, await insertDelivery(tx, delivery));
    }
  };
  return {
    /** Publishes an event with a payload that the caller creates. */
    publish,

    /**
     * Matches the branch filters of a repository's hooks with a ref, before the transaction that publishes. Rejects when that
     * takes too long.
     */
    async matchFilters(
      db: Queries,
      { id, ownerId }: Pick<ForgeRepository, "id" | "ownerId">,
      ref: string,
    ): Promise<PassesFilter> {
      const hooks = await listFiringHooks(db, { repositoryId: id });
      const filters = new Set(hooks.map(({ branchFilter }) => branchFilter));
      const patterns = [...filters].filter((filter) => !passesEveryRef(filter));
      const names = toFilteredNames(ref);
      const input = { kind: "filters", patterns, names } as const;
      const computed = await compute.run(matchNames, input, String(ownerId));
      if (computed.kind === "exceeded")
        throw new Error(`the branch filters of the hooks take ${computed.reason}`);
      const passing = new Set(computed.value.flat());
      const known = new Map(patterns.map((pattern, position) => [pattern, passing.has(position)]));
      return (filter) => known.get(filter);
    },

    /** Returns whether a hook subscribes to any of these events. It is cheap: call it before creating a payload. */
    async hasSubscribers(
      tx: Transaction,
      repositoryId: RepositoryId | undefined,
      events: readonly HookEvent[],
    ): Promise<boolean> {
      const hooks = await listFiringHooks(tx, { repositoryId });
      return hooks.some((hook) => events.some((event) => hook.events.includes(event)));
    },
  };
}

function subscribes(hook: ForgeHook, subject: PublishedEvent): boolean {
  const { event, ref, passes, isWithoutCommits } = subject;
  const { branchFilter } = hook;
  if (!hook.events.includes(event)) return false;
  if (ref !== undefined && !(passes?.(branchFilter) ?? passesBranchFilter(branchFilter, ref)))
    return false;
  return !(isWithoutCommits === true && !plainKinds.has(hook.kind));
}
