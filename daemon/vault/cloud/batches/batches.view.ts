import { once } from "node:events";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { BytesAnswer } from "../../../http/handle.ts";
import { toUploadReply } from "../changes/changes.view.ts";
import type { Refused } from "./batch-limits.ts";
import type { DownloadBatch } from "./batch-downloads.service.ts";
import type { BatchOutcome, UploadBatch } from "./batch-uploads.service.ts";

/** The lines of a batch, each sent as its file ends. */
export function toUploadBatchAnswer({ run, release }: UploadBatch): BytesAnswer {
  return toStreamed("application/x-ndjson", release, async (to) => {
    // The listener of the connection reports what ends it; the files that arrived are finished in any case.
    to.on("error", () => undefined);
    await run(async (outcome) => {
      if (to.destroyed || to.write(`${JSON.stringify(toLine(outcome))}\n`)) return;
      const left = new AbortController();
      await Promise.race([
        once(to, "drain", { signal: left.signal }),
        once(to, "close", { signal: left.signal }),
      ]).finally(() => left.abort());
    });
  });
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

/** One file: the body of a single upload with its status, and which part of the request it was. */
function toLine({ index, filename, result }: BatchOutcome) {
  const reply =
    result.kind === "refused" ? toRefusedReply(result) : toUploadReply(result, filename ?? "");
  const seconds = "headers" in reply ? reply.headers?.["Retry-After"] : undefined;
  const retry = seconds === undefined ? {} : { retry_after_s: Number(seconds) };
  return { index, filename, status: reply.status, ...reply.body, ...retry };
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
