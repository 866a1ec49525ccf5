/** A line of a file, from 1, and the lines that replace it. */
export interface Replacement {
  readonly line: number;
  readonly lines: readonly string[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*suggestion[ \t]*$/;

/** Returns the lines that a comment suggests in the place of its line: the first block of code whose language is `suggestion`. */
export function findSuggestion(comment: string): readonly string[] | undefined {
  const lines = comment.split(/\r?\n/);
  const block = findBlock(lines);
  return block && lines.slice(block.start + 1, block.end);
}

/** Returns the text of a comment beside the block that it suggests. */
export function withoutSuggestion(comment: string): string {
  const lines = comment.split(/\r?\n/);
  const block = findBlock(lines);
  return block === undefined
    ? comment
    : lines.toSpliced(block.start, block.end - block.start + 1).join("\n");
}

/** Returns the lines of the fences of the block, from 0. A block without an end reaches that of the comment. */
function findBlock(
  lines: readonly string[],
): { readonly start: number; readonly end: number } | undefined {
  const start = lines.findIndex((line) => FENCE.test(line));
  const fence = FENCE.exec(lines[start] ?? "")?.[1];
  if (fence === undefined) return undefined;
  const end = lines.findIndex(
    (line, at) => at > start && line.trim().startsWith(fence) && !/[^`~\s]/.test(line),
  );
  return { start, end: end === -1 ? lines.length : end };
}

/**
 * Replaces lines of a file, whose other bytes and line ends stay. Returns undefined when it lacks one of the lines.
 * @param replacements of different lines
 */
export function replaceLines(
  file: Buffer,
  replacements: readonly Replacement[],
): Buffer | undefined {
  const lines = file.toString("latin1").split("\n");
  const last = lines.at(-1) === "" ? lines.length - 1 : lines.length;
  for (const { line, lines: wanted } of replacements.toSorted((a, b) => b.line - a.line)) {
    if (line < 1 || line > last) return undefined;
    const end = lines[line - 1]?.endsWith("\r") === true ? "\r" : "";
    const written = wanted.map((text) => Buffer.from(text + end).toString("latin1"));
    // A last line without an end leaves that of the line before.
    const isLast = line === lines.length && wanted.length === 0 && line > 1;
    lines.splice(line - 1, 1, ...(isLast ? [""] : written));
  }
  return Buffer.from(lines.join("\n"), "latin1");
}
