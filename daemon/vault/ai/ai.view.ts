import type { z } from "zod";
import { type aiConfig, aiProviderIds } from "../../contract/vault/ai-config.ts";
import type { AiProviderRecord } from "../../../storage/tables/vault/ai-providers.ts";

/** The AI configuration on the wire: every provider that croft knows, without keys. */
export function toConfigView(stored: readonly AiProviderRecord[]): z.output<typeof aiConfig> {
  return {
    active_provider_id: stored.find(({ isActive }) => isActive)?.providerId ?? null,
    providers: aiProviderIds.map((id) => {
      const found = stored.find(({ providerId }) => providerId === id);
      return {
        provider_id: id,
        is_configured: found !== undefined,
        is_active: found?.isActive ?? false,
        has_api_key: found?.apiKey !== undefined,
        base_url: found?.baseUrl ?? null,
        model_name: found?.modelName ?? null,
        embedding_model_name: found?.embeddingModelName ?? null,
        updated_at: found === undefined ? null : new Date(found.updatedAt).toISOString(),
      };
    }),
  };
}
