import { Readable } from "node:stream";
import type { z } from "zod";
import type {
  item as itemSchema,
  itemDetail as detailSchema,
  listing as listingSchema,
} from "../../contract/vault/cloud-shapes.ts";
import { PartFailed } from "../../../storage/bytes/pass-through.ts";
import type { ReadFailure } from "../../../storage/cloud/outcomes.ts";
import type { CloudItem, ItemCursor } from "../../../storage/tables/vault/items.ts";
import { AppError } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import type { ItemBytes, ItemDetail, ItemPlace, PreviewResult } from "./bytes.service.ts";
import type {
  CreateFolderResult,
  DeleteResult,
  MoveResult,
  RenameResult,
} from "./changes.service.ts";
import { toContentDisposition } from "./content-disposition.ts";
import type { FolderPage } from "./listings.service.ts";
import { toFailureReply } from "./outcome.view.ts";
import { toEssence } from "./previewable.ts";
import type { UploadResult } from "./uploads.service.ts";

type WireItem = z.input<typeof itemSchema>;

/** An item of a listing on the wire. */
function toItemView(item: CloudItem): WireItem {
  return {
    id: item.id,
    provider_item_id: item.providerItemId,
    name: item.name,
    kind: item.kind,
    parent_ref: item.parentRef === "" ? null : item.parentRef,
    content_type: item.contentType ?? null,
    size: item.size ?? null,
    modified_at: item.modifiedAt === undefined ? null : toTime(item.modifiedAt),
    etag: item.etag ?? null,
    analysis_status: item.analysisStatus,
    semantic_index_status: item.semanticIndexStatus,
  };
}

/** An allowlist: neither credentials nor keys nor the provider's addresses (vault API, detail). */
export function toDetailView(detail: ItemDetail): z.input<typeof detailSchema> {
  const { item, analysis, connection, folders } = detail;
  return {
    ...toItemView(item),
    provider: connection.provider,
    display_name: connection.displayName,
    location: folders.length === 0 ? "/" : folders.map((name) => `/${name}`).join(""),
    extracted_text: analysis.extractedText ?? null,
    topics: [...analysis.topics],
    capabilities: {},
    unsupported_analysis_reason: analysis.unsupportedReason ?? null,
    is_stale: item.semanticIndexStatus === "stale",
  };
}

export function toListingView({ state, items, next }: FolderPage): z.input<typeof listingSchema> {
  return {
    parent_ref: state.parentRef,
    refresh_state: state.refreshState,
    error_code: state.errorCode ?? null,
    error_message: state.errorMessage ?? null,
    listed_at: state.listedAt === undefined ? null : toTime(state.listedAt),
    items: items.map(toItemView),
    next_cursor: next === undefined ? null : toCursor(next),
  };
}

/** A cursor as text; opaque to clients. */
function toCursor({ sortKey, id }: ItemCursor): string {
  return `${id}.${Buffer.from(sortKey).toString("base64url")}`;
}

/** The cursor of a text that `toCursor` made. Refuses with `unprocessable` what it did not make. */
export function readCursor(text: string | undefined): ItemCursor | undefined {
  if (text === undefined || text === "") return undefined;
  const match = /^([0-9a-f-]{36})\.([\w-]*)$/.exec(text);
  if (match === null) {
    const msg = "This is not a cursor of a listing";
    throw new AppError("unprocessable", msg, {
      body: { detail: [{ loc: ["query", "cursor"], msg, type: "invalid_cursor" }] },
    });
  }
  const [, id = "", key = ""] = match;
  return { id, sortKey: Buffer.from(key, "base64url") };
}

export function toOpenReply(place: ItemPlace) {
  return {
    status: 200,
    body: { kind: "open", url: toDownloadPath(place), reason: "authorized" },
  } as const;
}

/** The service's own address of an item's bytes. */
function toDownloadPath({ connection_id, item_id }: ItemPlace): string {
  const segments = item_id.split("/");
  const isPlain = segments.every((one) => one !== "" && one !== "." && one !== "..");
  // An empty or dot segment would not survive on its way: the slashes are encoded, too.
  const item = isPlain ? segments.map(encodeURIComponent).join("/") : encodeURIComponent(item_id);
  return `/api/cloud/connections/${connection_id}/items/${item}/download`;
}

/** The bytes as a download, or the refusal of a failed one (vault API, download). */
export type ToDownloadAnswer = (result: ItemBytes | ReadFailure) => BytesAnswer;

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
    const known = buffer && latest.get(buffer);
    if (known !== undefined && isSameHead(known.of, result)) return known.answer;
    const disposition = toContentDisposition(result.name);
    const answer = toBytesAnswer(result, safeType(result.contentType), disposition);
    if (buffer !== undefined) latest.set(buffer, { of: result, answer });
    return answer;
  };
}

function isSameHead(one: ItemBytes, other: ItemBytes): boolean {
  return (
    one.entityTag === other.entityTag &&
    one.name === other.name &&
    one.contentType === other.contentType &&
    one.modifiedAt === other.modifiedAt
  );
}

function toDownloadRefusal(failure: ReadFailure): AppError {
  switch (failure.kind) {
    case "reauth":
      return new AppError(
        "reauth_required",
        "The provider needs you to sign in again. Reconnect this connection.",
      );
    case "unsupported":
      return new AppError("unprocessable", "This item has no bytes to download.");
    case "rate_limited":
      return new AppError("unavailable", UNAVAILABLE, {
        headers: { "Retry-After": String(Math.ceil(failure.retryAfterSeconds ?? 30)) },
      });
    default:
      return new AppError("unavailable", UNAVAILABLE);
  }
}

/** The bytes to be shown in place, or the typed body that says why not. */
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

export function toCreateFolderReply(result: CreateFolderResult) {
  if (result.kind === "folder")
    return {
      status: 201,
      body: {
        kind: "folder",
        provider_item_id: result.item.id,
        name: result.item.name,
        parent_ref: result.parentRef,
      },
    } as const;
  // The document keeps the route's success status for a provider that has no folders.
  if (result.kind === "unsupported")
    return {
      status: 201,
      body: { kind: "unsupported_operation", reason: "provider_unsupported" },
    } as const;
  return toFailureReply(result);
}

export function toRenameReply(result: RenameResult) {
  if (result.kind !== "renamed") return toFailureReply(result);
  const { id, name } = result.item;
  return { status: 200, body: { kind: "renamed", provider_item_id: id, name } } as const;
}

export function toMoveReply(result: MoveResult) {
  if (result.kind !== "moved") return toFailureReply(result);
  const { itemId, parentRef } = result;
  return {
    status: 200,
    body: { kind: "moved", provider_item_id: itemId, parent_ref: parentRef },
  } as const;
}

export function toDeleteReply(result: DeleteResult) {
  if (result.kind !== "deleted") return toFailureReply(result);
  return {
    status: 200,
    body: {
      kind: "deleted",
      reason: result.how,
      provider_item_id: result.itemId,
      item_kind: result.itemKind,
      is_folder: result.itemKind === "folder",
    },
  } as const;
}

export function toUploadReply(result: UploadResult, name: string) {
  if (result.kind === "uploaded")
    return {
      status: 200,
      body: {
        kind: "uploaded",
        provider_item_id: result.item.id,
        name: result.item.name,
        parent_ref: result.parentRef,
        size: result.size,
      },
    } as const;
  if (result.kind === "conflict")
    return {
      status: 200,
      body: {
        kind: "conflict",
        reason: "name_collision",
        existing_name: result.existingName ?? name,
      },
    } as const;
  return toFailureReply(result);
}

const UNAVAILABLE = "The provider is temporarily unavailable. Try again later.";

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

/** A type that may stand in a header; what a provider calls it is not believed any further. */
function safeType(contentType: string | undefined): string {
  const isSound =
    contentType !== undefined && /^[\w.+-]+\/[\w.+-]+(; *charset=[\w-]+)?$/.test(contentType);
  return isSound ? contentType : "application/octet-stream";
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}
