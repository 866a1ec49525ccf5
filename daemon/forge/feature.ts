import type { Feature } from "../feature.ts";
import type { Route } from "../http/handle.ts";
import type { ForgeCaller } from "./caller.ts";
import type { Subscribers } from "./events.ts";
import type { PushSubscriber } from "./push-subscriber.ts";

/** What a feature adds to the forge. `routes` are below `/api/v1`. */
export interface ForgeFeature extends Feature<ForgeCaller> {
  /** Below `/api/packages`. */
  readonly registryRoutes?: readonly Route[];
  /** Beside the git protocol, below `/:owner/:repo`. */
  readonly gitRoutes?: readonly Route[];
  readonly subscribers?: readonly Subscribers[];
  readonly pushSubscribers?: readonly PushSubscriber[];
}
