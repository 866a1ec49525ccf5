import type { ReadFailure } from "../outcomes.ts";
import type { ProviderDeps } from "../provider.ts";
import type { BucketClient, ObjectHead } from "../../s3/client.ts";
import type { Keys } from "./keys.ts";
import type { Refused } from "../../s3/failures.ts";
import type { SharedListings } from "./shared-listings.ts";

/** How a server encodes keys in listings. */
export type Spelling = "form" | "percent" | "none";

/** Conditions that this server enforces, according to the probe. */
export interface Guards {
  /** `If-None-Match: *` on an upload. */
  readonly put: boolean;
  /** `If-None-Match: *` when a multipart upload is completed. */
  readonly multipart: boolean;
  /** `x-amz-copy-source-if-match`. */
  readonly copySource: boolean;
  /** A copy never overwrites. */
  readonly copyDestination: boolean;
  /** `If-Match` on a delete. */
  readonly remove: boolean;
  /** `If-Match` on an upload. */
  readonly replace: boolean;
  /** `If-Match` when a multipart upload is completed. */
  readonly replaceInParts: boolean;
}

/** Results of probing a server and a bucket. */
export interface Findings {
  readonly region: string;
  readonly guards: Guards;
  /** Deleted objects stay as older versions. */
  readonly isVersioned: boolean;
  /** Listings contain folders in which every object is deleted. */
  readonly listsDeletedFolders: boolean;
  /** Whether the key may write; otherwise the probe proves nothing. */
  readonly isWritable: boolean;
  readonly keySpelling: Spelling;
  readonly prefixSpelling: Spelling;
}

/** Sizes of an adapter; tests use small ones. */
export interface S3Limits {
  /** Bytes of a part, and the largest file that is sent as one request. Servers require at least 5 MiB. */
  readonly partBytes: number;
  /** Maximum number of parts of one upload. */
  readonly partsMax: number;
  /** Parts that are sent concurrently. They are in memory, with one more that is being filled. */
  readonly partsAtOnce: number;
  /** The largest object that one request can copy; larger ones are copied in parts of this many bytes. */
  readonly copyBytesMax: number;
  readonly copyPartBytes: number;
}

/** Collaborators of all operations. */
export interface Store {
  readonly client: BucketClient;
  readonly keys: Keys;
  readonly findings: Findings;
  readonly limits: S3Limits;
  readonly deps: ProviderDeps;
  readonly bucket: string;
  readonly connectionId: string;
  /** Identifies the bucket: prefix of its lock keys. */
  readonly scope: string;
  readonly listings: SharedListings;
}

/** The item that an id currently names. */
export type Found =
  | { readonly kind: "file"; readonly key: string; readonly head: ObjectHead }
  | { readonly kind: "folder"; readonly prefix: string }
  | ReadFailure;

/** Returns an object's head, or `undefined` when it is missing. */
export async function findObject(
  store: Store,
  key: string,
  signal: AbortSignal,
): Promise<ObjectHead | Refused | undefined> {
  const head = await store.client.head(key, signal);
  return head.kind === "refused" && head.failure.kind === "not_found" ? undefined : head;
}

/** Returns whether any key has a prefix. */
export async function hasKeys(
  store: Store,
  prefix: string,
  signal: AbortSignal,
): Promise<boolean | Refused> {
  const page = await store.client.page({ prefix, "max-keys": "1" }, signal);
  if (page.kind === "refused") return page;
  return page.objects.length > 0 || page.prefixes.length > 0;
}

/** Looks up the item of an id. A missing bucket is a failure, never a missing item. */
export async function find(store: Store, id: string, signal: AbortSignal): Promise<Found> {
  // The root is not an item: it cannot be renamed or deleted.
  if (id === "") return { kind: "not_found", note: "root" };
  const key = store.keys.toFileKey(id);
  if (key !== undefined) {
    const head = await findObject(store, key, signal);
    if (head?.kind === "refused") return head.failure;
    if (head !== undefined) return { kind: "file", key, head };
  }
  const prefix = store.keys.toFolderPrefix(id);
  if (prefix === undefined) return { kind: "not_found", note: "impossible_id" };
  const isFolder = await hasKeys(store, prefix, signal);
  if (typeof isFolder === "object") return isFolder.failure;
  return isFolder ? { kind: "folder", prefix } : { kind: "not_found" };
}

/** Runs work while holding locks of names in the bucket: without conditional requests only these prevent races. */
export function toLockKey(store: Store, key: string): string {
  return `${store.scope}/${key}`;
}
