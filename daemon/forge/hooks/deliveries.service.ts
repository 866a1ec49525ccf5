import type { Database } from "../../../storage/engine/database.ts";
import {
  deleteDeliveriesBefore,
  type DeliveryState,
  findDelivery,
  type HookDelivery,
  type HookDeliveryDetails,
  insertDelivery,
  listDeliveries,
} from "../../../storage/tables/forge/hooks/deliveries.ts";
import { deleteOrphanedHooks, findHook } from "../../../storage/tables/forge/hooks/hooks.ts";
import { deliveryStates } from "../../contract/forge/hooks/admin-hooks.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { enqueueDelivery } from "./delivery.ts";

/** What hooks delivered, for operators: also that of the copies in repositories. */
export interface DeliveryLog {
  /** A page of a hook's deliveries, newest first, and the count of all; an unknown state is no filter. Refuses with `not_found`. */
  list(
    hookId: number,
    wanted: PageWindow & { readonly state: string },
  ): Promise<{ readonly deliveries: readonly HookDelivery[]; readonly total: number }>;
  /** Refuses with `not_found`, also for a delivery of another hook. */
  get(hookId: number, id: number): Promise<HookDeliveryDetails>;
  /** Has the same payload delivered once more, whether the hook is active or not. Refuses as `get` does. */
  redeliver(hookId: number, id: number): Promise<HookDelivery>;
  /** Forgets what was delivered or given up before a time, and copies of hooks whose repository is gone. */
  prune(before: number): Promise<number>;
}

export function createDeliveryLog({
  db,
  enqueue,
  newUuid,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
}): DeliveryLog {
  const get: DeliveryLog["get"] = async (hookId, id) => {
    const delivery = await findDelivery(db, id);
    if (delivery === undefined || delivery.hookId !== hookId) throw notFound();
    return delivery;
  };
  return {
    async list(hookId, { state, ...window }) {
      if ((await findHook(db, hookId)) === undefined) throw notFound();
      return listDeliveries(db, hookId, toState(state), toRows(window));
    },

    get,

    async redeliver(hookId, id) {
      const { event, payload } = await get(hookId, id);
      const uuid = newUuid();
      const made = await db.transaction(async (tx) => {
        if ((await findHook(tx, hookId)) === undefined) throw notFound();
        const newId = await insertDelivery(tx, {
          hookId,
          uuid,
          event,
          payload,
          isRedelivery: true,
        });
        await enqueueDelivery(enqueue, tx, newId);
        return newId;
      });
      return get(hookId, made);
    },

    async prune(before) {
      const pruned = await db.transaction((tx) => deleteDeliveriesBefore(tx, before));
      return pruned + (await deleteOrphanedHooks(db));
    },
  };
}

function toState(word: string): DeliveryState | undefined {
  return deliveryStates.find((state) => state === word);
}
