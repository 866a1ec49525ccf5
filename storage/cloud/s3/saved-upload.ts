import { asCount, asText, parseJsonObject } from "../json.ts";
import type { Failure } from "../outcomes.ts";
import type { SessionStore } from "../provider.ts";
import { unquote } from "../../s3/client.ts";
import { toChangeFailure } from "../../s3/failures.ts";
import { abortUpload } from "../../s3/multipart-uploads.ts";
import { readParts } from "../../s3/responses.ts";
import type { Store } from "./context.ts";
import { purge } from "./journal.ts";

/** The saved form of a multipart upload that another call continues. */
export interface SavedUpload {
  readonly key: string;
  readonly uploadId: string;
  /** The size of all parts but the last. */
  readonly partBytes: number;
  /** Key of its journal entry. */
  readonly entry: string;
}

/** A kept upload and the parts that the server has, by number; undefined parts when the upload is over. */
export interface ContinuedUpload extends SavedUpload {
  readonly kind: "continued";
  readonly parts: ReadonlyMap<number, { readonly etag: string; readonly size: number }> | undefined;
}

/** Maximum number of pages of a listing of parts; a server that lists more is faulty. */
const PAGES_MAX = 200;

function toSavedUpload(saved: string | undefined): SavedUpload | undefined {
  const value = parseJsonObject(saved ?? "");
  const [key, uploadId, entry] = ["key", "uploadId", "entry"].map((name) => asText(value?.[name]));
  const partBytes = asCount(value?.["partBytes"]);
  return key === undefined || uploadId === undefined || entry === undefined || !partBytes
    ? undefined
    : { key, uploadId, partBytes, entry };
}

/** Asks the server which parts of a saved upload it has. Returns undefined parts when the server has no such upload. */
export async function continueUpload(
  store: Store,
  session: SessionStore | undefined,
  key: string,
  signal: AbortSignal,
): Promise<ContinuedUpload | Failure | undefined> {
  const savedUpload = toSavedUpload(session?.saved);
  if (savedUpload?.key !== key) return undefined;
  const { uploadId } = savedUpload;
  const parts = new Map<number, { etag: string; size: number }>();
  let after = "0";
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query = { uploadId, "part-number-marker": after };
    const sent = await store.client.send({ method: "GET", key, query, signal });
    if (sent.kind === "refused")
      return sent.status === 404
        ? { kind: "continued", ...savedUpload, parts: undefined }
        : toChangeFailure(sent.failure);
    const page = await readParts(sent.answer);
    if (page.kind !== "ok") return page;
    for (const { number, etag, size } of page.parts)
      parts.set(number, { etag: unquote(etag), size });
    if (parts.size > store.limits.partsMax) break;
    if (page.next === undefined) return { kind: "continued", ...savedUpload, parts };
    after = page.next;
  }
  return { kind: "offline", sent: true, note: "parts_without_end" };
}

/** Aborts a saved upload. If that fails, recovery aborts it later. */
export async function discardUpload(
  store: Store,
  saved: string,
  signal: AbortSignal,
): Promise<void> {
  const savedUpload = toSavedUpload(saved);
  if (savedUpload === undefined) return;
  const failed = await abortUpload(store.client, savedUpload.key, savedUpload.uploadId, signal);
  if (failed === undefined) await purge(store, savedUpload.entry, signal);
}
