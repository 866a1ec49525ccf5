import { hash } from "node:crypto";

/** What the bytes of an item are told apart by. */
export interface VersionFacts {
  readonly providerItemId: string;
  readonly version: string | undefined;
  readonly etag: string | undefined;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly contentType: string | undefined;
}

/** The version key of an item (vault API, preview): another one as soon as any of the facts differs. Never shown. */
export function toVersionKey(item: VersionFacts): string {
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

/** The key of an item's cached bytes: per user, so that nobody can tell what another one has. */
export function toCacheKey(userId: string, connectionId: string, versionKey: string): string {
  return hash("sha256", `${userId}/${connectionId}/${versionKey}`);
}

/** The entity tag of a version: follows from its key without revealing it. */
export function toEntityTag(versionKey: string): string {
  return hash("sha256", `entity tag ${versionKey}`, "base64url").slice(0, 27);
}
