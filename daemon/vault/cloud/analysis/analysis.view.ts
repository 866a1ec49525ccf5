import type { AnalysisSettings } from "../../../../storage/tables/vault/analysis-settings.ts";

export function toSettingsReply(settings: AnalysisSettings) {
  return {
    status: 200,
    body: {
      byte_cache_limit_bytes: settings.byteCacheLimitBytes,
      auto_analyze: settings.autoAnalyze,
      max_analyze_bytes: settings.maxAnalyzeBytes,
    },
  } as const;
}

export function toAnalyzeReply(providerItemId: string) {
  return {
    status: 202,
    body: { provider_item_id: providerItemId, analysis_status: "pending" },
  } as const;
}
