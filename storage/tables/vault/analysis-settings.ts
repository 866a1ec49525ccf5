import type { Queries } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";

/** A user's settings for the cache and for the analysis of items. */
export interface AnalysisSettings {
  readonly byteCacheLimitBytes: number;
  readonly autoAnalyze: boolean;
  readonly maxAnalyzeBytes: number;
}

/** Returns a user's settings; undefined before the first change. */
export async function findAnalysisSettings(
  db: Queries,
  userId: AccountId,
): Promise<AnalysisSettings | undefined> {
  const row = await db.get<{
    byte_cache_limit_bytes: number;
    auto_analyze: number;
    max_analyze_bytes: number;
  }>(
    `SELECT byte_cache_limit_bytes, auto_analyze, max_analyze_bytes
     FROM vault_analysis_settings WHERE user_id = ?`,
    userId,
  );
  return (
    row && {
      byteCacheLimitBytes: row.byte_cache_limit_bytes,
      autoAnalyze: row.auto_analyze === 1,
      maxAnalyzeBytes: row.max_analyze_bytes,
    }
  );
}

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
  await db.run(
    `INSERT INTO vault_analysis_settings (user_id, byte_cache_limit_bytes, auto_analyze, max_analyze_bytes)
     VALUES (?, ?, ?, ?)
     ON CONFLICT (user_id) DO UPDATE SET
       byte_cache_limit_bytes = excluded.byte_cache_limit_bytes,
       auto_analyze = excluded.auto_analyze, max_analyze_bytes = excluded.max_analyze_bytes`,
    userId,
    settings.byteCacheLimitBytes,
    Number(settings.autoAnalyze),
    settings.maxAnalyzeBytes,
  );
}
