import type { Git } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { unquotePath } from "./quoted-path.ts";
import { toRfc3339 } from "./signatures.ts";

/** Neighbouring lines of a file that one commit wrote last. */
export interface BlamePart {
  readonly commitId: string;
  /** In the blamed version of the file, from 1. */
  readonly firstLine: number;
  readonly lineCount: number;
  /** The file before that commit; undefined where the commit created it. */
  readonly previous: { readonly commitId: string; readonly path: string } | undefined;
}

/** A commit that wrote lines. */
export interface BlameCommit {
  readonly id: string;
  readonly author: { readonly name: string; readonly email: string };
  /** RFC 3339. */
  readonly authoredAt: string;
  readonly summary: string;
}

/** The parts of a file in the order of its lines, and their commits by id. */
export interface Blame {
  readonly parts: readonly BlamePart[];
  readonly commits: ReadonlyMap<string, BlameCommit>;
}

const OUTPUT_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Finds the commit that wrote each line of a file. `length` is that of git's output, which its texts keep in memory.
 * @throws GitError `too_long` when it takes longer than `timeoutMs`
 */
export async function readBlame(
  git: Git,
  {
    commitId,
    path,
    timeoutMs,
    ...options
  }: ReadOptions & {
    readonly commitId: string;
    readonly path: string;
    readonly timeoutMs: number;
  },
): Promise<{ readonly blame: Blame; readonly length: number }> {
  const output = await git.run(["blame", "--incremental", commitId, "--", path], {
    ...options,
    timeoutMs,
    outputBytesMax: OUTPUT_BYTES_MAX,
  });
  return { blame: parseBlame(output.toString("utf8")), length: output.byteLength };
}

const PART = /^([0-9a-f]{40,64}) \d+ (\d+) (\d+)$/;

/** Parses the output of `git blame --incremental`: parts in any order, with the details of a commit at its first one. */
export function parseBlame(output: string): Blame {
  const parts: BlamePart[] = [];
  const commits = new Map<string, BlameCommit>();
  let head: RegExpExecArray | null = null;
  let fields = new Map<string, string>();
  for (const line of output.split("\n")) {
    if (head === null) {
      head = PART.exec(line);
      fields = new Map();
      continue;
    }
    const space = line.indexOf(" ");
    const name = space === -1 ? line : line.slice(0, space);
    fields.set(name, line.slice(name.length + 1));
    if (name !== "filename") continue;
    const [, id = "", first = "", count = ""] = head;
    const previous = /^([0-9a-f]+) (.+)$/.exec(fields.get("previous") ?? "");
    parts.push({
      commitId: id,
      firstLine: Number(first),
      lineCount: Number(count),
      previous: previous === null ? undefined : toPrevious(previous),
    });
    if (fields.has("author-time")) commits.set(id, toCommit(id, fields));
    head = null;
  }
  return { parts: parts.sort((a, b) => a.firstLine - b.firstLine), commits };
}

function toPrevious([, commitId = "", path = ""]: RegExpExecArray) {
  return { commitId, path: unquotePath(path) };
}

function toCommit(id: string, fields: ReadonlyMap<string, string>): BlameCommit {
  return {
    id,
    author: {
      name: fields.get("author") ?? "",
      email: (fields.get("author-mail") ?? "").replace(/^<|>$/g, ""),
    },
    authoredAt: toRfc3339(Number(fields.get("author-time")), fields.get("author-tz") ?? "+0000"),
    summary: fields.get("summary") ?? "",
  };
}
