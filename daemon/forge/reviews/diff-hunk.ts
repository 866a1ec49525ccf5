/** A line of the old or of the new file, from 1. */
export interface DiffLine {
  readonly side: "old" | "new";
  readonly line: number;
}

/** Lines of context before the line of a comment. */
const CONTEXT_LINES = 3;
/** Characters of a line that are kept: each comment has its own copy of the hunk, and a line may have megabytes. */
const LINE_MAX = 4_096;

/**
 * Returns the part of a diff that ends with each of the lines, with its header; undefined for a line that the diff does not
 * have. Long lines are cut. Goes over the diff once, however many lines are wanted.
 * @param diff of one file
 */
export function cutHunks(
  diff: string,
  wanted: readonly DiffLine[],
): readonly (string | undefined)[] {
  const missing = new Set(wanted.map(toKey));
  const found = new Map<string, string>();
  const shown: string[] = [];
  let old = 0;
  let current = 0;
  let isInHunk = false;
  const keep = (line: DiffLine) => {
    const key = toKey(line);
    if (missing.delete(key)) found.set(key, toHunk(shown, old, current));
  };
  for (let at = 0; at < diff.length && missing.size > 0;) {
    const newline = diff.indexOf("\n", at);
    const end = newline === -1 ? diff.length : newline;
    const text = diff.slice(at, end);
    at = end + 1;
    const header = /^@@ -(\d+)(,0(?!\d))?(?:,\d+)? \+(\d+)(,0(?!\d))?(?:,\d+)? @@/.exec(text);
    if (header !== null) {
      // A side without lines names the line before it.
      old = Number(header[1]) - (header[2] === undefined ? 1 : 0);
      current = Number(header[3]) - (header[4] === undefined ? 1 : 0);
      shown.length = 0;
      isInHunk = true;
      continue;
    }
    const sign = text[0] ?? "";
    if (!isInHunk || !" +-".includes(sign) || sign === "") continue;
    if (sign !== "+") old += 1;
    if (sign !== "-") current += 1;
    shown.push(text.length > LINE_MAX ? text.slice(0, LINE_MAX).toWellFormed() : text);
    if (shown.length > CONTEXT_LINES + 1) shown.shift();
    if (sign !== "+") keep({ side: "old", line: old });
    if (sign !== "-") keep({ side: "new", line: current });
  }
  return wanted.map((line) => found.get(toKey(line)));
}

const toKey = ({ side, line }: DiffLine) => `${side} ${line}`;

/** Writes the header of lines that end with these lines of the old and the new file. */
function toHunk(lines: readonly string[], old: number, current: number): string {
  const olds = lines.filter((line) => !line.startsWith("+")).length;
  const news = lines.filter((line) => !line.startsWith("-")).length;
  const range = (last: number, count: number) =>
    `${count === 0 ? last : last - count + 1},${count}`;
  return [`@@ -${range(old, olds)} +${range(current, news)} @@`, ...lines].join("\n");
}
