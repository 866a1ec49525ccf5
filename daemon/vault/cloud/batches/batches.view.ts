import { once } from "node:events";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { BytesAnswer } from "../../../http/handle.ts";
import { toEnsureFolderReply, toReplaceReply, toUploadReply } from "../changes/changes.view.ts";
import type { ReplaceResult } from "../changes/replacements.service.ts";
import type { UploadResult } from "../changes/uploads.service.ts";
import { toListingView } from "../items/items.view.ts";
import type { Refused } from "./batch-limits.ts";
import type { DownloadBatch } from "./batch-downloads.service.ts";
import type { FolderBatch, FolderOutcome } from "./batch-folders.service.ts";
import type { ListingBatch } from "./batch-listings.service.ts";
import type { BatchOutcome, UploadBatch } from "./batch-uploads.service.ts";

/** The lines of a batch of uploads, each sent as its file ends. */
export function toUploadBatchAnswer(batch: UploadBatch<UploadResult>): BytesAnswer {
  return toLines(batch, (result, filename) => toUploadReply(result, filename ?? ""));
}

/** The same of a batch of replacements. */
export function toReplaceBatchAnswer(batch: UploadBatch<ReplaceResult>): BytesAnswer {
  return toLines(batch, toReplaceReply);
}

/** The lines of a batch of listings, each sent as its folder ends. */
export function toListBatchAnswer({ run, release }: ListingBatch): BytesAnswer {
  return toStreamed("application/x-ndjson", release, (to) =>
    run(({ parentRef, result }) => {
      const body = isRefused(result)
        ? { parent_ref: parentRef, ...toStatusLine(toRefusedReply(result)) }
        : { status: 200, ...toListingView(result) };
      return writeLine(to, body);
    }, whileOpen(to)),
  );
}

/** The lines of a batch of new folders, each sent as its folder ends. */
export function toCreateFolderBatchAnswer({ run, release }: FolderBatch): BytesAnswer {
  return toStreamed("application/x-ndjson", release, (to) =>
    run(
      ({ index, result }) => writeLine(to, { index, ...toStatusLine(toFolderReply(result)) }),
      whileOpen(to),
    ),
  );
}

function toFolderReply(result: FolderOutcome["result"]): Reply {
  if (isRefused(result)) return toRefusedReply(result);
  if (result.kind === "parent_failed")
    return { status: 424, body: { kind: "failed", reason: "parent_failed" } };
  return toEnsureFolderReply(result);
}

/** Returns a signal that is aborted when the client disconnects. */
function whileOpen(to: Writable): AbortSignal {
  const disconnected = new AbortController();
  to.on("error", () => disconnected.abort());
  to.on("close", () => disconnected.abort());
  if (to.destroyed) disconnected.abort();
  return disconnected.signal;
}

/** The reply that a single request would have got. */
interface Reply {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

function toLines<Result>(
  { run, release }: UploadBatch<Result>,
  toReply: (result: Result, filename: string | null) => Reply,
): BytesAnswer {
  return toStreamed("application/x-ndjson", release, async (to) => {
    // The listener of the connection reports its errors; the files that arrived are finished in any case.
    to.on("error", () => undefined);
    await run((outcome) => writeLine(to, toLine(outcome, toReply)));
  });
}

/** Writes one line and waits until the client has read it or disconnected. */
async function writeLine(to: Writable, line: object): Promise<void> {
  if (to.destroyed || to.write(`${JSON.stringify(line)}\n`)) return;
  const disconnected = new AbortController();
  await Promise.race([
    once(to, "drain", { signal: disconnected.signal }),
    once(to, "close", { signal: disconnected.signal }),
  ]).finally(() => disconnected.abort());
}

/** The archive of a batch. */
export function toDownloadBatchAnswer({ archive, release }: DownloadBatch): BytesAnswer {
  return toStreamed("application/x-tar", release, (to) => pipeline(archive, to, { end: false }));
}

function toStreamed(
  contentType: string,
  release: () => void,
  send: (to: Writable) => Promise<void>,
): BytesAnswer {
  return {
    status: 200,
    bytes: {
      size: undefined,
      contentType,
      etag: undefined,
      lastModified: undefined,
      open: () => Promise.reject(new Error("a batch is written, not opened")),
      send: (_range, to) => send(to),
      release,
    },
    headers: { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" },
  };
}

/** One file: the body of a single request with its status, and which part of the batch it was. */
function toLine<Result>(
  { index, filename, result }: BatchOutcome<Result>,
  toReply: (result: Result, filename: string | null) => Reply,
) {
  const reply: Reply = isRefused(result) ? toRefusedReply(result) : toReply(result, filename);
  return { index, filename, ...toStatusLine(reply), ...toEtagOf(result) };
}

/** The etag of a stored version as listings have it; null where the storage has none. */
function toEtagOf(result: unknown): { readonly etag?: string | null } {
  const { kind, item } = result as { kind: string; item?: { etag?: string | undefined } };
  return kind === "uploaded" ? { etag: item?.etag ?? null } : {};
}

function toStatusLine({ status, body, headers }: Reply) {
  const seconds = headers?.["Retry-After"];
  const retry = seconds === undefined ? {} : { retry_after_s: Number(seconds) };
  return { status, ...body, ...retry };
}

function isRefused<Result>(result: Result | Refused): result is Refused {
  return (result as { readonly kind?: unknown }).kind === "refused";
}

/** The status and body that a single request would have got. */
function toRefusedReply({ code, detail }: Refused) {
  return { status: statuses[code] ?? 500, body: { detail } } as const;
}

const statuses: Partial<Record<Refused["code"], number>> = {
  invalid_argument: 400,
  reauth_required: 401,
  not_found: 404,
  too_large: 413,
  unprocessable: 422,
  rate_limited: 429,
  unavailable: 503,
  storage_full: 507,
};
