import type { Database, Queries } from "../../../storage/engine/database.ts";
import {
  deleteDeliveriesBefore,
  type DeliveryState,
  findDelivery,
  type HookDelivery,
  type HookDeliveryDetails,
  insertDelivery,
  insertPayload,
  listDeliveries,
} from "../../../storage/tables/forge/hooks/deliveries.ts";
import type { DeliveryId, HookId } from "../../../storage/tables/forge/ids.ts";
import {
  DELETED_HOOKS_JOB,
  deleteOrphanedHooks,
  deleteSomeOfDeletedHooks,
} from "../../../storage/tables/forge/hooks/hooks.ts";
import { deliveryStates } from "../../contract/forge/hooks/admin-hooks.ts";
import type { ScopeCategory } from "../../contract/endpoint.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { assertTokenScope } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { enqueueDelivery } from "./delivery.ts";
import { getHook, type HookHome, type OpenHome } from "./hooks.service.ts";

export type DeliveryLog = ReturnType<typeof createDeliveryLog>;

export interface DeliveryPath {
  readonly home: HookHome;
  readonly hookId: HookId;
  readonly id: DeliveryId;
}

/** Deliveries, with their payloads, that are deleted while other requests wait. */
const DELETED_PER_TRANSACTION = 200;
/** Time limit of the deletion of all deliveries of deleted hooks: it continues after another attempt. */
const DELETION_MS = 3_600_000;

/**
 * The log of deliveries. Callers who may read a hook may read its deliveries, so `home` and the refusals are those of
 * `Hooks.get`. Payloads also need a token with the scope of the event's category: `repository` for a push, `issue` for
 * an issue.
 */
export function createDeliveryLog({
  db,
  enqueue,
  newUuid,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
}) {
  return {
    /** Returns a page of a hook's deliveries, newest first, and the count of all. An unknown state is ignored. */
    async list(
      home: HookHome,
      hookId: HookId,
      { state, ...window }: PageWindow & { readonly state: string },
    ): Promise<{ readonly deliveries: readonly HookDelivery[]; readonly total: number }> {
      await getHook(db, home, hookId);
      return listDeliveries(db, hookId, toState(state), toRows(window));
    },

    /** Returns a delivery. Throws `not_found`, and `forbidden` if the token does not grant reading its payload. */
    get: (path: DeliveryPath, caller: Pick<ForgeCaller, "scope">): Promise<HookDeliveryDetails> =>
      get(db, path, "read", caller),

    /**
     * Delivers the same payload again, even if the hook is inactive, and returns the new delivery. Throws as `get` does,
     * for writing.
     */
    redeliver: (
      openHome: OpenHome,
      at: Omit<DeliveryPath, "home">,
      caller: Pick<ForgeCaller, "scope">,
    ): Promise<HookDelivery> =>
      db.transaction(async (tx) => {
        const path = { home: await openHome(tx), ...at };
        const { hookId, event, ...found } = await get(tx, path, "write", caller);
        const payloadId = found.payloadId ?? (await insertPayload(tx, found.payload));
        const copy = { hookId, uuid: newUuid(), event, payloadId, isRedelivery: true };
        const id = await insertDelivery(tx, copy);
        await enqueueDelivery(enqueue, tx, id);
        return getDelivery(tx, hookId, id);
      }),

    /** Deletes finished deliveries made before a time, and hooks whose repository was deleted. Returns how many. */
    async prune(before: number, signal?: AbortSignal): Promise<number> {
      let pruned = 0;
      let deleted = DELETED_PER_TRANSACTION;
      while (deleted === DELETED_PER_TRANSACTION && signal?.aborted !== true) {
        deleted = await db.transaction((tx) =>
          deleteDeliveriesBefore(tx, before, DELETED_PER_TRANSACTION),
        );
        pruned += deleted;
      }
      return pruned + (await db.transaction(deleteOrphanedHooks));
    },

    /** The job that deletes the deliveries of deleted hooks, and then their rows. Register it with the queue. */
    deletionJob: {
      kind: DELETED_HOOKS_JOB,
      timeoutMs: DELETION_MS,
      async run(_payload, { signal }) {
        const deleteSome = () =>
          db.transaction((tx) => deleteSomeOfDeletedHooks(tx, DELETED_PER_TRANSACTION));
        while (await deleteSome()) signal.throwIfAborted();
      },
    } satisfies JobKind as JobKind,
  };
}

async function get(
  db: Queries,
  { home, hookId, id }: DeliveryPath,
  level: "read" | "write",
  caller: Pick<ForgeCaller, "scope">,
): Promise<HookDeliveryDetails> {
  await getHook(db, home, hookId);
  const delivery = await getDelivery(db, hookId, id);
  assertTokenScope(caller.scope, level, toScopeCategory(delivery.event));
  return delivery;
}

async function getDelivery(
  db: Queries,
  hookId: HookId,
  id: DeliveryId,
): Promise<HookDeliveryDetails> {
  const delivery = await findDelivery(db, id);
  if (delivery === undefined || delivery.hookId !== hookId) throw notFound();
  return delivery;
}

/** Returns the scope category that a token needs to read the payload of an event. */
function toScopeCategory(event: string): ScopeCategory {
  if (event === "organization" || event === "package") return event;
  return /^issue(?:s$|_)/.test(event) ? "issue" : "repository";
}

function toState(word: string): DeliveryState | undefined {
  return deliveryStates.find((state) => state === word);
}
