import { findEntries, type TreeEntry } from "../../../storage/git/trees.ts";
import type { TreeChange } from "../../../storage/git/write-commit.ts";
import { AppError } from "../../errors.ts";
import type { OpenedCode } from "./open-code.ts";
import { cleanFilePath, cleanNewPath } from "../repositories/paths.ts";

/** One change of a file, with clean paths. */
export interface FileOperation {
  readonly kind: "create" | "update" | "delete";
  readonly path: string;
  /** The path before the change; differs from `path` for a move. */
  readonly fromPath: string;
  /** The blob that the file must have; empty for any. */
  readonly sha: string;
  /** Undefined to keep the content of a file that moves. */
  readonly content: Buffer | undefined;
  /** Whether a missing file is created. */
  readonly isUpload: boolean;
}

const kinds = {
  create: "create",
  update: "update",
  upload: "update",
  rename: "update",
  delete: "delete",
} as const;

/**
 * Converts the operation of a request. Refuses with `unprocessable` an unknown operation, a malformed path, and content
 * that is not base64.
 */
export function toFileOperation(request: {
  readonly operation: string;
  readonly path: string;
  readonly fromPath: string;
  readonly sha: string;
  readonly content: string;
}): FileOperation {
  const { operation } = request;
  if (!isOperation(operation))
    throw new AppError(
      "unprocessable",
      `invalid file operation: ${operation} ${request.path}, supported operations are create, update, delete`,
    );
  // A file with an old, odd name can still be deleted, or moved to a better one.
  const path = operation === "delete" ? cleanFilePath(request.path) : cleanNewPath(request.path);
  return {
    kind: kinds[operation],
    path,
    fromPath: request.fromPath === "" ? path : cleanFilePath(request.fromPath),
    sha: request.sha,
    content: operation === "rename" ? undefined : decode(request.content),
    isUpload: operation === "upload",
  };
}

/**
 * Checks operations against the tree of a commit and returns what they change. Refuses with `not_found` a missing file,
 * with `unprocessable` another version of it, a file or folder in the way, and contradictory operations.
 * @param head undefined for a repository without commits
 */
export async function planChanges(
  { git, directory, signal }: OpenedCode,
  head: string | undefined,
  operations: readonly FileOperation[],
): Promise<TreeChange[]> {
  assertApart(operations);
  const paths = operations.flatMap(({ path, fromPath }) => [...toPrefixes(path), fromPath]);
  const entries =
    head === undefined
      ? new Map<string, TreeEntry>()
      : await findEntries(git, head, paths, { directory, signal });
  return operations.flatMap((operation) => plan(operation, entries, head === undefined));
}

function plan(
  operation: FileOperation,
  entries: ReadonlyMap<string, TreeEntry>,
  isEmpty: boolean,
): TreeChange[] {
  const { kind, path, fromPath, content, isUpload } = operation;
  const from = kind === "create" ? undefined : entries.get(fromPath);
  if (kind !== "create") {
    if (from === undefined && !isUpload && !(isEmpty && kind === "update"))
      throw new AppError("not_found", `object does not exist [id: , rel_path: ${fromPath}]`);
    assertVersion(operation, from);
  }
  if (kind === "delete") return [{ kind: "delete", path: fromPath }];
  assertNothingInTheWay(operation, entries);
  const source = content ?? (from === undefined ? undefined : { blobId: from.id });
  if (source === undefined)
    throw new AppError("not_found", `object does not exist [id: , rel_path: ${fromPath}]`);
  const write = {
    kind: "write",
    path,
    isExecutable: from?.mode === "100755",
    content: source,
  } as const;
  return from !== undefined && fromPath !== path
    ? [{ kind: "delete", path: fromPath }, write]
    : [write];
}

function assertVersion({ sha, path }: FileOperation, from: TreeEntry | undefined): void {
  if (from !== undefined && from.type !== "blob")
    throw new AppError("unprocessable", `path is invalid [path: ${path}]`);
  if (sha !== "" && sha !== from?.id)
    throw new AppError(
      "unprocessable",
      `sha does not match [given: ${sha}, expected: ${from?.id ?? ""}]`,
    );
}

function assertNothingInTheWay(
  { kind, path, fromPath }: FileOperation,
  entries: ReadonlyMap<string, TreeEntry>,
): void {
  const blocked = (problem: string, at: string) =>
    new AppError("unprocessable", `${problem} [path: ${at}]`);
  for (const above of toPrefixes(path).slice(0, -1)) {
    const entry = entries.get(above);
    if (entry !== undefined && entry.type !== "tree" && above !== fromPath)
      throw blocked("a file exists where you’re trying to create a subdirectory", above);
  }
  const present = entries.get(path);
  if (present === undefined) return;
  if (present.mode === "120000")
    throw blocked("a symbolic link exists where you’re trying to create a subdirectory", path);
  if (present.type !== "blob")
    throw blocked("a directory exists where you’re trying to create a file", path);
  if (kind === "create" || fromPath !== path) throw blocked("repository file already exists", path);
}

/** Refuses contradictory operations: the same file twice, or a file below a file. */
function assertApart(operations: readonly FileOperation[]): void {
  const taken = new Set<string>();
  for (const { path, fromPath } of operations)
    for (const each of new Set([path, fromPath])) {
      if (taken.has(each))
        throw new AppError("unprocessable", `a file is changed twice [path: ${each}]`);
      taken.add(each);
    }
  for (const { path, kind } of operations) {
    const above = toPrefixes(path)
      .slice(0, -1)
      .find((prefix) => taken.has(prefix));
    if (above !== undefined && kind !== "delete")
      throw new AppError("unprocessable", `a file is changed twice [path: ${above}]`);
  }
}

/** Returns the folders above a path and the path itself: `a`, `a/b`, `a/b/c`. */
function toPrefixes(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function isOperation(word: string): word is keyof typeof kinds {
  return Object.hasOwn(kinds, word);
}

function decode(text: string): Buffer {
  const bytes = decodeBase64(text);
  if (bytes === undefined)
    throw new AppError("unprocessable", "illegal base64 data in the content");
  return bytes;
}

/** Decodes base64, which may have line breaks; undefined for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  const plain = text.replace(/[\r\n]/g, "");
  const isBase64 = plain.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(plain);
  return isBase64 ? Buffer.from(plain, "base64") : undefined;
}
