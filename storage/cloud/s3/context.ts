import type { ReadFailure } from "../outcomes.ts";
import type { ProviderDeps } from "../provider.ts";
import type { BucketClient, ObjectHead } from "../../s3/client.ts";
import type { Keys } from "./keys.ts";
import type { Refused } from "../../s3/failures.ts";

/** How a server spells keys in listings. */
export type Spelling = "form" | "percent" | "none";

/** Conditions that this server was seen to keep. */
export interface Guards {
  /** `If-None-Match: *` on an upload. */
  readonly put: boolean;
  /** `If-None-Match: *` when a multipart upload is completed. */
  readonly multipart: boolean;
  /** `x-amz-copy-source-if-match`. */
  readonly copySource: boolean;
  /** A copy never replaces what is there. */
  readonly copyDestination: boolean;
  /** `If-Match` on a delete. */
  readonly remove: boolean;
}

/** What was found out about a server and a bucket. */
export interface Findings {
  readonly region: string;
  readonly guards: Guards;
  /** Deleted objects stay as older versions. */
  readonly isVersioned: boolean;
  /** Listings contain folders in which every object is deleted. */
  readonly listsDeletedFolders: boolean;
  /** The key may write: without that nothing could be proved. */
  readonly isWritable: boolean;
  readonly keySpelling: Spelling;
  readonly prefixSpelling: Spelling;
}

/** Sizes of an adapter; tests take small ones. */
export interface S3Limits {
  /** Bytes of a part, and up to which a file goes out as one request. Servers want 5 MiB at least. */
  readonly partBytes: number;
  /** Parts of one upload at most. */
  readonly partsMax: number;
  /** Parts on their way at once; each is held in memory, and one more that is being filled. */
  readonly partsAtOnce: number;
  /** Largest object that one request can copy; larger ones are copied in parts of so many bytes. */
  readonly copyBytesMax: number;
  readonly copyPartBytes: number;
}

/** What every verb works with. */
export interface Store {
  readonly client: BucketClient;
  readonly keys: Keys;
  readonly findings: Findings;
  readonly limits: S3Limits;
  readonly deps: ProviderDeps;
  readonly bucket: string;
  readonly connectionId: string;
  /** Names the bucket among all: in it keys of locks are unique. */
  readonly scope: string;
}

/** What an id means at the moment. */
export type Found =
  | { readonly kind: "file"; readonly key: string; readonly head: ObjectHead }
  | { readonly kind: "folder"; readonly prefix: string }
  | ReadFailure;

/** An object's head, or `undefined` when there is none. */
export async function findObject(
  store: Store,
  key: string,
  signal: AbortSignal,
): Promise<ObjectHead | Refused | undefined> {
  const head = await store.client.head(key, signal);
  return head.kind === "refused" && head.failure.kind === "not_found" ? undefined : head;
}

/** Whether anything begins with a prefix. */
export async function hasKeys(
  store: Store,
  prefix: string,
  signal: AbortSignal,
): Promise<boolean | Refused> {
  const page = await store.client.page({ prefix, "max-keys": "1" }, signal);
  if (page.kind === "refused") return page;
  return page.objects.length > 0 || page.prefixes.length > 0;
}

/** A look at what an item's id leads to. A missing bucket is a failure, never a missing item. */
export async function find(store: Store, id: string, signal: AbortSignal): Promise<Found> {
  // The root is no item: nobody renames or deletes it.
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

/** Runs work on some names of the bucket in turn: where the server keeps no conditions nothing else keeps calls apart. */
export function turnOf(store: Store, key: string): string {
  return `${store.scope}/${key}`;
}
