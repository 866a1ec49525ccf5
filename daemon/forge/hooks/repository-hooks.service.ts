import type { Database, Queries } from "../../../storage/engine/database.ts";
import { insertDelivery } from "../../../storage/tables/forge/hooks/deliveries.ts";
import type { HookPlace } from "../../../storage/tables/forge/hooks/hooks.ts";
import type { HookId } from "../../../storage/tables/forge/ids.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import { assertScope, findAccess, reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../events.ts";
import {
  getOwned,
  noAdministrator,
  type RepositoryPath,
} from "../repositories/repositories.service.ts";
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

/** Access to the hooks of repositories, and test deliveries. */
export function createRepositoryHooks(deps: RepositoryHooksDeps) {
  const { db, hooks, enqueue, newUuid, describeHead } = deps;
  return {
    /**
     * Returns the home of the hooks of a repository if the caller administers it. Throws `not_found` if the caller may not see
     * it, `forbidden` if the caller does not administer it or the token does not grant it.
     * @param rest the part of the address after the repository, for redirects from a former name
     * @param queries the transaction of a change
     */
    open: async (
      path: RepositoryPath,
      caller: ForgeCaller,
      rest: string,
      queries?: Queries,
    ): Promise<HookPlace> => toHome(await open(path, caller, rest, queries)),

    /**
     * Sends a test delivery: a push of a branch's latest commit, even if the hook is inactive or does not select pushes.
     * An empty `ref` is the default branch. An empty repository has no delivery. Throws `not_found` for an unknown ref.
     */
    async test(
      path: RepositoryPath & { readonly id: HookId },
      requestedRef: string,
      caller: ForgeCaller,
    ): Promise<void> {
      const owned = await open(path, caller, `/hooks/${path.id}/tests`);
      const { hook } = await hooks.get(toHome(owned), path.id);
      const ref = toRef(requestedRef.trim(), owned);
      const payload = ref && (await describeHead(owned, ref, caller.user));
      if (payload === undefined) {
        if (requestedRef.trim() !== "") throw notFound();
        return;
      }
      await db.transaction(async (tx) => {
        const current = await open(path, caller, `/hooks/${path.id}/tests`, tx);
        await getHook(tx, toHome(current), hook.id);
        const id = await insertDelivery(tx, {
          hookId: hook.id,
          uuid: newUuid(),
          event: "push",
          payload: JSON.stringify(payload, undefined, 2),
          // A person requested it, so it is sent even if the hook is not active.
          isRedelivery: true,
        });
        await enqueueDelivery(enqueue, tx, id);
      });
    },
  };

  async function open(
    path: RepositoryPath,
    caller: ForgeCaller,
    rest: string,
    queries: Queries = db,
  ): Promise<OwnedRepository> {
    const owned = await getOwned(
      queries,
      path,
      caller.user,
      (current) => `/api/v1/repos/${current.owner}/${current.repo}${rest}`,
    );
    const access = await findAccess(queries, owned, caller.user, "any");
    if (!reaches(access, "read")) throw notFound();
    assertScope(caller.scope, "read", owned);
    if (!reaches(access, "admin")) throw noAdministrator();
    return owned;
  }
}

const toHome = ({ repository }: OwnedRepository): HookPlace => ({
  kind: "repository",
  id: repository.id,
});

/** Returns a full ref name; undefined for an invalid name. */
function toRef(requestedRef: string, { repository }: OwnedRepository): string | undefined {
  const name = requestedRef === "" ? repository.defaultBranch : requestedRef;
  if (!isRefName(name)) return undefined;
  return name.startsWith("refs/") ? name : `refs/heads/${name}`;
}
