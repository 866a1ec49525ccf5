import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { contentTypeOf } from "../content-type.ts";
import type { Expected, ProviderItem } from "../provider.ts";
import { toId } from "./paths.ts";

const COARSE_NS = 1_000_000n;
const COARSE_SETTLES_MS = 2_000;
const YEAR_0_MS = -62_167_219_200_000;
const YEAR_10000_MS = 253_402_300_800_000;

/** How the items of one root are described. */
export interface Looks {
  /** The item that `stats` describe. Links and special files are shown as files without bytes. */
  toItem(parentId: string, name: string, stats: BigIntStats): ProviderItem;
  /** Whether `stats` are of the item that the caller saw. */
  isExpected(stats: BigIntStats, expected: Expected): boolean;
}

/**
 * @param hasBirthTimes the file system remembers when something was made: a number that was given away is then not
 *   taken for the item that had it before
 */
export function createLooks(hasBirthTimes: boolean, clock: () => number): Looks {
  /**
   * What rename, move and delete compare: for a file its identity, size and time of change; for a folder its identity
   * alone, since its time moves with every child.
   */
  function toEtag(stats: BigIntStats): string {
    const identity = [stats.dev, stats.ino, hasBirthTimes ? stats.birthtimeNs : 0];
    const parts = stats.isDirectory() ? identity : [...identity, stats.size, stats.mtimeNs];
    return createHash("sha256").update(parts.join(":")).digest("base64url").slice(0, 22);
  }

  return {
    toItem(parentId, name, stats) {
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

    isExpected(stats, expected) {
      const kindFits =
        expected.kind === undefined || stats.isDirectory() === (expected.kind === "folder");
      return kindFits && (expected.etag === undefined || expected.etag === toEtag(stats));
    },
  };
}

/** Epoch milliseconds; undefined outside the years that a date is written with, where a slip of a tool has put it. */
function toTime(ns: bigint): number | undefined {
  const ms = Number(ns / 1_000_000n);
  return ms >= YEAR_0_MS && ms < YEAR_10000_MS ? ms : undefined;
}

/** Changes whenever the bytes may have: an inode number alone is used again at once after a removal. */
function toVersion(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");
}

/**
 * Whether an open file holds what it held before. Its time of change is not asked: that moves with its name, too, and who
 * reads a file that is renamed or deleted has it to its end.
 */
export function hasSameBytes(before: BigIntStats, after: BigIntStats): boolean {
  return before.size === after.size && before.mtimeNs === after.mtimeNs;
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
