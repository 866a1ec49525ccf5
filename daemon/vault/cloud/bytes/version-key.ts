import { hash } from "node:crypto";
import type { AccountId, ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** The values that identify a version of an item's bytes. */
export interface ItemVersion {
  readonly providerItemId: string;
  readonly version: string | undefined;
  readonly etag: string | undefined;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly contentType: string | undefined;
}

/**
 * Returns the version key of an item, which differs if any of these values differs. Never shown.
 */
function toVersionKey(item: ItemVersion): string {
  const { providerItemId, version, etag, size, modifiedAt, contentType } = item;
  return hash(
    "sha256",
    JSON.stringify([
      providerItemId,
      version ?? null,
      etag ?? null,
      size ?? null,
      modifiedAt ?? null,
      contentType ?? null,
    ]),
  );
}

/** Returns the cache key of an item's bytes: per user, so that no user can probe for files of another. */
function toCacheKey(userId: AccountId, connectionId: ConnectionId, versionKey: string): string {
  return hash("sha256", `${userId}/${connectionId}/${versionKey}`);
}

/** Returns the entity tag of a version, derived from its key without revealing it. */
function toEntityTag(versionKey: string): string {
  return hash("sha256", `entity tag ${versionKey}`, "base64url").slice(0, 27);
}

/** The names derived from the version of an item; they reveal nothing about other users' items. */
export interface VersionNames {
  readonly versionKey: string;
  readonly cacheKey: string;
  readonly entityTag: string;
}

/** Maximum number of cached names of versions. */
const REMEMBERED_MAX = 10_000;

/**
 * Derives the names of versions and caches the latest, because hashing takes a large part of a response from the
 * cache.
 */
export function createVersionNames(): (
  owner: { readonly userId: AccountId; readonly connectionId: ConnectionId },
  item: ItemVersion,
) => VersionNames {
  const remembered = new Map<string, VersionNames>();
  return ({ userId, connectionId }, item) => {
    const { providerItemId, version, etag, size, modifiedAt, contentType } = item;
    const identity = `${connectionId}\0${version}\0${etag}\0${size}\0${modifiedAt}\0${contentType}\0${userId}\0${providerItemId}`;
    const cachedNames = remembered.get(identity);
    if (cachedNames !== undefined) return cachedNames;
    const versionKey = toVersionKey(item);
    const names = {
      versionKey,
      cacheKey: toCacheKey(userId, connectionId, versionKey),
      entityTag: toEntityTag(versionKey),
    };
    if (remembered.size >= REMEMBERED_MAX) remembered.clear();
    remembered.set(identity, names);
    return names;
  };
}
