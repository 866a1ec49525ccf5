import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import { SealError, type Sealer } from "../../../storage/keys/keyring.ts";
import {
  type AiProviderId,
  type AiProviderRecord,
  findActiveAiProvider,
  listAiProviders,
  putAiProvider,
} from "../../../storage/tables/vault/ai-providers.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import { toFieldError } from "../cloud/field-error.ts";
import { openApiKey, sealApiKey } from "./api-keys.ts";
import { providerApis } from "./provider-apis.ts";
import type { AiClient, AiFailure, AiProvider } from "./provider-client.ts";

export type AiConfig = ReturnType<typeof createAiConfig>;

/** Values of a provider; undefined ones stay as they are stored. */
export interface ProviderChanges {
  readonly providerId: AiProviderId;
  /** Null deletes the stored key. */
  readonly apiKey: string | null | undefined;
  readonly baseUrl: string | undefined;
  readonly modelName: string | undefined;
  /** Null: no embeddings. */
  readonly embeddingModelName: string | null | undefined;
}

export type AiTestResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: AiFailure; readonly message: string };

/** A provider with all its values, the key in plain text. */
type WholeProvider = AiProvider & { readonly embeddingModelName: string | undefined };

export interface AiConfigDeps {
  readonly db: Database;
  readonly keys: Sealer;
  readonly client: AiClient;
  /** Called in the transaction that changes which embeddings the active provider makes. */
  readonly onEmbeddingsChanged: (tx: Transaction) => Promise<void>;
}

/** The fields that decide which embeddings the active provider makes, and whether it makes any. */
const EMBEDDING_FIELDS: ReadonlySet<string> = new Set([
  "api_key",
  "base_url",
  "embedding_model_name",
  "is_active",
]);

/** The AI configuration: one entry a provider, at most one of them active. */
export function createAiConfig({ db, keys, client, onEmbeddingsChanged }: AiConfigDeps) {
  return {
    list: (): Promise<readonly AiProviderRecord[]> => listAiProviders(db),

    /** Returns the active provider with its key. Throws `provider_failed` when the key cannot be unsealed. */
    async findActive(): Promise<
      (AiProvider & { readonly embeddingModelName: string | undefined }) | undefined
    > {
      const active = await findActiveAiProvider(db);
      return active && toProvider(active);
    },

    /**
     * Stores a provider. If it becomes active, the same transaction deactivates the previous one. Throws
     * `unprocessable` when a value is missing that the provider needs.
     */
    set: (
      caller: VaultCaller,
      { isActive, ...changes }: ProviderChanges & { readonly isActive: boolean },
    ): Promise<readonly AiProviderRecord[]> =>
      db.transaction(async (tx) => {
        const stored = await findStored(tx, changes.providerId);
        const provider = merge(stored, changes);
        const changedFields = listChanges(stored, provider, changes, isActive);
        if (changedFields.length > 0) {
          const { providerId, apiKey, ...values } = provider;
          const sealed = apiKey === undefined ? undefined : sealApiKey(keys, providerId, apiKey);
          await putAiProvider(tx, { providerId, apiKey: sealed, ...values, isActive });
          await insertAudit(tx, {
            eventType: "admin.ai_config_changed",
            actorId: caller.userId,
            resourceId: providerId,
            ipAddress: caller.address,
            metadata: { changed_fields: changedFields },
          });
          if (changedFields.some((field) => EMBEDDING_FIELDS.has(field)))
            await onEmbeddingsChanged(tx);
        }
        return listAiProviders(tx);
      }),

    /** Throws `not_found` for a provider that is not configured, `provider_failed` when it does not answer well. */
    async listModels(providerId: AiProviderId): Promise<readonly string[]> {
      const stored = await findStored(db, providerId);
      if (stored === undefined) throw new AppError("not_found", "This provider is not configured");
      const outcome = await client.listModels(toProvider(stored));
      if (outcome.kind === "answered") return outcome.value.toSorted();
      const isAway = outcome.code === "unreachable" || outcome.code === "timeout";
      throw new AppError(
        isAway ? "unavailable" : "provider_failed",
        `The models cannot be listed: ${outcome.message}.`,
      );
    },

    /** Tries a configuration without storing it. */
    async test(changes: ProviderChanges): Promise<AiTestResult> {
      const provider = merge(await findStored(db, changes.providerId), changes);
      const outcome = await client.listModels(provider);
      if (outcome.kind === "failed")
        return { ok: false, code: outcome.code, message: `The test failed: ${outcome.message}.` };
      const configuredModels = [
        provider.modelName,
        provider.embeddingModelName ?? provider.modelName,
      ];
      const missing = configuredModels.find((model) => !isOffered(model, outcome.value));
      if (missing === undefined) return { ok: true };
      return {
        ok: false,
        code: "model_not_found",
        message: `The provider answers, but does not offer the model ${JSON.stringify(missing)}.`,
      };
    },
  };

  function toProvider(stored: AiProviderRecord): WholeProvider {
    const { providerId, apiKey, baseUrl, modelName, embeddingModelName } = stored;
    return {
      providerId,
      baseUrl,
      modelName,
      embeddingModelName,
      apiKey: apiKey === undefined ? undefined : unseal(providerId, apiKey),
    };
  }

  function unseal(providerId: AiProviderId, sealed: string): string {
    try {
      return openApiKey(keys, providerId, sealed);
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      throw new AppError("provider_failed", "The stored API key cannot be read. Set it again.", {
        cause: error,
      });
    }
  }

  function merge(stored: AiProviderRecord | undefined, changes: ProviderChanges): WholeProvider {
    const { providerId } = changes;
    const api = providerApis[providerId];
    const baseUrl = changes.baseUrl ?? stored?.baseUrl ?? api.defaultBaseUrl;
    if (baseUrl === undefined) throw missing("base_url", "This provider needs a base_url");
    const modelName = changes.modelName ?? stored?.modelName;
    if (modelName === undefined) throw missing("model_name", "This provider needs a model_name");
    // A stored key is sent only to the server for which it was given.
    const isMoved = stored !== undefined && originOf(stored.baseUrl) !== originOf(baseUrl);
    if (isMoved && stored.apiKey !== undefined && changes.apiKey === undefined)
      throw missing("api_key", "Give the api_key again: base_url is another server");
    const apiKey =
      changes.apiKey === undefined
        ? stored && toProvider(stored).apiKey
        : (changes.apiKey ?? undefined);
    if (api.needsApiKey && apiKey === undefined)
      throw missing("api_key", "This provider needs an api_key");
    const embeddingModelName =
      changes.embeddingModelName === undefined
        ? stored?.embeddingModelName
        : (changes.embeddingModelName ?? undefined);
    if (embeddingModelName !== undefined && providerId === "anthropic")
      throw toFieldError(
        ["body", "embedding_model_name"],
        "This provider offers no embeddings",
        "value_error",
      );
    return { providerId, baseUrl, modelName, apiKey, embeddingModelName };
  }
}

async function findStored(
  db: Queries,
  providerId: AiProviderId,
): Promise<AiProviderRecord | undefined> {
  return (await listAiProviders(db)).find((provider) => provider.providerId === providerId);
}

/** Returns the names of the fields that a change touches, in the words of the API. */
function listChanges(
  stored: AiProviderRecord | undefined,
  next: WholeProvider,
  { apiKey }: ProviderChanges,
  isActive: boolean,
): string[] {
  const changes = {
    api_key: apiKey === undefined || (apiKey === null && stored?.apiKey === undefined) ? 0 : 1,
    base_url: stored?.baseUrl === next.baseUrl ? 0 : 1,
    model_name: stored?.modelName === next.modelName ? 0 : 1,
    embedding_model_name: stored?.embeddingModelName === next.embeddingModelName ? 0 : 1,
    is_active: (stored?.isActive ?? false) === isActive ? 0 : 1,
  };
  return Object.entries(changes).flatMap(([name, isChanged]) => (isChanged === 1 ? [name] : []));
}

/** Ollama lists `llama3.2:latest` for a model that is called `llama3.2`. */
function isOffered(model: string, offered: readonly string[]): boolean {
  return offered.includes(model) || offered.includes(`${model}:latest`);
}

function originOf(url: string): string {
  return new URL(url).origin;
}

function missing(field: string, message: string): AppError {
  return toFieldError(["body", field], message, "missing");
}
