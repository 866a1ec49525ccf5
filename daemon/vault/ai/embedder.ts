import type { AiConfig } from "./ai-config.service.ts";
import { providerApis } from "./provider-apis.ts";
import type { AiClient, AiFailure, AiProvider } from "./provider-client.ts";

/** A model that makes embeddings. */
export interface EmbeddingModel {
  readonly provider: AiProvider;
  /** Identifies the model: vectors of different models cannot be compared. */
  readonly identity: string;
}

export type Embeddings =
  | { readonly kind: "embedded"; readonly vectors: readonly Float32Array[] }
  | {
      readonly kind: "failed";
      readonly code: AiFailure;
      readonly message: string;
      /** The pause that the provider requested, by `Retry-After`. */
      readonly retryAfterMs?: number | undefined;
    };

export type Embedder = ReturnType<typeof createEmbedder>;

const DIMENSIONS_MAX = 4096;

/** Makes embeddings with the active AI provider. */
export function createEmbedder({
  config,
  client,
}: {
  readonly config: Pick<AiConfig, "findActive">;
  readonly client: Pick<AiClient, "embed">;
}) {
  return {
    /**
     * Returns the model of the active provider; undefined when no provider is active, or the active one has no embedding
     * model. Throws `provider_failed` when the key of the provider cannot be unsealed.
     */
    async findModel(): Promise<EmbeddingModel | undefined> {
      const active = await config.findActive();
      const modelName = active?.embeddingModelName;
      if (active === undefined || modelName === undefined) return undefined;
      if (providerApis[active.providerId].embeddings === undefined) return undefined;
      const identity = JSON.stringify([active.providerId, active.baseUrl, modelName]);
      return { provider: { ...active, modelName }, identity };
    },

    /** Returns one vector of length one for each text, all of one dimension. Never throws because of a provider. */
    async embed(
      { provider }: EmbeddingModel,
      texts: readonly string[],
      signal?: AbortSignal,
    ): Promise<Embeddings> {
      const outcome = await client.embed(provider, texts, signal);
      if (outcome.kind === "failed") {
        const { code, message, retryAfterMs } = outcome;
        return { kind: "failed", code, message, retryAfterMs };
      }
      const [first] = outcome.value;
      const isValid =
        outcome.value.length === texts.length &&
        first !== undefined &&
        first.length > 0 &&
        first.length <= DIMENSIONS_MAX &&
        outcome.value.every((vector) => vector.length === first.length);
      if (!isValid) return invalid;
      const vectors = outcome.value.map(normalize);
      return vectors.every((vector) => vector !== undefined)
        ? { kind: "embedded", vectors }
        : invalid;
    },
  };
}

const invalid: Embeddings = {
  kind: "failed",
  code: "invalid_answer",
  message: "the answer is not one vector for each text, all of one dimension and none of zeros",
};

/** Scales a vector to length one; undefined for a vector without a direction. */
function normalize(values: readonly number[]): Float32Array | undefined {
  const length = Math.hypot(...values);
  if (!Number.isFinite(length) || length === 0) return undefined;
  return Float32Array.from(values, (value) => value / length);
}
