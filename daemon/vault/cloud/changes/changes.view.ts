import { toFailureReply } from "../outcome.view.ts";
import type {
  CreateFolderResult,
  DeleteResult,
  EnsureFolderResult,
  MoveResult,
  RenameResult,
} from "./changes.service.ts";
import type { ReplaceResult } from "./replacements.service.ts";
import type { UploadedFile, UploadResult } from "./uploads.service.ts";

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
  // Clients know a provider without folders by the kind, not by the status.
  if (result.kind === "unsupported")
    return {
      status: 201,
      body: { kind: "unsupported_operation", reason: "provider_unsupported" },
    } as const;
  return toFailureReply(result);
}

/** As `toCreateFolderReply`, for a folder that may have existed. */
export function toEnsureFolderReply(result: EnsureFolderResult) {
  if (result.kind !== "existing") return toCreateFolderReply(result);
  const { providerItemId, name } = result.folder;
  return {
    status: 200,
    body: {
      kind: "existing_folder",
      provider_item_id: providerItemId,
      name,
      parent_ref: result.parentRef,
    },
  } as const;
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

export function toUploadReply(
  result: Exclude<UploadResult, { kind: "uploaded" }> | UploadedFile,
  name: string,
) {
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
      headers: toEntityTag(result.item.etag),
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

export function toReplaceReply(result: ReplaceResult) {
  if (result.kind === "precondition_required")
    return {
      status: 428,
      body: { detail: "Send If-Match with the etag of the file that is replaced, or *." },
    } as const;
  if (result.kind !== "uploaded") return toFailureReply(result);
  const { id, name, parent, etag } = result.item;
  return {
    status: 200,
    body: {
      kind: "uploaded",
      provider_item_id: id,
      name,
      parent_ref: parent === "" ? null : parent,
      size: result.size,
    },
    headers: toEntityTag(etag),
  } as const;
}

/** The header with the etag of a stored version; none for an etag that a header cannot carry. */
function toEntityTag(etag: string | undefined): Readonly<Record<string, string>> {
  const opaque = etag?.replace(/^(?:W\/)?"|"$/g, "") ?? "";
  return /^[\x21\x23-\x7e]+$/.test(opaque) ? { ETag: `"${opaque}"` } : {};
}
