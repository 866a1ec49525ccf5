import { matchNames } from "../repositories/name-patterns.ts";
import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { insertDelivery } from "../../../storage/tables/forge/hooks/deliveries.ts";
import { type ForgeHook, listFiringHooks } from "../../../storage/tables/forge/hooks/hooks.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { UserId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { HookEvent } from "../../contract/forge/hooks/fields.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../caller.ts";
import type { Compute } from "../compute.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import type { ForgeUrls } from "../urls.ts";
import { enqueueDelivery } from "./delivery.ts";
import { passesBranchFilter, passesEveryRef, toFilteredNames } from "./hook-config.ts";
import {
  type PublishedPackage,
  toOrganizationPayload,
  toPackagePayload,
  toRepositoryPayload,
} from "./payloads.view.ts";

/** An event with the payload that hooks receive. */
export interface PublishedEvent {
  readonly event: HookEvent;
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
export interface HookPublisher {
  /** @param formerName the name before a rename */
  repository(
    tx: Transaction,
    action: "created" | "deleted" | "renamed",
    subject: OwnedRepository,
    sender: ForgeUser,
    formerName?: string,
  ): Promise<void>;
  organizationCreated(tx: Transaction, organization: ForgeUser, sender: ForgeUser): Promise<void>;
  /** A version of a package was published (`created`) or removed. */
  package(tx: Transaction, action: "created" | "deleted", subject: PublishedPackage): Promise<void>;
  /**
   * Matches the branch filters of a repository's hooks with a ref, before the transaction that publishes. Rejects when that
   * takes too long.
   */
  matchFilters(
    db: Queries,
    repository: Pick<ForgeRepository, "id" | "ownerId">,
    ref: string,
  ): Promise<PassesFilter>;
  /** Publishes any other event, such as an event of an issue, with a payload that the caller creates. */
  publish(tx: Transaction, subject: PublishedEvent): Promise<void>;
  /** Returns whether a hook subscribes to any of these events. It is cheap: call it before creating a payload. */
  hasSubscribers(
    tx: Transaction,
    repositoryId: RepositoryId | undefined,
    events: readonly HookEvent[],
  ): Promise<boolean>;
}

export interface HookPublisherDeps {
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
  readonly urls: ForgeUrls;
  readonly compute: Compute;
}

/** Kinds that receive payloads unchanged; the others are chat services. */
const plainKinds = new Set(["gitea", "gogs"]);

export function createHookPublisher({
  enqueue,
  newUuid,
  urls,
  compute,
}: HookPublisherDeps): HookPublisher {
  const publish: HookPublisher["publish"] = async (tx, subject) => {
    const hooks = await listFiringHooks(tx, subject);
    const subscribers = hooks.filter((hook) => subscribes(hook, subject));
    if (subscribers.length === 0) return;
    // Indented as in the reference, because signatures cover this text.
    const indent = subject.event === "repository" || subject.event === "wiki" ? 1 : 2;
    const payload = JSON.stringify(subject.payload, undefined, indent);
    for (const { id: hookId } of subscribers) {
      const delivery = {
        hookId,
        uuid: newUuid(),
        event: subject.event,
        payload,
        isRedelivery: false,
      };
      await enqueueDelivery(enqueue, tx, await insertDelivery(tx, delivery));
    }
  };
  return {
    publish,

    async matchFilters(db, { id, ownerId }, ref) {
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

    async hasSubscribers(tx, repositoryId, events) {
      const hooks = await listFiringHooks(tx, { repositoryId });
      return hooks.some((hook) => events.some((event) => hook.events.includes(event)));
    },

    async repository(tx, action, subject, sender, formerName) {
      const made = await toRepositoryPayload(tx, action, subject, sender, urls);
      // The reference has no `changes`; the form is that of other forges.
      const changes = { repository: { name: { from: formerName } } };
      const payload = formerName === undefined ? made : { ...made, changes };
      await publish(tx, { event: "repository", repositoryId: subject.repository.id, payload });
    },

    organizationCreated: (tx, organization, sender) =>
      publish(tx, {
        event: "organization",
        repositoryId: undefined,
        payload: toOrganizationPayload("created", organization, sender, urls),
      }),

    async package(tx, action, subject) {
      const payload = await toPackagePayload(tx, action, subject, urls);
      const repositoryId = subject.linked?.repository.id;
      await publish(tx, { event: "package", repositoryId, ownerId: subject.owner.id, payload });
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
