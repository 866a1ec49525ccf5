import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { contentTypeOf } from "../content-type.ts";
import type { Expected, ProviderItem } from "../provider.ts";
import { toId } from "./paths.ts";

const COARSE_NS = 1_000_000n;
const COARSE_SETTLES_MS = 2_000;

/**
 * What rename, move and delete compare: for a file its identity, size and time of change; for a folder its identity
 * alone, since its time moves with every child.
 */
export function toEtag(stats: BigIntStats): string {
  const parts = stats.isDirectory()
    ? [stats.dev, stats.ino]
    : [stats.dev, stats.ino, stats.size, stats.mtimeNs];
  return createHash("sha256").update(parts.join(":")).digest("base64url").slice(0, 22);
}

/** Changes whenever the bytes may have: an inode number alone is used again at once after a removal. */
export function toVersion(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");
}

/** The item that `stats` describes. Links and special files are shown as files without bytes. */
export function toItem(
  parentId: string,
  name: string,
  stats: BigIntStats,
  now: number,
): ProviderItem {
  const isFolder = stats.isDirectory();
  const isFile = stats.isFile();
  return {
    id: toId(parentId, name),
    name,
    kind: isFolder ? "folder" : "file",
    parent: parentId,
    contentType: isFile ? contentTypeOf(name) : undefined,
    size: isFile ? Number(stats.size) : undefined,
    modifiedAt: Number(stats.mtimeNs / 1_000_000n),
    etag: toEtag(stats),
    version: isFile ? toVersion(stats) : undefined,
    ...(isFile && isUnsettled(stats, now) ? { unsettled: true } : {}),
  };
}

/** Whether `stats` are of the item that the caller saw. */
export function isExpected(stats: BigIntStats, expected: Expected): boolean {
  const kindFits =
    expected.kind === undefined || stats.isDirectory() === (expected.kind === "folder");
  return kindFits && (expected.etag === undefined || expected.etag === toEtag(stats));
}

/** Whether two looks show the same file system object. */
export function isSame(
  a: { readonly dev: bigint; readonly ino: bigint },
  b: { readonly dev: bigint; readonly ino: bigint },
): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** A file system that keeps whole milliseconds or seconds can give two changes one time. */
function isUnsettled(stats: BigIntStats, now: number): boolean {
  if (stats.mtimeNs % COARSE_NS !== 0n || stats.ctimeNs % COARSE_NS !== 0n) return false;
  return now - Number(stats.ctimeNs / 1_000_000n) < COARSE_SETTLES_MS;
}
