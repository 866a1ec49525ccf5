// Refs as git's files have them. A run of git takes milliseconds, and its start holds the event loop on a busy machine. The
// files are read at once: a small one takes 20 µs, and by libuv's pool each call takes a turn of the event loop.
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Git } from "./git.ts";
import { findObjects, type ReadOptions } from "./objects.ts";

/** Branches and heads of pull requests, which always name commits, with the characters that most names have. */
const PLAIN_NAME =
  /^refs\/(?:heads(?:\/(?![.-])(?:(?!\.\.|\.lock(?:\/|$))[\p{L}\p{N}\p{M}_.+#=,%-])+)+|pull\/\d+\/head)$/u;
const ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** Longer than an id and a line break. */
const ID_BYTES_MAX = 80;
/** A larger file of packed refs is git's to read: git finds a ref in it without reading all of it. */
const PACKED_BYTES_MAX = 128 * 1024;
/** Files and folders of refs: more are git's to read. */
const ENTRIES_MAX = 64;

/**
 * Returns the commit that a branch or the head of a pull request names, without a run of git. Undefined for every ref that is
 * missing, or that only git can resolve: git tells which.
 */
export function readTip(directory: string, name: string): string | undefined {
  if (!PLAIN_NAME.test(name)) return undefined;
  return unlessFailing(() => {
    // Git packs a ref before it removes the file, so a ref that exists is in one of the two.
    const text = readLoose(join(directory, name)) ?? readPacked(directory, name);
    return text !== undefined && ID.test(text) ? text : undefined;
  });
}

/** Returns the commits that refs or ids name, by their files and by at most one run of git. @throws GitError */
export async function findCommits(
  git: Git,
  names: readonly string[],
  options: ReadOptions,
): Promise<(string | undefined)[]> {
  const tips = names.map((name) => readTip(options.directory, name));
  const rest = names.filter((_, at) => tips[at] === undefined);
  if (rest.length === 0) return tips;
  const expressions = rest.map((name) => `${name}^{commit}`);
  const found = await findObjects(git, expressions, options);
  const ids = new Map(rest.map((name, at) => [name, found[at]?.id]));
  return names.map((name, at) => tips[at] ?? ids.get(name));
}

/**
 * Returns a hash of all branches and tags with the objects that they name: an answer about them is the same while it is the
 * same. Undefined for many of them, and where a ref names another one.
 */
export function hashRefs(directory: string): string | undefined {
  return unlessFailing(() => {
    const lines: string[] = [];
    const folders = ["refs/heads", "refs/tags"];
    let left = ENTRIES_MAX;
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const entries = readdirSync(join(directory, folder), { withFileTypes: true });
      left -= entries.length;
      if (left < 0) return undefined;
      for (const entry of entries) {
        const name = `${folder}/${entry.name}`;
        if (entry.isDirectory()) folders.push(name);
        else if (!name.endsWith(".lock")) {
          const id = readLoose(join(directory, name));
          // A file that is missing by now was packed, or deleted.
          if (id !== undefined && !ID.test(id)) return undefined;
          lines.push(`${id ?? ""} ${name}`);
        }
      }
    }
    const packed = readPackedText(directory);
    if (packed === undefined) return undefined;
    return createHash("sha256").update(lines.toSorted().join("\n")).update(packed).digest("hex");
  });
}

/** Returns the content of the file of a ref; undefined when it has none. */
function readLoose(path: string): string | undefined {
  return withFile(path, (file) => {
    const bytes = Buffer.alloc(ID_BYTES_MAX);
    return bytes.toString("latin1", 0, readSync(file, bytes, 0, ID_BYTES_MAX, 0)).trimEnd();
  });
}

function readPacked(directory: string, name: string): string | undefined {
  const text = readPackedText(directory) ?? "";
  const end = text.indexOf(` ${name}\n`);
  return end === -1 ? undefined : text.slice(text.lastIndexOf("\n", end) + 1, end);
}

/** Returns the file of packed refs, empty without one; undefined when it is too large. */
function readPackedText(directory: string): string | undefined {
  const found = withFile(join(directory, "packed-refs"), (file) => ({
    text: fstatSync(file).size > PACKED_BYTES_MAX ? undefined : readFileSync(file, "utf8"),
  }));
  return found === undefined ? "" : found.text;
}

/** Returns undefined for a path without a file: a ref that is packed, missing, or has others below it. */
function withFile<T>(path: string, read: (file: number) => T): T | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    return read(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (["ENOENT", "ENOTDIR", "EISDIR", "ENAMETOOLONG"].includes(code ?? "")) return undefined;
    throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Git meets the same failure, such as too few file descriptors or a moved folder, and reports it in its own way. */
function unlessFailing<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
