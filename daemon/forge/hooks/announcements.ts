import type { Transaction } from "../../../storage/engine/database.ts";
import { insertDelivery } from "../../../storage/tables/forge/hooks/deliveries.ts";
import { type ForgeHook, listFiringHooks } from "../../../storage/tables/forge/hooks/hooks.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { HookEvent } from "../../contract/forge/hooks/fields.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import type { ForgeUrls } from "../urls.ts";
import { enqueueDelivery } from "./delivery.ts";
import { passesBranchFilter } from "./hook-config.ts";
import {
  type AnnouncedPackage,
  toOrganizationPayload,
  toPackagePayload,
  toRepositoryPayload,
} from "./payloads.view.ts";

/** Something that happened, as hooks are told. */
export interface Announcement {
  readonly event: HookEvent;
  /** Whose own hooks are told besides the system's. */
  readonly repositoryId: number | undefined;
  /** In full, for create, delete and push: the branch filter looks at it. */
  readonly ref?: string;
  /** A push without commits is not told to chat services. */
  readonly isWithoutCommits?: boolean;
  readonly payload: object;
}

/**
 * Tells hooks of what happens. Each function is called inside the transaction of the change, so that deliveries exist if
 * and only if the change does; they are sent afterwards.
 */
export interface Announcements {
  /** `formerName` is of one that was renamed. */
  repository(
    tx: Transaction,
    action: "created" | "deleted" | "renamed",
    what: OwnedRepository,
    sender: ForgeUser,
    formerName?: string,
  ): Promise<void>;
  organizationCreated(tx: Transaction, organization: ForgeUser, sender: ForgeUser): Promise<void>;
  /** A version of a package was published (`created`) or removed; `repository` is the one that it is linked to. */
  package(tx: Transaction, action: "created" | "deleted", what: AnnouncedPackage): Promise<void>;
  /** Anything else, such as runs and jobs of workflows, with a payload made by the room that it happens in. */
  other(tx: Transaction, what: Announcement): Promise<void>;
  /** Whether anybody would be told of any of these events: a cheap look before payloads are made. */
  isAwaited(
    tx: Transaction,
    repositoryId: number | undefined,
    events: readonly HookEvent[],
  ): Promise<boolean>;
}

export interface AnnouncementsDeps {
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
  readonly urls: ForgeUrls;
}

/** Kinds that get payloads as they are; the others are chat services. */
const plainKinds = new Set(["gitea", "gogs"]);

export function createAnnouncements({ enqueue, newUuid, urls }: AnnouncementsDeps): Announcements {
  const other: Announcements["other"] = async (tx, what) => {
    const hooks = await listFiringHooks(tx, what.repositoryId);
    const told = hooks.filter((hook) => fires(hook, what));
    if (told.length === 0) return;
    // Indented as the reference does it; the text is what is signed.
    const indent = what.event === "repository" || what.event === "wiki" ? 1 : 2;
    const payload = JSON.stringify(what.payload, undefined, indent);
    for (const { id: hookId } of told) {
      const delivery = { hookId, uuid: newUuid(), event: what.event, payload, isRedelivery: false };
      await enqueueDelivery(enqueue, tx, await insertDelivery(tx, delivery));
    }
  };
  return {
    other,

    async isAwaited(tx, repositoryId, events) {
      const hooks = await listFiringHooks(tx, repositoryId);
      return hooks.some((hook) => events.some((event) => hook.events.includes(event)));
    },

    async repository(tx, action, what, sender, formerName) {
      const made = await toRepositoryPayload(tx, action, what, sender, urls);
      // Croft's own, in the form in which other forges tell of it.
      const changes = { repository: { name: { from: formerName } } };
      const payload = formerName === undefined ? made : { ...made, changes };
      await other(tx, { event: "repository", repositoryId: what.repository.id, payload });
    },

    organizationCreated: (tx, organization, sender) =>
      other(tx, {
        event: "organization",
        repositoryId: undefined,
        payload: toOrganizationPayload("created", organization, sender, urls),
      }),

    async package(tx, action, what) {
      const payload = await toPackagePayload(tx, action, what, urls);
      await other(tx, { event: "package", repositoryId: what.linked?.repository.id, payload });
    },
  };
}

function fires(hook: ForgeHook, { event, ref, isWithoutCommits }: Announcement): boolean {
  if (!hook.events.includes(event)) return false;
  if (ref !== undefined && !passesBranchFilter(hook.branchFilter, ref)) return false;
  return !(isWithoutCommits === true && !plainKinds.has(hook.kind));
}
