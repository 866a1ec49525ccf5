// daemon/forge/hooks: webhooks: their subscriptions to events, payloads, deliveries and the log of deliveries. Start
// here: the factory of this folder. hooks.service.ts manages hooks; other rooms of the forge call publisher.ts;
// payloads.view.ts creates bodies; delivery.ts sends them; chat-formats.ts formats messages for chat services.
import type { Database } from "../../../storage/engine/database.ts";
import type { Sealer } from "../../../storage/keys/keyring.ts";
import type { Compute } from "../compute.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import type { ForgeFeature } from "../feature.ts";
import { forgeTasks } from "../tasks.ts";
import type { ForgeUrls } from "../urls.ts";
import { createHookPublisher } from "./publisher.ts";
import { createDelivery } from "./delivery.ts";
import { createDeliveryLog } from "./deliveries.service.ts";
import { hookRoutes } from "./hooks.routes.ts";
import { createHooks } from "./hooks.service.ts";
import { createPushHooks } from "./pushes.ts";
import { createRepositoryHooks } from "./repository-hooks.service.ts";
import { createTargets } from "./targets.ts";

export interface ForgeHooksDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** From 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
  /** A random UUID of version 4. */
  readonly newUuid: () => string;
  readonly sealer: Sealer;
  readonly enqueue: Enqueue;
  /** Sends within the address policy. */
  readonly request: GuardedRequest;
  readonly urls: ForgeUrls;
  readonly compute: Compute;
  /** Called by jobs only. */
  readonly readPush: ReadPush;
}

const DELIVERIES_KEPT_MS = 7 * 86_400_000;

/** The forge's hooks. */
export function createForgeHooks(deps: ForgeHooksDeps) {
  const { db, clock, enqueue } = deps;
  const targets = createTargets(deps.sealer);
  const publisher = createHookPublisher(deps);
  const { describeHead, pushSubscriber } = createPushHooks({ ...deps, publisher });
  const hooks = createHooks({ db, targets });
  const log = createDeliveryLog({ db, enqueue, newUuid: deps.newUuid });
  const ofRepositories = createRepositoryHooks({ ...deps, hooks, describeHead });
  return {
    services: {
      hooks,
      /** Publishes events of other rooms, each inside the transaction of the change. */
      publisher,
      log,
    },
    routes: [...hookRoutes({ hooks, log, ofRepositories })],
    jobs: [createDelivery({ ...deps, targets }), log.deletionJob],
    tasks: [
      {
        ...forgeTasks.cleanup_hook_task_table,
        run: async (signal?: AbortSignal) =>
          void (await log.prune(clock() - DELIVERIES_KEPT_MS, signal)),
      },
    ],
    pushSubscribers: [pushSubscriber],
  } satisfies ForgeFeature;
}
