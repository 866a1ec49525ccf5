import { unquotePath } from "../../../storage/git/quoted-path.ts";

// The text of a diff as files, hunks and lines with their numbers.

/** A line of a hunk. `note` is git's own, such as that a file has no line break at its end. */
export interface DiffLine {
  readonly kind: "same" | "add" | "del" | "note";
  readonly text: string;
  /** The number of the line before and after the change; undefined on the side that lacks it. */
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/** Neighbouring lines of a file. */
export interface DiffHunk {
  /** `@@ -1,3 +1,4 @@ function name` */
  readonly header: string;
  readonly lines: readonly DiffLine[];
}

/** A file that differs. */
export interface FileDiff {
  readonly path: string;
  /** The path before; undefined unless the file was renamed or copied. */
  readonly formerPath: string | undefined;
  /** Further changes of the file: `new file`, `renamed from …`, `binary`. */
  readonly notes: readonly string[];
  readonly hunks: readonly DiffHunk[];
  readonly additions: number;
  readonly deletions: number;
}

/** Splits a diff into its files. Every line of a file's content begins with another character than that of a header. */
export function parseDiff(text: string): readonly FileDiff[] {
  return text
    .split(/^(?=diff )/m)
    .filter((part) => part.trim() !== "")
    .map((part) => {
      const lines = part.replace(/\n$/, "").split("\n");
      const found = lines.findIndex((line) => line.startsWith("@@"));
      const header = lines.slice(0, found === -1 ? lines.length : found);
      const hunks = found === -1 ? [] : parseHunks(lines.slice(found));
      return {
        path: toPath(header),
        formerPath: toFormerPath(header),
        notes: toNotes(header),
        hunks,
        additions: countOf(hunks, "add"),
        deletions: countOf(hunks, "del"),
      };
    });
}

function toFormerPath(header: readonly string[]): string | undefined {
  const line = header.find((each) => /^(?:rename|copy) from /.test(each));
  return line === undefined ? undefined : unquotePath(line.replace(/^\w+ from /, ""));
}

/** Describes what the header of a file says besides its name. */
function toNotes(header: readonly string[]): string[] {
  const valueOf = (mark: string) =>
    header.find((line) => line.startsWith(mark))?.slice(mark.length);
  const modes = ["old mode ", "new mode "].map(valueOf);
  const described: readonly (readonly [string, string | undefined])[] = [
    ["new file", isPlain(valueOf("new file mode "))],
    ["deleted", isPlain(valueOf("deleted file mode "))],
    ["renamed from ", valueOf("rename from ")],
    ["copied from ", valueOf("copy from ")],
    ["mode ", modes[0] === undefined ? undefined : modes.join(" → ")],
    ["binary", valueOf("Binary files ") === undefined ? undefined : ""],
  ];
  return described.flatMap(([words, value]) =>
    value === undefined ? [] : [words + unquotePath(value)],
  );
}

/** A plain file needs no mode; another one, such as a link or an executable file, does. */
const isPlain = (mode: string | undefined) => (mode === "100644" ? "" : mode && `, mode ${mode}`);

const countOf = (hunks: readonly DiffHunk[], kind: DiffLine["kind"]) =>
  hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.kind === kind).length, 0);

/** Parses the hunks of one file. The first line begins with `@@`. */
export function parseHunks(lines: readonly string[]): DiffHunk[] {
  const hunks: { header: string; lines: DiffLine[] }[] = [];
  let [before, after] = [0, 0];
  for (const line of lines) {
    const numbers = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (numbers !== null) {
      [before, after] = [Number(numbers[1]), Number(numbers[2])];
      hunks.push({ header: line, lines: [] });
      continue;
    }
    const [kind, text] = [toKind(line), line.slice(1)];
    hunks.at(-1)?.lines.push({
      kind,
      text: text.replace(/\r$/, ""),
      before: kind === "same" || kind === "del" ? before++ : undefined,
      after: kind === "same" || kind === "add" ? after++ : undefined,
    });
  }
  return hunks;
}

function toKind(line: string): DiffLine["kind"] {
  if (line.startsWith("+")) return "add";
  if (line.startsWith("-")) return "del";
  return line.startsWith("\\") ? "note" : "same";
}

function toPath(header: readonly string[]): string {
  const names = ["+++ ", "--- "].map((mark) =>
    header
      .find((line) => line.startsWith(mark))
      ?.slice(mark.length)
      .replace(/\t$/, ""),
  );
  const name = names.find((each) => each !== undefined && each !== "/dev/null");
  if (name !== undefined) return unquotePath(name).replace(/^[ab]\//, "");
  const renamed = header.find((line) => line.startsWith("rename to "));
  if (renamed !== undefined) return unquotePath(renamed.slice("rename to ".length));
  // The name of a file without lines occurs only here, twice: "diff --git a/name b/name".
  const [first = ""] = header;
  const both = first.replace(/^diff --git /, "");
  return unquotePath(both.slice((both.length + 1) / 2)).replace(/^b\//, "");
}

/** A part of a line; `isChanged` where it differs from the line that replaces it or that it replaces. */
export interface LinePart {
  readonly text: string;
  readonly isChanged: boolean;
}

/** Lines longer than this are compared as a whole, in characters. */
const COMPARED_LENGTH_MAX = 500;

/**
 * Marks what differs between lines that replace each other: a run of removed lines before a run of as many added ones. Returns
 * the parts by line; a line without a counterpart has none.
 */
export function markChanges(
  lines: readonly DiffLine[],
): ReadonlyMap<DiffLine, readonly LinePart[]> {
  const marked = new Map<DiffLine, readonly LinePart[]>();
  for (let at = 0; at < lines.length;) {
    const removed = runOf(lines, at, "del");
    const added = runOf(lines, at + removed.length, "add");
    if (removed.length === added.length)
      for (const [index, line] of removed.entries()) {
        const other = added[index];
        const parts = other && comparePair(line.text, other.text);
        if (other === undefined || parts === undefined) continue;
        marked.set(line, parts.before).set(other, parts.after);
      }
    at += Math.max(removed.length + added.length, 1);
  }
  return marked;
}

function runOf(lines: readonly DiffLine[], from: number, kind: DiffLine["kind"]) {
  let end = from;
  while (lines[end]?.kind === kind) end += 1;
  return lines.slice(from, end);
}

/** Cuts two lines into what they share at both ends and what differs between; undefined when they share little. */
function comparePair(before: string, after: string) {
  const shorter = Math.min(before.length, after.length);
  if (Math.max(before.length, after.length) > COMPARED_LENGTH_MAX) return undefined;
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  // The halves of a surrogate pair stay together.
  if (/[\ud800-\udbff]/.test(before[head - 1] ?? "")) head -= 1;
  if (tail > 0 && /[\udc00-\udfff]/.test(before.at(-tail) ?? "")) tail -= 1;
  if ((head + tail) * 3 < shorter) return undefined;
  const cut = (text: string): readonly LinePart[] => [
    { text: text.slice(0, head), isChanged: false },
    { text: text.slice(head, text.length - tail), isChanged: true },
    { text: text.slice(text.length - tail), isChanged: false },
  ];
  return { before: cut(before), after: cut(after) };
}
