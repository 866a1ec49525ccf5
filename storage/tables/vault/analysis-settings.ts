import type { Queries } from "../../engine/database.ts";
import { flag, integer, textId, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import type { AccountId } from "./ids.ts";

const analysisSettings = defineTable("vault_analysis_settings", {
  userId: unread(textId<AccountId>()),
  byteCacheLimitBytes: integer(),
  autoAnalyze: flag(),
  maxAnalyzeBytes: integer(),
});
/** A user's settings for the cache and for the analysis of items. */
export type AnalysisSettings = RecordOf<typeof analysisSettings>;

/** Returns a user's settings; undefined before the first change. */
export const findAnalysisSettings = (
  db: Queries,
  userId: AccountId,
): Promise<AnalysisSettings | undefined> => analysisSettings.find(db, { userId });

/** Returns the limit of a user's cache in bytes: the user's setting, else the server's default. */
export async function getCacheLimit(
  db: Queries,
  userId: AccountId,
  byDefault: number,
): Promise<number> {
  return (await findAnalysisSettings(db, userId))?.byteCacheLimitBytes ?? byDefault;
}

/** Replaces a user's settings. */
export async function putAnalysisSettings(
  db: Queries,
  userId: AccountId,
  settings: AnalysisSettings,
): Promise<void> {
  await analysisSettings.upsert(
    db,
    { ...settings, userId },
    `ON CONFLICT (user_id) DO UPDATE SET
       byte_cache_limit_bytes = excluded.byte_cache_limit_bytes,
       auto_analyze = excluded.auto_analyze, max_analyze_bytes = excluded.max_analyze_bytes`,
  );
}
