import type { CommitPair } from "./changed-paths.ts";
import type { Git } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { readRecords } from "./records.ts";

/** A file that differs between two commits. A submodule is a file, as in git. */
export interface DiffFile {
  readonly path: string;
  /** The name before; undefined unless the file was renamed or copied. */
  readonly formerPath: string | undefined;
  readonly status: "added" | "deleted" | "changed" | "renamed" | "copied";
  /** Whether git stores it in another way, such as an executable file or a link. */
  readonly changesMode: boolean;
  /** Lines; 0 for a binary file. */
  readonly additions: number;
  readonly deletions: number;
  readonly isBinary: boolean;
}

/** What differs between two commits. */
export interface DiffSummary {
  /** In the order of their paths, at most as many as were requested. */
  readonly files: readonly DiffFile[];
  /** Over all files. */
  readonly changedFiles: number;
  readonly additions: number;
  readonly deletions: number;
}

/** All white space, its amount, or that at the ends of lines. */
export type IgnoredSpace = "all" | "change" | "eol";

const spaceFlags: Readonly<Record<IgnoredSpace, string>> = {
  all: "--ignore-all-space",
  change: "--ignore-space-change",
  eol: "--ignore-space-at-eol",
};

/** Returns the arguments with which git treats lines that differ only in such white space as equal. */
export const toSpaceFlags = (ignored: IgnoredSpace | undefined): readonly string[] =>
  ignored === undefined ? [] : [spaceFlags[ignored]];

export interface DiffOptions extends ReadOptions {
  /** Maximum number of files that are returned. */
  readonly filesMax: number;
  /** Treats lines that differ only in such white space as equal, and leaves out files without another difference. */
  readonly ignoredSpace?: IgnoredSpace;
}

/** Compares two commits file by file; a renamed file is one file. @throws GitError */
export async function readDiff(
  git: Git,
  { before, after }: CommitPair,
  { filesMax, ignoredSpace, ...options }: DiffOptions,
): Promise<DiffSummary> {
  const space = toSpaceFlags(ignoredSpace);
  const args = ["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", ...space, before, after, "--"];
  const listed = new Map<string, RawFile>();
  const files: DiffFile[] = [];
  const totals = { changedFiles: 0, additions: 0, deletions: 0 };
  const records = readRecords(git, args, options);
  // First all files, then the lines of each. Git counts no lines of a file that differs in ignored space alone.
  for await (const record of records) {
    if (record.startsWith(":")) {
      const file = toRawFile(record);
      const path = await nextOf(records);
      if (file.isPair) listed.set(await nextOf(records), { ...file, formerPath: path });
      else listed.set(path, file);
      continue;
    }
    const [added = "", deleted = "", ...names] = record.split("\t");
    const isPair = names.length === 1 && names[0] === "";
    if (isPair) await nextOf(records);
    const path = isPair ? await nextOf(records) : names.join("\t");
    const file = toDiffFile(path, listed.get(path), { added, deleted });
    totals.changedFiles += 1;
    totals.additions += file.additions;
    totals.deletions += file.deletions;
    if (files.length < filesMax) files.push(file);
  }
  return { files, ...totals };
}

interface RawFile {
  readonly letter: string;
  readonly changesMode: boolean;
  /** Whether both names follow. */
  readonly isPair: boolean;
  readonly formerPath?: string;
}

/** Parses `:100644 100755 id id R086`. */
function toRawFile(record: string): RawFile {
  const [formerMode = "", mode = "", , , status = ""] = record.slice(1).split(" ");
  const letter = status.slice(0, 1);
  const isNew = letter === "A" || letter === "D";
  return {
    letter,
    changesMode: !isNew && formerMode !== mode,
    isPair: letter === "R" || letter === "C",
  };
}

const statuses: Readonly<Record<string, DiffFile["status"]>> = {
  A: "added",
  C: "copied",
  D: "deleted",
  R: "renamed",
};

/** @param counts numbers of lines, `-` for a binary file */
function toDiffFile(
  path: string,
  raw: RawFile | undefined,
  counts: { readonly added: string; readonly deleted: string },
): DiffFile {
  return {
    path,
    formerPath: raw?.formerPath,
    status: statuses[raw?.letter ?? ""] ?? "changed",
    changesMode: raw?.changesMode ?? false,
    additions: Number(counts.added) || 0,
    deletions: Number(counts.deleted) || 0,
    isBinary: counts.added === "-",
  };
}

async function nextOf(records: AsyncGenerator<string, void, undefined>): Promise<string> {
  const { value } = await records.next();
  return value ?? "";
}
