// daemon/forge/hooks: webhooks: their subscriptions to events, payloads, deliveries and the log of deliveries. Start
// here: the factory of this folder. hooks.service.ts manages hooks; other rooms of the forge call publisher.ts;
// payloads.view.ts creates bodies; delivery.ts sends them; chat-formats.ts formats messages for chat services.
import type { Database } from "../../../storage/engine/database.ts";
import type { Sealer } from "../../../storage/keys/keyring.ts";
import type { CronTask } from "../../jobs/cron-task.ts";
import type { Compute } from "../compute.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import type { PushSubscriber } from "../git/pushes.ts";
import { forgeTasks } from "../tasks.ts";
import type { ForgeUrls } from "../urls.ts";
import { type HookPublisher, createHookPublisher } from "./publisher.ts";
import { createDelivery } from "./delivery.ts";
import { createDeliveryLog, type DeliveryLog } from "./deliveries.service.ts";
import { createHooks, type Hooks } from "./hooks.service.ts";
import { createOwnerHooks, type OwnerHooks } from "./owner-hooks.service.ts";
import { createPushHooks } from "./pushes.ts";
import { createRepositoryHooks, type RepositoryHooks } from "./repository-hooks.service.ts";
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
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  /** Sends within the address policy. */
  readonly request: GuardedRequest;
  readonly urls: ForgeUrls;
  readonly compute: Compute;
  /** Called by jobs only. */
  readonly readPush: ReadPush;
}

/** The forge's hooks. */
export interface ForgeHooks {
  readonly hooks: Hooks;
  readonly log: DeliveryLog;
  readonly tasks: readonly CronTask[];
  readonly ofRepositories: RepositoryHooks;
  readonly ofOwners: OwnerHooks;
  /** Publishes events of other rooms, each inside the transaction of the change. */
  readonly publisher: HookPublisher;
  readonly pushSubscriber: PushSubscriber;
}

const DELIVERIES_KEPT_MS = 7 * 86_400_000;

export function createForgeHooks(deps: ForgeHooksDeps): ForgeHooks {
  const targets = createTargets(deps.sealer);
  const { enqueue } = deps.jobs;
  const publisher = createHookPublisher({ ...deps, enqueue });
  const pushes = createPushHooks({ ...deps, publisher });
  const hooks = createHooks({ db: deps.db, targets });
  deps.jobs.register(createDelivery({ ...deps, enqueue, targets }));
  const log = createDeliveryLog({ db: deps.db, enqueue, newUuid: deps.newUuid });
  return {
    hooks,
    log,
    tasks: [
      {
        ...forgeTasks.cleanup_hook_task_table,
        run: async () => void (await log.prune(deps.clock() - DELIVERIES_KEPT_MS)),
      },
    ],
    ofRepositories: createRepositoryHooks({
      ...deps,
      hooks,
      enqueue,
      describeHead: pushes.describeHead,
    }),
    ofOwners: createOwnerHooks(deps),
    publisher,
    pushSubscriber: pushes.pushSubscriber,
  };
}
