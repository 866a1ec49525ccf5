import type { Queries, Transaction } from "../../engine/database.ts";
import { flag, now, optional, text, textId } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";

export type AiProviderId = "openai" | "anthropic" | "ollama" | "openai_compatible";

const aiProviders = defineTable("vault_ai_providers", {
  providerId: textId<AiProviderId>(),
  /** Sealed; undefined where the provider needs no key. */
  apiKey: optional(text()),
  baseUrl: text(),
  modelName: text(),
  embeddingModelName: optional(text()),
  /** At most one provider is active. */
  isActive: flag(),
  /** Epoch milliseconds. */
  updatedAt: now(),
});
/** The stored configuration of an AI provider. */
export type AiProviderRecord = RecordOf<typeof aiProviders>;

/** Returns all configured providers. */
export async function listAiProviders(db: Queries): Promise<AiProviderRecord[]> {
  return aiProviders.list(db, {}, { order: "provider_id" });
}

/** Returns the active provider. */
export async function findActiveAiProvider(db: Queries): Promise<AiProviderRecord | undefined> {
  return aiProviders.find(db, { isActive: true });
}

/** Stores a provider. If it is active, deactivates all others. */
export async function putAiProvider(
  tx: Transaction,
  provider: Omit<AiProviderRecord, "updatedAt">,
): Promise<void> {
  if (provider.isActive)
    await aiProviders.update(tx, sql`is_active = 1 AND provider_id <> ${provider.providerId}`, {
      isActive: false,
    });
  await aiProviders.upsert(
    tx,
    provider,
    "ON CONFLICT (provider_id) DO UPDATE SET api_key = excluded.api_key, base_url = excluded.base_url, model_name = excluded.model_name, embedding_model_name = excluded.embedding_model_name, is_active = excluded.is_active, updated_at = excluded.updated_at",
  );
}
