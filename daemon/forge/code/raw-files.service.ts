import { PassThrough, Readable, Transform } from "node:stream";
import type { TreeEntry } from "../../../storage/git/trees.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import type { LargeFiles } from "../large-files/large-files.service.ts";
import { parsePointer, POINTER_BYTES_MAX } from "../large-files/pointer.ts";
import { SNIFFED_BYTES } from "../../utilities/receive-body.ts";
import { findShownType, type ShownType } from "../shown-type.ts";
import { startStream } from "./code-stream.ts";
import type { Contents } from "./contents.service.ts";
import type { CodeAccess, CodeRequest, OpenedCode, StreamedCode } from "./open-code.ts";
import { cleanFilePath } from "../repositories/paths.ts";
import { findRevision, findRevisionInPath, getRevision } from "./revisions.ts";

/** A file that is sent as bytes. */
export interface RawFile extends ShownType {
  readonly name: string;
  readonly id: string;
  readonly size: number;
  readonly changedAt: Date | undefined;
  /** Opens the bytes, or a part of them with both ends included. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** Stops git. Idempotent. */
  giveUp(): void;
}

/** An archive of the files of a revision. */
export interface Archive {
  readonly name: string;
  readonly contentType: string;
  readonly stream: Readable;
  giveUp(): void;
}

const archives = [
  { ending: ".zip", format: "zip", contentType: "application/zip" },
  { ending: ".tar.gz", format: "tar.gz", contentType: "application/gzip" },
] as const;

/** Files and archives as bytes. */
export type RawFiles = ReturnType<typeof createRawFiles>;

/**
 * Creates the service. It refuses as `CodeAccess` does; throws `not_found` when the path has no file, and
 * `unprocessable` for a malformed path.
 */
export function createRawFiles({
  access,
  contents,
  findLargeFile,
}: {
  readonly access: CodeAccess;
  readonly contents: Contents;
  readonly findLargeFile: LargeFiles["find"];
}) {
  return {
    /**
     * Returns a file. When `ref` is empty and the default branch has no file at the path, the path may begin with a
     * ref.
     */
    async get(request: CodeRequest, requestedPath: string, ref: string): Promise<RawFile> {
      return (await open(request, requestedPath, ref)).file;
    },

    /** As `get`; of a Git LFS pointer, the file that it names, if the repository has that. */
    async getMedia(request: CodeRequest, requestedPath: string, ref: string): Promise<RawFile> {
      const { file, repositoryId } = await open(request, requestedPath, ref);
      if (file.size > POINTER_BYTES_MAX) return file;
      const bytes = await readWhole(await file.open());
      const pointer = parsePointer(bytes);
      const large = pointer && (await findLargeFile(repositoryId, pointer.oid));
      if (large === undefined) {
        const openPart: RawFile["open"] = async (
          { start, end } = { start: 0, end: bytes.length },
        ) => Readable.from([bytes.subarray(start, end + 1)]);
        return { ...file, open: openPart };
      }
      const { size, sha256 } = large.file;
      const head =
        size === 0 ? bytes.subarray(0, 0) : await readWhole(await large.open(headOf(size)));
      return {
        ...file,
        ...(await findShownType(head)),
        id: sha256,
        size,
        open: (range) => large.open(range),
      };
    },

    /** Refuses with `invalid_argument` an unknown format, with `not_found` an unknown revision. */
    async archive(request: CodeRequest, fileName: string): Promise<Archive> {
      const kind = archives.find(({ ending }) => fileName.endsWith(ending));
      if (kind === undefined) throw new AppError("invalid_argument", `unknown format: ${fileName}`);
      const ref = fileName.slice(0, -kind.ending.length);
      const code = await access.open(request);
      try {
        const revision = ref === "" ? undefined : await findRevision(code, ref);
        if (revision === undefined)
          throw new AppError("not_found", `unrecognized repository reference: ${ref}`);
        const { name } = code.owned.repository;
        const args = ["archive", `--format=${kind.format}`, `--prefix=${name}/`, revision.commitId];
        return {
          name: `${name}-${ref.replaceAll("/", "-")}${kind.ending}`,
          contentType: kind.contentType,
          ...startStream(code, args),
        };
      } catch (error) {
        code.slot.release();
        throw error;
      }
    },
  };

  async function open(request: CodeRequest, requestedPath: string, ref: string) {
    const path = cleanFilePath(requestedPath);
    const code = await access.open(request);
    try {
      const { entry, last } = await findFile(code, path, ref.trim());
      // Of a symbolic link, the text is sent: it is never followed.
      if (entry.type !== "blob") throw notFound();
      const changedAt = last === undefined ? undefined : new Date(last.committedAt);
      const file = await toRawFile(code, entry, changedAt);
      return { file, repositoryId: code.owned.repository.id };
    } catch (error) {
      code.slot.release();
      code.signal.throwIfAborted();
      throw error;
    }
  }

  async function findFile(code: OpenedCode, path: string, ref: string) {
    try {
      const { commitId } = await getRevision(code, ref);
      return await contents.findEntry(code, commitId, path);
    } catch (error) {
      if (ref !== "" || !(error instanceof AppError) || error.code !== "not_found") throw error;
      const found = await findRevisionInPath(code, path);
      if (found === undefined) throw error;
      return contents.findEntry(code, found.revision.commitId, found.path);
    }
  }
}

/** Starts git for the bytes of a file. The slot of `code` is released when git has ended. */
export async function toRawFile(
  code: StreamedCode,
  entry: TreeEntry,
  changedAt?: Date,
): Promise<RawFile> {
  const { stream, giveUp } = startStream(code, ["cat-file", "blob", entry.id]);
  const shown = await findShown(stream, entry.size).catch((error: unknown) => {
    giveUp();
    throw error;
  });
  return {
    name: entry.path.slice(entry.path.lastIndexOf("/") + 1),
    id: entry.id,
    size: entry.size,
    ...shown,
    changedAt,
    open: async (range) => (range === undefined ? stream : cut(stream, range)),
    giveUp,
  };
}

const headOf = (size: number) => ({ start: 0, end: Math.min(SNIFFED_BYTES, size) - 1 });

const readWhole = async (stream: Readable): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>));

/** Detects the type of a file from its first bytes, which stay in the stream. */
async function findShown(stream: Readable, size: number): Promise<ShownType> {
  return findShownType(await readHead(stream, Math.min(SNIFFED_BYTES, size)));
}

/** Returns the first bytes of a stream, which stay in it. */
async function readHead(stream: Readable, size: number): Promise<Buffer> {
  if (size === 0) return Buffer.alloc(0);
  for (;;) {
    const head = stream.read(size) as Buffer | null;
    if (head !== null) {
      stream.unshift(head);
      return head;
    }
    if (stream.readableEnded || stream.destroyed)
      throw new AppError("unavailable", "git could not read the file");
    await new Promise<void>((resolve) => {
      for (const event of ["readable", "end", "close", "error"])
        stream.once(event, () => resolve());
    });
  }
}

/** Returns a part of a stream, both ends included; the rest is not read. */
function cut(
  stream: Readable,
  { start, end }: { readonly start: number; readonly end: number },
): Readable {
  let at = 0;
  const part = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const from = Math.max(start - at, 0);
      const to = Math.min(end + 1 - at, chunk.byteLength);
      at += chunk.byteLength;
      if (from < to) part.push(chunk.subarray(from, to));
      if (at > end) part.push(null);
      done();
    },
  });
  const output = new PassThrough();
  stream.on("error", (error) => output.destroy(error));
  part.on("error", (error) => output.destroy(error));
  part.once("end", () => stream.destroy());
  stream.pipe(part).pipe(output);
  return output;
}
