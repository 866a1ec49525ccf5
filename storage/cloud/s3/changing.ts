import type { Store } from "./context.ts";
import { findObject } from "./context.ts";
import { toVersionId, unquote, type BucketClient } from "../../s3/client.ts";
import { existsWithout } from "./listing.ts";
import { isPrecondition, isRace, isRefused, type Refused } from "../../s3/failures.ts";
import type { Failure } from "../outcomes.ts";

/** Result of a change of one object. */
export type Changed =
  | {
      readonly kind: "done";
      /** Entity tag of the written object; empty if the server does not return it. */
      readonly etag: string;
      readonly versionId: string | undefined;
      /** The delete left older versions behind. */
      readonly isMarked: boolean;
    }
  /** The precondition failed: another client has written or deleted the object. */
  | { readonly kind: "precondition" }
  | Refused;

/** Maximum number of attempts of a request that conflicts with another one at the same key. */
const RACES_MAX = 4;
const RACE_WAIT_MS = 100;

/** Retries a request while it conflicts with another one at the same key. */
export async function throughRaces<T extends { readonly kind: "done" }>(
  store: Store,
  signal: AbortSignal,
  send: () => Promise<T | Refused>,
): Promise<T | Refused> {
  for (let tries = 1; ; tries++) {
    const sent = await send();
    if (sent.kind === "done" || !isRace(sent) || tries === RACES_MAX || signal.aborted) return sent;
    try {
      await store.deps.sleep(RACE_WAIT_MS * tries, signal);
    } catch (error) {
      if (signal.aborted) return sent;
      throw error;
    }
  }
}

/** A small object to be stored in one request. */
interface NewObject {
  readonly key: string;
  readonly body: Uint8Array;
  readonly contentType?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Creates an object whose key must be free. If the server ignores conditions, the caller has checked the key while holding
 * the lock of its name.
 */
export async function putNew(store: Store, object: NewObject): Promise<Changed> {
  const { key, signal } = object;
  const condition = store.findings.guards.put ? NEW_HEADERS : undefined;
  return toChanged(await createOnly(store, { key, condition, signal }, putWith(store, object)));
}

/**
 * Overwrites an object if it has this entity tag. The caller holds the lock of its name; if the server ignores conditions,
 * another client may still write between the check and the request.
 */
export async function putOver(
  store: Store,
  object: NewObject & { readonly etag: string },
): Promise<Changed> {
  const isGuarded = store.findings.guards.replace;
  return toChanged(await underTag(store, { ...object, isGuarded }, putWith(store, object)));
}

/** Returns the function that stores an object under a condition. */
function putWith(store: Store, { key, body, contentType, signal }: NewObject) {
  const type = contentType === undefined ? {} : { "content-type": contentType };
  return (condition: Readonly<Record<string, string>>) =>
    throughRaces(store, signal, () =>
      store.client.sendAndDiscard({
        method: "PUT",
        key,
        body,
        headers: { ...type, ...condition },
        signal,
      }),
    );
}

/**
 * Sends a change of an object that must have this entity tag. If the server does not compare, or compares with a tag that it
 * never returns, as some do for multipart objects, the object is checked just before.
 */
export async function underTag<T extends { readonly kind: "done" }>(
  store: Store,
  object: {
    readonly key: string;
    readonly etag: string;
    /** Whether the server enforces the condition. */
    readonly isGuarded: boolean;
    readonly signal: AbortSignal;
  },
  send: (condition: Readonly<Record<string, string>>) => Promise<T | Refused>,
): Promise<T | Refused | { readonly kind: "precondition" }> {
  const { key, etag, isGuarded, signal } = object;
  if (isGuarded) {
    const sent = await send({ "if-match": `"${etag}"` });
    if (sent.kind === "done") return sent;
    if (sent.failure.kind === "not_found" && sent.code !== "NoSuchUpload")
      return { kind: "precondition" };
    if (!isPrecondition(sent)) return sent;
  }
  const head = await findObject(store, key, signal);
  if (head?.kind === "refused") return head;
  if (head?.etag !== etag) return { kind: "precondition" };
  return send({});
}

/** The condition that no object has the key. */
export const NEW_HEADERS: Readonly<Record<string, string>> = { "if-none-match": "*" };

/**
 * Sends a request that creates an object, with `condition` as headers. Versity's gateway counts a delete marker as an object
 * and refuses the condition. Then the request is repeated without it; a race with another client loses nothing, because
 * the bucket keeps versions.
 */
export async function createOnly<T extends { readonly kind: string }>(
  store: Store,
  create: {
    readonly key: string;
    /** Undefined if the server ignores it. */
    readonly condition: Readonly<Record<string, string>> | undefined;
    readonly signal: AbortSignal;
  },
  send: (condition: Readonly<Record<string, string>>) => Promise<T | Refused>,
): Promise<T | Refused> {
  const { key, condition, signal } = create;
  const sent = await send(condition ?? {});
  if (condition === undefined || !store.findings.isVersioned) return sent;
  if (!isRefused(sent) || !isPrecondition(sent)) return sent;
  return (await findObject(store, key, signal)) === undefined ? send({}) : sent;
}

/**
 * Deletes an object if it has this entity tag. With a version, deletes that version permanently. If the server
 * ignores conditions, checks the object just before.
 */
export async function removeObject(
  store: Store,
  object: {
    readonly key: string;
    readonly etag: string;
    readonly versionId?: string | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Changed> {
  const { key, etag, versionId, signal } = object;
  const isGuarded = store.findings.guards.remove && versionId === undefined;
  const sent = await underTag(store, { key, etag, isGuarded, signal }, (condition) =>
    throughRaces(store, signal, () =>
      store.client.sendAndDiscard({
        method: "DELETE",
        key,
        ...(versionId === undefined ? {} : { query: { versionId } }),
        headers: condition,
        signal,
      }),
    ),
  );
  if (sent.kind === "refused" && sent.failure.kind === "not_found") return { kind: "precondition" };
  return toChanged(sent);
}

/**
 * Creates a marker for a folder that would disappear with the object `leaving`, because other clients' folders are
 * often only the common prefix of keys.
 */
export async function keepFolder(
  store: Store,
  prefix: string,
  leaving: string,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const stays = await existsWithout(store, prefix, leaving, signal);
  if (typeof stays === "object") return stays;
  // If the marker cannot be created, the folder disappears with its last item, as in other clients.
  if (!stays) await putNew(store, { key: prefix, body: new Uint8Array(), signal });
  return undefined;
}

/** Summarizes the result of a request. */
function toChanged(
  sent: Awaited<ReturnType<BucketClient["sendAndDiscard"]>> | { readonly kind: "precondition" },
): Changed {
  if (sent.kind === "precondition") return sent;
  if (sent.kind === "refused") return isPrecondition(sent) ? { kind: "precondition" } : sent;
  return {
    kind: "done",
    etag: unquote(sent.headers["etag"] ?? ""),
    versionId: toVersionId(sent.headers["x-amz-version-id"]),
    isMarked: sent.headers["x-amz-delete-marker"] === "true",
  };
}
