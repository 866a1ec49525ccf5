import { type Git, GitError } from "./git.ts";
import type { ReadOptions } from "./objects.ts";

/** A file with lines that contain a text. */
export interface CodeMatch {
  readonly path: string;
  readonly lines: readonly { readonly number: number; readonly text: string }[];
}

export interface CodeSearchQuery extends ReadOptions {
  readonly commitId: string;
  /** A literal text of one line; letter case does not matter. */
  readonly text: string;
  /** Maximum number of files. */
  readonly filesMax: number;
  /** Milliseconds after which the search ends with the matches so far. */
  readonly timeoutMs: number;
}

/** Maximum number of lines of one file. */
const LINES_MAX = 5;
/** Characters of a line that are kept around a match: a generated file may be one line. */
const LINE_LENGTH_MAX = 300;
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;

/** Searches the text files of a commit. `isWhole` is false when a limit ended the search. @throws GitError */
export async function searchCode(
  git: Git,
  { commitId, text, filesMax, timeoutMs, directory, signal }: CodeSearchQuery,
): Promise<{ readonly matches: readonly CodeMatch[]; readonly isWhole: boolean }> {
  const args = ["grep", "-z", "-n", "-I", "-i", "-F", "--full-name", "--threads=2"];
  const command = [...args, `--max-count=${LINES_MAX}`, "-e", text, commitId];
  const { output, isWhole } = await readBeginning(git, command, { directory, signal, timeoutMs });
  const found = parseMatches(output, `${commitId}:`, text);
  return { matches: found.slice(0, filesMax), isWhole: isWhole && found.length <= filesMax };
}

/** Reads the output of git until it is too long or takes too long, and then stops git. @throws GitError */
async function readBeginning(
  git: Git,
  args: readonly string[],
  { directory, signal, timeoutMs }: ReadOptions & { readonly timeoutMs: number },
): Promise<{ readonly output: string; readonly isWhole: boolean }> {
  signal?.throwIfAborted();
  const child = git.launch(args, { directory, input: "" });
  let isWhole = true;
  const stop = () => {
    isWhole = false;
    child.stop();
  };
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener("abort", child.stop, { once: true });
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size <= OUTPUT_BYTES_MAX) chunks.push(chunk);
    else if (isWhole) stop();
  });
  const { exitCode, stderr } = await child.ended;
  clearTimeout(timer);
  signal?.removeEventListener("abort", child.stop);
  signal?.throwIfAborted();
  // Without a match git ends with 1.
  const isDone = exitCode === 0 || (exitCode === 1 && stderr === "");
  if (isWhole && !isDone)
    throw new GitError(
      "failed",
      `git ${args[0] ?? ""} ended with ${exitCode ?? "a signal"}: ${stderr}`,
    );
  return { output: Buffer.concat(chunks).toString("utf8"), isWhole };
}

/** Parses records of `id:path NUL number NUL line`, each with a line break at its end; the last may be cut off. */
export function parseMatches(output: string, prefix: string, text: string): CodeMatch[] {
  const found = new Map<string, { number: number; text: string }[]>();
  for (let at = 0; at < output.length;) {
    const pathEnd = output.indexOf("\0", at);
    const numberEnd = output.indexOf("\0", pathEnd + 1);
    const end = output.indexOf("\n", numberEnd + 1);
    if (pathEnd === -1 || numberEnd === -1 || end === -1) break;
    const path = output.slice(at, pathEnd).slice(prefix.length);
    const line = {
      number: Number(output.slice(pathEnd + 1, numberEnd)),
      text: cutAround(output.slice(numberEnd + 1, end).replace(/\r$/, ""), text),
    };
    const lines = found.get(path);
    if (lines === undefined) found.set(path, [line]);
    else lines.push(line);
    at = end + 1;
  }
  return [...found].map(([path, lines]) => ({ path, lines }));
}

function cutAround(line: string, text: string): string {
  if (line.length <= LINE_LENGTH_MAX) return line;
  const at = Math.max(line.toLowerCase().indexOf(text.toLowerCase()), 0);
  const start = Math.max(0, at - Math.floor((LINE_LENGTH_MAX - text.length) / 2));
  return line.slice(start, start + LINE_LENGTH_MAX);
}
