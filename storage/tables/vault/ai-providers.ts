import type { Queries, Row, Transaction } from "../../engine/database.ts";

export type AiProviderId = "openai" | "anthropic" | "ollama" | "openai_compatible";

/** The stored configuration of an AI provider. */
export interface AiProviderRecord {
  readonly providerId: AiProviderId;
  /** Sealed; undefined where the provider needs no key. */
  readonly apiKey: string | undefined;
  readonly baseUrl: string;
  readonly modelName: string;
  readonly embeddingModelName: string | undefined;
  /** At most one provider is active. */
  readonly isActive: boolean;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** Returns all configured providers. */
export async function listAiProviders(db: Queries): Promise<AiProviderRecord[]> {
  const rows = await db.all(`SELECT ${COLUMNS} FROM vault_ai_providers ORDER BY provider_id`);
  return rows.map(toRecord);
}

/** Returns the active provider. */
export async function findActiveAiProvider(db: Queries): Promise<AiProviderRecord | undefined> {
  const row = await db.get(`SELECT ${COLUMNS} FROM vault_ai_providers WHERE is_active = 1`);
  return row && toRecord(row);
}

/** Stores a provider. If it is active, deactivates all others. */
export async function putAiProvider(
  tx: Transaction,
  provider: Omit<AiProviderRecord, "updatedAt">,
): Promise<void> {
  if (provider.isActive)
    await tx.run(
      "UPDATE vault_ai_providers SET is_active = 0 WHERE is_active = 1 AND provider_id <> ?",
      provider.providerId,
    );
  await tx.run(
    `INSERT INTO vault_ai_providers (provider_id, api_key, base_url, model_name, embedding_model_name, is_active, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (provider_id) DO UPDATE SET api_key = excluded.api_key, base_url = excluded.base_url,
       model_name = excluded.model_name, embedding_model_name = excluded.embedding_model_name,
       is_active = excluded.is_active, updated_at = excluded.updated_at`,
    provider.providerId,
    provider.apiKey ?? null,
    provider.baseUrl,
    provider.modelName,
    provider.embeddingModelName ?? null,
    Number(provider.isActive),
    tx.now,
  );
}

const COLUMNS =
  "provider_id, api_key, base_url, model_name, embedding_model_name, is_active, updated_at";

function toRecord(row: Row): AiProviderRecord {
  return {
    providerId: row["provider_id"] as AiProviderId,
    apiKey: (row["api_key"] as string | null) ?? undefined,
    baseUrl: row["base_url"] as string,
    modelName: row["model_name"] as string,
    embeddingModelName: (row["embedding_model_name"] as string | null) ?? undefined,
    isActive: Number(row["is_active"]) === 1,
    updatedAt: Number(row["updated_at"]),
  };
}
