// daemon/vault/ai: providers of language models: their HTTP APIs, the configuration, the choice of a topic.
// Start here: the wiring of the room; then provider-apis.ts.
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import type { Log } from "../../utilities/logging.ts";
import type { VaultFeature } from "../feature.ts";
import { type AiConfigDeps, createAiConfig } from "./ai-config.service.ts";
import { aiRoutes } from "./ai.routes.ts";
import { createEmbedder } from "./embedder.ts";
import { createModelClassifier } from "./model-classifier.ts";
import { createAiClient } from "./provider-client.ts";

export interface VaultAiDeps extends Omit<AiConfigDeps, "client"> {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Sends within the address policy. */
  readonly request: GuardedRequest;
  readonly log: Pick<Log, "warn">;
}

/** The providers of language models. */
export function createVaultAi(deps: VaultAiDeps) {
  const client = createAiClient(deps);
  const config = createAiConfig({ ...deps, client });
  return {
    services: {
      embedder: createEmbedder({ config, client }),
      model: createModelClassifier({ ...deps, config, client }),
    },
    routes: aiRoutes(config),
  } satisfies VaultFeature;
}
