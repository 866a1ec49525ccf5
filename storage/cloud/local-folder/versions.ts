import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { contentTypeOf } from "../content-type.ts";
import type { Expected } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import { toId } from "./paths.ts";

const COARSE_NS = 1_000_000n;
const COARSE_CLOCK_MS = 2_000;
const YEAR_0_MS = -62_167_219_200_000;
const YEAR_10000_MS = 253_402_300_800_000;

/** Describes the items of one root. */
export type ItemReader = ReturnType<typeof createItemReader>;

/** @param hasBirthTimes the file system records creation times, which distinguish items that reuse an inode number */
export function createItemReader(hasBirthTimes: boolean, clock: () => number) {
  /**
   * The etag that rename, move and delete compare: for a file its identity, size and change time; for a folder its identity
   * alone, since its time changes with every child.
   */
  function toEtag(stats: BigIntStats): string {
    const identity = [stats.dev, stats.ino, hasBirthTimes ? stats.birthtimeNs : 0];
    const parts = stats.isDirectory() ? identity : [...identity, stats.size, stats.mtimeNs];
    return createHash("sha256").update(parts.join(":")).digest("base64url").slice(0, 22);
  }

  return {
    /** Returns the item that `stats` describe. Links and special files appear as files without bytes. */
    toItem(parentId: string, name: string, stats: BigIntStats): ProviderItem {
      const isFile = stats.isFile();
      return {
        id: toId(parentId, name),
        name,
        kind: stats.isDirectory() ? "folder" : "file",
        parent: parentId,
        contentType: isFile ? contentTypeOf(name) : undefined,
        size: isFile ? Number(stats.size) : undefined,
        modifiedAt: toTime(stats.mtimeNs),
        etag: toEtag(stats),
        version: isFile ? toVersion(stats) : undefined,
        ...(isFile && isUnsettled(stats, clock()) ? { unsettled: true } : {}),
      };
    },

    /** Returns whether `stats` belong to the item that the caller saw. */
    isExpected(stats: BigIntStats, expected: Expected): boolean {
      const kindFits =
        expected.kind === undefined || stats.isDirectory() === (expected.kind === "folder");
      return kindFits && (expected.etag === undefined || expected.etag === toEtag(stats));
    },
  };
}

/** Returns epoch milliseconds; undefined for years outside 1 to 9999, which a faulty tool may have set. */
function toTime(ns: bigint): number | undefined {
  const ms = Number(ns / 1_000_000n);
  return ms >= YEAR_0_MS && ms < YEAR_10000_MS ? ms : undefined;
}

/** Changes whenever the bytes may have changed: an inode number alone is reused at once after a removal. */
function toVersion(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");
}

/**
 * Returns whether an open file is unchanged. Ignores its change time, which also moves with its name: a reader of a
 * file that is renamed or deleted can read it to its end.
 */
export function hasSameBytes(before: BigIntStats, after: BigIntStats): boolean {
  return before.size === after.size && before.mtimeNs === after.mtimeNs;
}

/** Returns whether two stats describe the same file system object. */
export function isSame(
  a: { readonly dev: bigint; readonly ino: bigint },
  b: { readonly dev: bigint; readonly ino: bigint },
): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** A file system with a resolution of milliseconds or seconds can record two changes with one time. */
function isUnsettled(stats: BigIntStats, now: number): boolean {
  if (stats.mtimeNs % COARSE_NS !== 0n || stats.ctimeNs % COARSE_NS !== 0n) return false;
  return now - Number(stats.ctimeNs / 1_000_000n) < COARSE_CLOCK_MS;
}
