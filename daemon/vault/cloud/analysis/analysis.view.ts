import type { AnalysisSettings } from "../../../../storage/tables/vault/analysis-settings.ts";

export function toSettingsView(settings: AnalysisSettings) {
  return {
    byte_cache_limit_bytes: settings.byteCacheLimitBytes,
    auto_analyze: settings.autoAnalyze,
    max_analyze_bytes: settings.maxAnalyzeBytes,
  };
}

export function toPendingView(providerItemId: string) {
  return { provider_item_id: providerItemId, analysis_status: "pending" as const };
}
