import { Readable } from "node:stream";
import { PartFailed } from "../../../../storage/cache/transfer.ts";
import type { ReadFailure } from "../../../../storage/cloud/outcomes.ts";
import { UNKNOWN_MEDIA_TYPE } from "../../../contract/media-type.ts";
import { AppError } from "../../../errors.ts";
import type { BytesAnswer } from "../../../http/handle.ts";
import { toDownloadPath, type ItemPlace } from "../items/item-place.ts";
import type { DownloadFailure, DownloadResult, ItemBytes, PreviewResult } from "./bytes.service.ts";
import { toContentDisposition } from "./content-disposition.ts";
import { toEssence } from "./previewable.ts";

const UNAVAILABLE = "The provider is temporarily unavailable. Try again later.";

/** The bytes as a download, or the refusal of a failed one. */
export type ToDownloadAnswer = (result: DownloadResult) => BytesAnswer;

/**
 * Makes the view of downloads. Bytes that stay in memory are answered with the same object for as long as nothing else
 * of their item changes: the transport writes its head once.
 */
export function createDownloadAnswers(): ToDownloadAnswer {
  const latest = new WeakMap<
    Uint8Array,
    { readonly of: ItemBytes; readonly answer: BytesAnswer }
  >();
  return (result) => {
    if (result.kind !== "bytes") throw toDownloadRefusal(result);
    const { buffer } = result.bytes;
    const earlier = buffer && latest.get(buffer);
    if (earlier !== undefined && isSameHead(earlier.of, result)) return earlier.answer;
    const disposition = toContentDisposition(result.name);
    const answer = toBytesAnswer(result, result.contentType ?? UNKNOWN_MEDIA_TYPE, disposition);
    if (buffer !== undefined) latest.set(buffer, { of: result, answer });
    return answer;
  };
}

function isSameHead(a: ItemBytes, b: ItemBytes): boolean {
  return (
    a.entityTag === b.entityTag &&
    a.name === b.name &&
    a.contentType === b.contentType &&
    a.modifiedAt === b.modifiedAt
  );
}

function toDownloadRefusal(failure: DownloadFailure): AppError {
  switch (failure.kind) {
    case "reauth":
      return new AppError(
        "reauth_required",
        "The provider needs you to sign in again. Reconnect this connection.",
      );
    case "not_found":
      return new AppError(
        "unavailable",
        failure.wasRecorded === true
          ? "This file was deleted at the provider."
          : "The provider has no file with this id.",
        { reason: "item_not_found" },
      );
    case "unsupported":
      return new AppError("unprocessable", "This item has no bytes to download.");
    case "rate_limited":
      return new AppError("unavailable", UNAVAILABLE, {
        retryAfterSeconds: Math.ceil(failure.retryAfterSeconds ?? 30),
      });
    default:
      return new AppError("unavailable", UNAVAILABLE);
  }
}

/** The bytes to be shown inline, or the typed body with the reason why not. */
export function toPreviewAnswer(place: ItemPlace, result: PreviewResult): BytesAnswer {
  if (result.kind === "bytes") {
    const type = toEssence(result.contentType);
    return toBytesAnswer(
      result,
      type.startsWith("text/") ? `${type}; charset=utf-8` : type,
      "inline",
    );
  }
  const body = Buffer.from(
    JSON.stringify({ kind: result.kind, reason: result.reason, url: toDownloadPath(place) }),
  );
  return {
    status: 200,
    bytes: {
      size: undefined,
      contentType: "application/json",
      etag: undefined,
      lastModified: undefined,
      open: async () => Readable.from([body]),
    },
    headers: { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" },
  };
}

function toBytesAnswer(item: ItemBytes, contentType: string, disposition: string): BytesAnswer {
  const { bytes, entityTag, modifiedAt } = item;
  return {
    status: 200,
    bytes: {
      size: bytes.size,
      contentType,
      etag: entityTag,
      lastModified: modifiedAt === undefined ? undefined : new Date(modifiedAt),
      buffer: bytes.buffer,
      send: bytes.send,
      sendWhole: bytes.sendWhole,
      async open(range) {
        try {
          return await bytes.open(range);
        } catch (error) {
          if (error instanceof PartFailed) throw toDownloadRefusal(error.failure as ReadFailure);
          throw error;
        }
      },
      release: () => bytes.release(),
    },
    headers: {
      "Content-Disposition": disposition,
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "sandbox; default-src 'none'",
      "Cache-Control": "private, no-cache",
    },
  };
}
