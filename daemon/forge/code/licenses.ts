import { readBlob } from "../../../storage/git/objects.ts";
import { listTree, type TreeEntry } from "../../../storage/git/trees.ts";
import { shippedLicenses } from "../templates/shipped.ts";
import type { OpenedCode } from "./open-code.ts";
import { findRevision } from "./revisions.ts";

/** The names of files with a license, such as `LICENSE`, `LICENSE-MIT.txt`, `COPYING.LESSER` and `UNLICENSE`. */
const LICENSE_FILE = /^(?:(?:un)?licen[cs]es?|copying)(?:[-_. ].*)?$/i;
/** Maximum number of files that are read, and of their bytes: the longest license has 50 KiB. */
const FILES_MAX = 8;
const FILE_BYTES_MAX = 128 * 1024;
/** The share of words that a text and a license have in common at least: 1 is the same words, as often. */
const LIKENESS_MIN = 0.92;

/** The words of a text with how often each occurs, and the number of all. */
interface WordCounts {
  readonly counts: ReadonlyMap<string, number>;
  readonly total: number;
}

/**
 * Returns the SPDX identifiers of the licenses in the top folder of the default branch, sorted. A text is recognized by its
 * words: it may have other line breaks and another holder than the license, but no further terms.
 */
export function createLicenseFinder() {
  let known: Promise<readonly (readonly [id: string, words: WordCounts])[]> | undefined;
  return async (code: OpenedCode): Promise<string[]> => {
    const revision = await findRevision(code, "");
    if (revision === undefined) return [];
    known ??= loadLicenses();
    const licenses = await known.catch((error: unknown) => {
      // The next request loads them again.
      known = undefined;
      throw error;
    });
    const found = new Set<string>();
    for (const text of await readLicenseFiles(code, revision.commitId)) {
      const id = findMostAlike(countWords(text), licenses);
      if (id !== undefined) found.add(id);
    }
    return [...found].toSorted();
  };
}

function loadLicenses() {
  return Promise.all(
    [...shippedLicenses].map(async ([id, load]) => [id, countWords(await load())] as const),
  );
}

async function readLicenseFiles(
  { git, directory, signal }: OpenedCode,
  commitId: string,
): Promise<string[]> {
  const entries: TreeEntry[] = [];
  for await (const entry of listTree(git, commitId, { directory, signal })) {
    const { path, type, mode, size } = entry;
    const isFile = type === "blob" && mode.startsWith("100") && size <= FILE_BYTES_MAX;
    if (isFile && LICENSE_FILE.test(path)) entries.push(entry);
    if (entries.length === FILES_MAX) break;
  }
  const options = { directory, signal, bytesMax: FILE_BYTES_MAX };
  const texts: string[] = [];
  for (const { id } of entries) texts.push((await readBlob(git, id, options)).toString("utf8"));
  return texts;
}

function findMostAlike(
  words: WordCounts,
  licenses: readonly (readonly [id: string, words: WordCounts])[],
): string | undefined {
  let best: { readonly id: string; readonly likeness: number } | undefined;
  for (const [id, known] of licenses) {
    const likeness = compare(words, known);
    if (likeness >= LIKENESS_MIN && likeness > (best?.likeness ?? 0)) best = { id, likeness };
  }
  return best?.id;
}

/** Counts words without the lines of the holders, whose names differ. */
function countWords(text: string): WordCounts {
  const counts = new Map<string, number>();
  let total = 0;
  const terms = text
    .toLowerCase()
    .replace(/^[ \t#*]*(?:copyright\b|\(c\)|©).*$/gm, "")
    .replace(/<[^<>\n]{0,80}>/g, "");
  for (const [word] of terms.matchAll(/[a-z0-9]+/g)) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
    total += 1;
  }
  return { counts, total };
}

/** Returns the Dice coefficient of two bags of words; 0 without a look at the words where the totals differ too much. */
function compare(text: WordCounts, license: WordCounts): number {
  const both = text.total + license.total;
  const commonMax = Math.min(text.total, license.total);
  if (both === 0 || (2 * commonMax) / both < LIKENESS_MIN) return 0;
  let common = 0;
  for (const [word, count] of license.counts) common += Math.min(count, text.counts.get(word) ?? 0);
  return (2 * common) / both;
}
