import { type ObjectSession, withObjectSession } from "../../../storage/git/object-session.ts";
import { findDecodedEntry, findEntries, type TreeEntry } from "../../../storage/git/trees.ts";
import { BLOB_BYTES_MAX } from "../../contract/forge/code/objects.ts";
import { AppError } from "../../errors.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";
import type { OwnedRepository } from "../events.ts";
import { addDetails, type ContentsEntry, type FolderListings, SYMLINK } from "./folder-listings.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "./open-code.ts";
import { cleanPath } from "../repositories/paths.ts";
import { getRevision, type Revision } from "./revisions.ts";

/** A file, or the entries of a folder, of a revision. */
export interface ContentsList {
  readonly owned: OwnedRepository;
  readonly revision: Revision;
  /** The revision as the request named it, or the default branch. */
  readonly ref: string;
  readonly isFolder: boolean;
  readonly entries: readonly ContentsEntry[];
  readonly total: number;
}

/** The costly parts of a response that a request includes. */
export interface ContentParts {
  /** The bytes of a file. */
  readonly withContent: boolean;
  /** The last commits of the entries, for which the history is read. */
  readonly withLast: boolean;
  /** Whether last commits of a folder that are not found soon are left out; a later request finds more. */
  readonly isQuick?: boolean;
}

const ALL_PARTS: ContentParts = { withContent: true, withLast: true };

/**
 * Number of cached entries, each the immutable entry of a commit at a path. Most requests read the same few files of
 * the newest commit.
 */
const ENTRIES_CACHED = 2_000;
/** Bytes of all cached contents and of one, each of which counts with the memory of its place besides. */
const CONTENTS_CACHED = 8 * 1024 * 1024;
const CONTENT_BYTES_MAX = 64 * 1024;
const PLACE_BYTES = 512;

/** Files and folders of repositories. */
export type Contents = ReturnType<typeof createContents>;

/** Creates the service. It refuses as `CodeAccess` does, with `not_found` a missing path, with `unprocessable` a malformed one. */
export function createContents({
  access,
  listings,
}: {
  readonly access: CodeAccess;
  readonly listings: FolderListings;
}) {
  const cached = new Map<string, Pick<ContentsEntry, "entry" | "last">>();
  const contents = createLruCache<Buffer>({
    valueLengthMax: CONTENT_BYTES_MAX + PLACE_BYTES,
    lengthMax: CONTENTS_CACHED,
  });
  return {
    async get(
      request: CodeRequest,
      requestedPath: string,
      ref: string,
      parts: ContentParts = ALL_PARTS,
    ): Promise<ContentsList> {
      const path = cleanPath(requestedPath);
      return access.read(request, async (code) =>
        withObjectSession(code.git, code, (objects) =>
          getWith(objects, code, { path, ref, parts }),
        ),
      );
    },

    /** Returns the entry at a path of a commit; refuses with `not_found`. */
    async findEntry(code: OpenedCode, commitId: string, path: string) {
      return withObjectSession(code.git, code, (objects) =>
        findEntryAnd(code, objects, commitId, path, async () => undefined),
      );
    },
  };

  /** Implements `get` with one git process, and another one for folders. */
  async function getWith(
    objects: ObjectSession,
    code: OpenedCode,
    {
      path,
      ref,
      parts,
    }: { readonly path: string; readonly ref: string; readonly parts: ContentParts },
  ): Promise<ContentsList> {
    const { repository } = code.owned;
    const named = ref.trim() === "" ? repository.defaultBranch : ref.trim();
    const target = { owned: code.owned, ref: named };
    if (repository.isEmpty && path === "")
      return {
        ...target,
        revision: { kind: "branch", name: named, commitId: "" },
        isFolder: true,
        entries: [],
        total: 0,
      };
    const revision = await getRevision(code, named, objects.find);
    if (path === "")
      return {
        ...target,
        revision,
        isFolder: true,
        ...(await listFolder(
          code,
          objects,
          revision,
          { path: "", tree: revision.commitId },
          parts,
        )),
      };
    const readContent = async (entry: TreeEntry) => {
      const isFile = entry.type === "blob" && entry.mode !== SYMLINK;
      if (!parts.withContent || !isFile || entry.size > BLOB_BYTES_MAX) return undefined;
      return readBlob(code, objects, entry.id);
    };
    const { commitId } = revision;
    const { content, ...found } = parts.withLast
      ? await findEntryAnd(code, objects, commitId, path, readContent)
      : { ...(await readEntry(code, objects, commitId, path, readContent)), last: undefined };
    if (found.entry.type === "tree") {
      const place = { path, tree: found.entry.id };
      const folder = await listFolder(code, objects, revision, place, parts);
      return { ...target, revision, isFolder: true, ...folder };
    }
    const entries = await addDetails(code.git, commitId, [found], {
      directory: code.directory,
      signal: code.signal,
    });
    return {
      ...target,
      revision,
      isFolder: false,
      entries: entries.map((each) => ({ ...each, content })),
      total: 1,
    };
  }

  /** Reads a blob, and remembers a small one. */
  async function readBlob({ owned }: OpenedCode, objects: ObjectSession, id: string) {
    const key = `${owned.repository.id} ${id}`;
    const known = contents.get(key);
    if (known !== undefined) return known;
    const content = await objects.read(id, BLOB_BYTES_MAX);
    if (content.byteLength <= CONTENT_BYTES_MAX)
      contents.set(key, copyBytes(content), content.byteLength + PLACE_BYTES);
    return content;
  }

  /** Finds the entry at a path with its last commit, and reads its content. */
  async function findEntryAnd(
    code: OpenedCode,
    objects: ObjectSession,
    commitId: string,
    path: string,
    readContent: (entry: TreeEntry) => Promise<Buffer | undefined>,
  ): Promise<Pick<ContentsEntry, "entry" | "last" | "content">> {
    const { directory, signal, owned } = code;
    const repositoryId = owned.repository.id;
    const key = `${repositoryId} ${commitId} ${path}`;
    const known = cached.get(key);
    if (known !== undefined) return { ...known, content: await readContent(known.entry) };
    const slash = path.lastIndexOf("/");
    const folder = path.slice(0, Math.max(slash, 0));
    const name = path.slice(slash + 1);
    const { entry, content } = await readEntry(code, objects, commitId, path, readContent);
    const last = await listings.findLast(objects, {
      ...{ repositoryId, directory, signal, commitId, path: folder, name },
    });
    const found = { entry, last };
    if (cached.size >= ENTRIES_CACHED) cached.delete(cached.keys().next().value ?? "");
    cached.set(key, found);
    return { ...found, content };
  }

  async function readEntry(
    code: OpenedCode,
    objects: ObjectSession,
    commitId: string,
    path: string,
    readContent: (entry: TreeEntry) => Promise<Buffer | undefined>,
  ) {
    const entry =
      (await objects.findFile(commitId, path)) ?? (await getEntry(code, commitId, path));
    return { entry, content: await readContent(entry) };
  }

  async function listFolder(
    { owned, directory, signal }: OpenedCode,
    objects: ObjectSession,
    { commitId }: Revision,
    { path, tree }: { readonly path: string; readonly tree: string },
    { withLast, isQuick = false }: ContentParts,
  ): Promise<Pick<ContentsList, "entries" | "total">> {
    const place = { repositoryId: owned.repository.id, commitId, path, tree };
    const query = { ...place, directory, signal, isQuick };
    const { entries, total } = await listings.list(objects, query, withLast);
    return { entries, total };
  }
}

/** Copies bytes, which are a part of git's output, into memory of their own. */
function copyBytes(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  bytes.copy(copy);
  return copy;
}

/** Returns the entry at a path of a commit; refuses with `not_found`. */
async function getEntry(
  { git, directory, signal }: OpenedCode,
  commitId: string,
  path: string,
): Promise<TreeEntry> {
  const options = { directory, signal };
  const entry =
    (await findEntries(git, commitId, [path], options)).get(path) ??
    (path.includes("\ufffd") ? await findDecodedEntry(git, commitId, path, options) : undefined);
  if (entry === undefined)
    throw new AppError("not_found", `object does not exist [id: , rel_path: ${path}]`);
  return entry;
}
