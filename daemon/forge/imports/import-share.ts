import type { ImportProgress } from "../../../storage/tables/forge/repositories/imports.ts";
import { RemoteUnusable } from "./remotes.ts";

/** Time after which an import leaves its place to others, at the next item that it has written. */
const SLICE_MS = 120_000;

/** An import leaves its place to others within a page; the next attempt repeats the page without what was written. */
export class SliceOver extends Error {}

export type ImportShare = ReturnType<typeof createImportShare>;

/**
 * What one attempt of an import may take: time in its place, and bytes, which count over all attempts: those of files, and
 * those of pages of the API.
 */
export function createImportShare({
  clock,
  bytesMax,
  progress,
}: {
  readonly clock: () => number;
  /** Maximum bytes of the files of an import, and of its pages. */
  readonly bytesMax: number;
  readonly progress: Pick<ImportProgress, "fileBytes" | "pageBytes" | "leftOut" | "forkFiles">;
}) {
  let { fileBytes, pageBytes, forkFiles } = progress;
  const leftOut = new Set(progress.leftOut);
  let until = clock() + SLICE_MS;
  const isOver = () => clock() >= until;
  return {
    isOver,
    /** Begins the time again, after work that no later attempt would find done. */
    restart(): void {
      until = clock() + SLICE_MS;
    },
    /** Throws `SliceOver` when the time is over. Call it after an item was written and before the next one is fetched. */
    assertTime(): void {
      if (isOver()) throw new SliceOver("the import leaves its place to others");
    },
    /** How many bytes of files may still be received. */
    fileBytesLeft: () => Math.max(0, bytesMax - fileBytes),
    countFile(bytes: number): void {
      fileBytes += bytes;
    },
    /** Throws `RemoteUnusable` when the pages are larger than allowed in all. */
    countPage(bytes: number): void {
      pageBytes += bytes;
      if (pageBytes > bytesMax) throw new RemoteUnusable("it sends more than is allowed");
    },
    /** Records that a file of the page is left out. Later attempts at the page do not fetch it again. */
    leaveOut: (name: string) => void leftOut.add(name),
    isLeftOut: (name: string) => leftOut.has(name),
    /** Counts a file of Git LFS that a fork had and the source had not. */
    countForkFile(): void {
      forkFiles += 1;
    },
    /** Forgets the files of the page, which is done. Returns how many of them forks had. */
    endPage(): number {
      const ofForks = forkFiles;
      forkFiles = 0;
      leftOut.clear();
      return ofForks;
    },
    /** What the next attempt begins with. */
    counted: () => ({ fileBytes, pageBytes, forkFiles, leftOut: [...leftOut] }),
  };
}
