import type { AccountId } from "../../../../storage/tables/vault/ids.ts";

/** The kind of the job that extracts and classifies; its payload is `{ item_id }`, the id of the item's row. */
export const ANALYZE_JOB = "cloud.analyze";

/** Largest item that is analysed unless its owner chose another limit. */
export const MAX_ANALYZE_BYTES = 50 * 1024 * 1024;

/** Returns the job that analyses an item. Waiting jobs of one item are deduplicated. */
export function toAnalyzeJob(itemId: string, account: AccountId) {
  return { kind: ANALYZE_JOB, key: itemId, account, payload: { item_id: itemId } };
}
