import type { Failure } from "./outcomes.ts";

export type ItemKind = "file" | "folder";

/** A file or folder, as the provider reports it. */
export interface ProviderItem {
  /** Opaque, not empty, at most 4096 characters, without NUL; may contain slashes. Stored byte for byte. */
  readonly id: string;
  /** In the provider's spelling. */
  readonly name: string;
  readonly kind: ItemKind;
  /** The id of its parent folder; empty for the root. */
  readonly parent: string;
  /** Undefined when unknown: the service keeps the previous value, or uses a default. */
  readonly contentType: string | undefined;
  /** Bytes of a file; undefined for a folder, and for a file that cannot be read. */
  readonly size: number | undefined;
  /** Epoch milliseconds. */
  readonly modifiedAt: number | undefined;
  /** The etag that `rename`, `move` and `delete` compare. Undefined when the provider has no etags. */
  readonly etag: string | undefined;
  /** Changes exactly when the bytes change; part of the cache key. Undefined for folders. */
  readonly version: string | undefined;
  /** True while a change within the version's resolution could go unnoticed: such bytes are not cached. */
  readonly unsettled?: boolean;
}

/** The result of a call that ends with an item. */
export type ItemOutcome = { readonly kind: "ok"; readonly item: ProviderItem } | Failure;

/** How to abort a call. An aborted call leaves no socket, temporary file or upload session. */
export interface Call {
  readonly signal: AbortSignal;
}
