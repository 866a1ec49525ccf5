import {
  findAnalysisSettings,
  putAnalysisSettings,
  type AnalysisSettings,
} from "../../../../storage/tables/vault/analysis-settings.ts";
import { markAnalysisPending } from "../../../../storage/tables/vault/item-analysis.ts";
import type { ByteCache } from "../../../../storage/cache/byte-cache.ts";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import type { JobQueue } from "../../../jobs/queue.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import { MAX_ANALYZE_BYTES, toAnalyzeJob } from "./analyze-job.ts";
import type { ItemPlace } from "../items/item-place.ts";
import type { CloudItems } from "../items/items.service.ts";

export type CloudAnalysis = ReturnType<typeof createAnalysis>;

export interface AnalysisDeps {
  readonly db: Database;
  readonly cache: Pick<ByteCache, "fit">;
  readonly jobs: Pick<JobQueue, "enqueue">;
  /** Byte cache of a user who has not set a limit. */
  readonly defaultCacheBytes: number;
}

/** The user's settings of the byte cache and the analysis, and requests for an analysis. */
export function createAnalysis(deps: AnalysisDeps, items: Pick<CloudItems, "get">) {
  const { db } = deps;

  async function readSettings(from: Queries, caller: VaultCaller): Promise<AnalysisSettings> {
    const userSettings = await findAnalysisSettings(from, caller.userId);
    return (
      userSettings ?? {
        byteCacheLimitBytes: deps.defaultCacheBytes,
        autoAnalyze: false,
        maxAnalyzeBytes: MAX_ANALYZE_BYTES,
      }
    );
  }

  return {
    getSettings: (caller: VaultCaller): Promise<AnalysisSettings> => readSettings(db, caller),

    /** A lower cache limit takes effect at once. */
    async updateSettings(
      caller: VaultCaller,
      changes: {
        readonly byte_cache_limit_bytes?: number | undefined;
        readonly auto_analyze?: boolean | undefined;
        readonly max_analyze_bytes?: number | undefined;
      },
    ): Promise<AnalysisSettings> {
      const { before, after } = await db.transaction(async (tx) => {
        const before = await readSettings(tx, caller);
        const after: AnalysisSettings = {
          byteCacheLimitBytes: changes.byte_cache_limit_bytes ?? before.byteCacheLimitBytes,
          autoAnalyze: changes.auto_analyze ?? before.autoAnalyze,
          maxAnalyzeBytes: changes.max_analyze_bytes ?? before.maxAnalyzeBytes,
        };
        await putAnalysisSettings(tx, caller.userId, after);
        return { before, after };
      });
      if (after.byteCacheLimitBytes < before.byteCacheLimitBytes)
        await deps.cache.fit(caller.userId);
      return after;
    },

    /** Queues the extraction of an item's text and its classification. */
    async analyze(caller: VaultCaller, place: ItemPlace): Promise<string> {
      const { item } = await items.get(caller, place);
      if (item.kind === "folder")
        throw new AppError("unprocessable", "A folder has no text to be analysed.");
      await db.transaction(async (tx) => {
        if (!(await markAnalysisPending(tx, item.id))) return;
        await deps.jobs.enqueue(tx, toAnalyzeJob(item.id, caller.userId));
      });
      return item.providerItemId;
    },
  };
}
