import { z } from "zod";
import type { Database } from "../../../storage/engine/database.ts";
import { findAnalysisSettings } from "../../../storage/tables/vault/analysis-settings.ts";
import {
  putItemAnalysis,
  putUnreadable,
  setAnalysisStatus,
} from "../../../storage/tables/vault/item-analysis.ts";
import { type CloudItem, findLiveItemByRow } from "../../../storage/tables/vault/items.ts";
import { setIndexStatus } from "../../../storage/tables/vault/passages.ts";
import {
  deleteSearchEntryOfItem,
  putSearchEntry,
} from "../../../storage/tables/vault/search-entries.ts";
import { type JobContext, type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import { ANALYZE_JOB, MAX_ANALYZE_BYTES } from "../cloud/analysis/analyze-job.ts";
import type { CloudBytes } from "../cloud/bytes/bytes.service.ts";
import type { SemanticIndex } from "../search/semantic-index.ts";
import { PROCESSED_AT_ONCE } from "./document-processing.ts";
import type { Extraction, UnreadableReason } from "./extraction/outcome.ts";
import { EXTRACT_BYTES_MAX, type TextExtractor } from "./text-extractor.ts";
import type { TopicChooser } from "./topic-chooser.ts";

const payloadSchema = z.object({ item_id: z.string() });

const UNSUPPORTED: ReadonlySet<UnreadableReason> = new Set([
  "unsupported_format",
  "legacy_format",
  "no_text",
  "ocr_off",
  "too_large",
]);

export interface ItemProcessingDeps {
  readonly db: Database;
  readonly bytes: Pick<CloudBytes, "download">;
  readonly extractor: TextExtractor;
  readonly topics: TopicChooser;
  readonly index: Pick<SemanticIndex, "prepare">;
}

/**
 * Creates the job that analyses an item of connected storage: reads its bytes through the byte cache, extracts the
 * text, classifies it, and makes it searchable. If the provider is unreachable, the job is retried.
 */
export function createItemProcessing(deps: ItemProcessingDeps): JobKind {
  const { db } = deps;
  return {
    kind: ANALYZE_JOB,
    attemptsMax: 5,
    concurrency: PROCESSED_AT_ONCE,
    inTurns: true,

    async onAbandoned(tx, payload) {
      // An invalid payload names no item to mark as failed; the job is dead-lettered anyway.
      const { data } = payloadSchema.safeParse(payload);
      if (data !== undefined) await setAnalysisStatus(tx, data.item_id, "failed");
    },

    async run(payload, { attempt, signal }) {
      const { item_id: id } = parsePayload(payloadSchema, payload);
      const item = await findLiveItemByRow(db, id);
      if (item === undefined) return;
      await db.transaction((tx) => setAnalysisStatus(tx, id, "processing"));
      const extraction = await extract(item, { attempt, signal });
      if (extraction.kind === "unreadable") {
        const { reason } = extraction;
        const status = UNSUPPORTED.has(reason) ? "unsupported" : "failed";
        await db.transaction(async (tx) => {
          await putUnreadable(tx, id, { status, reason, version: item.version });
          await deleteSearchEntryOfItem(tx, id);
          await setIndexStatus(tx, { itemId: id }, "none");
        });
        return;
      }
      const { text, missing } = extraction;
      const choice = await deps.topics.choose(
        item.userId,
        { text: `${item.name}\n${text}` },
        signal,
      );
      const noteText = await deps.index.prepare();
      await db.transaction(async (tx) => {
        const topicIds = choice === undefined ? [] : [choice.topicId];
        const result = { text, missing, topicIds, version: item.version };
        // It may have been renamed or deleted while its text was read.
        const current = await findLiveItemByRow(tx, id);
        if (current === undefined || !(await putItemAnalysis(tx, id, result))) return;
        await putSearchEntry(tx, {
          userId: item.userId,
          source: { itemId: id },
          title: current.name,
          body: text,
          contentType: current.contentType ?? extraction.contentType,
          connectionId: item.connectionId,
        });
        await noteText(tx, { itemId: id }, text);
      });
    },
  };

  async function extract(
    item: CloudItem,
    { attempt, signal }: Pick<JobContext, "attempt" | "signal">,
  ): Promise<Extraction> {
    const userSettings = await findAnalysisSettings(db, item.userId);
    const bytesMax = Math.min(
      userSettings?.maxAnalyzeBytes ?? MAX_ANALYZE_BYTES,
      EXTRACT_BYTES_MAX,
    );
    if ((item.size ?? 0) > bytesMax) return { kind: "unreadable", reason: "too_large" };
    const { userId } = item;
    const found = await deps.bytes.download(
      { userId },
      { connection_id: item.connectionId, item_id: item.providerItemId },
    );
    if (found.kind !== "bytes") {
      if (attempt >= 5) return { kind: "unreadable", reason: "provider_error" };
      throw new Error(`the provider did not give the bytes: ${found.kind}`);
    }
    try {
      const content = await found.bytes.open();
      return await deps.extractor.extract({ content, filename: item.name, userId, signal });
    } finally {
      found.bytes.release();
    }
  }
}
