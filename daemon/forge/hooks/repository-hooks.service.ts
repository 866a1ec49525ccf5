import type { Database } from "../../../storage/engine/database.ts";
import { insertDelivery, insertPayload } from "../../../storage/tables/forge/hooks/deliveries.ts";
import type { HookId } from "../../../storage/tables/forge/ids.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import type { GrantedRepository } from "../opened.ts";
import { toPlaceId } from "../organizations/places.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { OwnedRepository } from "../events.ts";
import { enqueueDelivery } from "./delivery.ts";
import type { DescribeHead } from "./pushes.ts";
import { getHook, type Hooks } from "./hooks.service.ts";

export type RepositoryHooks = ReturnType<typeof createRepositoryHooks>;

export interface RepositoryHooksDeps {
  readonly db: Database;
  readonly hooks: Hooks;
  readonly enqueue: Enqueue;
  readonly newUuid: () => string;
  readonly describeHead: DescribeHead;
}

/** Test deliveries of the hooks of repositories. */
export function createRepositoryHooks(deps: RepositoryHooksDeps) {
  const { db, hooks, enqueue, newUuid, describeHead } = deps;
  return {
    /**
     * Sends a test delivery: a push of a branch's latest commit, even if the hook is inactive or does not select pushes.
     * An empty `ref` is the default branch. An empty repository has no delivery. Throws `not_found` for an unknown ref.
     */
    async test(
      opened: GrantedRepository,
      { id, ref: requestedRef }: { readonly id: HookId; readonly ref: string },
      { user }: ForgeCaller,
    ): Promise<void> {
      const { hook } = await hooks.get(toPlaceId(opened), id);
      const ref = toRef(requestedRef.trim(), opened);
      const payload = ref && (await describeHead(opened, ref, user));
      if (payload === undefined) {
        if (requestedRef.trim() !== "") throw notFound();
        return;
      }
      await db.transaction(async (tx) => {
        await getHook(tx, toPlaceId(await reopenRepository(tx, opened)), hook.id);
        const deliveryId = await insertDelivery(tx, {
          hookId: hook.id,
          uuid: newUuid(),
          event: "push",
          payloadId: await insertPayload(tx, JSON.stringify(payload, undefined, 2)),
          // A person requested it, so it is sent even if the hook is not active.
          isRedelivery: true,
        });
        await enqueueDelivery(enqueue, tx, deliveryId);
      });
    },
  };
}

/** Returns a full ref name; undefined for an invalid name. */
function toRef(requestedRef: string, { repository }: OwnedRepository): string | undefined {
  const name = requestedRef === "" ? repository.defaultBranch : requestedRef;
  if (!isRefName(name)) return undefined;
  return name.startsWith("refs/") ? name : `refs/heads/${name}`;
}
