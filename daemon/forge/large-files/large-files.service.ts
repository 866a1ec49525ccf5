// Git LFS: the files that pointers in commits name. Start here: which repository has which file. locks.service.ts has the locks,
// transfer-tokens.ts the credentials of clients over SSH, cleanup.ts removes files that no commit names.
import type { Readable } from "node:stream";
import type { Database, Queries } from "../../../storage/engine/database.ts";
import { OBJECT_NAME, type ObjectStore } from "../../../storage/objects/object-store.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import {
  findLargeFile,
  insertLargeFile,
  type LargeFile,
  listLargeFiles,
  sumLargeFiles,
  touchLargeFiles,
} from "../../../storage/tables/forge/repositories/large-files.ts";
import { AppError } from "../../errors.ts";
import { openObject } from "../../utilities/open-object.ts";
import { receivePlainBody, uploadTooLarge } from "../../utilities/receive-body.ts";
import { createTransferAccess, type TransferRequest } from "../git/transfer-access.ts";
import type { LargeFileOperation, TransferToken, TransferTokens } from "./transfer-tokens.ts";

/** A file as a client names it: the SHA-256 of its bytes, and their number. */
export interface Pointer {
  readonly oid: string;
  readonly size: number;
}

/** What a client wants to transfer. */
interface Batch {
  readonly operation: LargeFileOperation;
  readonly objects: readonly Pointer[];
  readonly hash_algo?: string | null | undefined;
}

/** The body of an upload, and the length that the client has declared. */
interface UploadedBytes {
  readonly stream: Readable;
  readonly declaredBytes: number | undefined;
}

/** What a client does with one file: it transfers the file, has nothing to do, or cannot. */
export type PlannedFile = Pointer &
  (
    | { readonly step: LargeFileOperation | "none" }
    | { readonly step: "refused"; readonly status: 404 | 422; readonly reason: string }
  );

/** The files of a batch, and the token for their transfers; undefined for an anonymous caller. */
export interface PlannedBatch {
  readonly files: readonly PlannedFile[];
  readonly token: TransferToken | undefined;
}

/** A file with its bytes. */
export interface OpenedLargeFile {
  readonly file: LargeFile;
  /** Opens the bytes from `start` to `end`, both included. Refuses with `unavailable` when they are missing or damaged. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

export interface LargeFilesDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly tokens: Pick<TransferTokens, "issueForFiles">;
  /** Maximum bytes of a file, and of all files of a repository; 0 is no limit for a repository. */
  readonly limits: { readonly fileBytesMax: number; readonly repositoryBytesMax: number };
}

export type LargeFiles = ReturnType<typeof createLargeFiles>;

/**
 * The files of repositories. A repository has only files that were uploaded into it, or that its fork's parent had, so nobody
 * gets at bytes by their name alone. Every function that takes a request refuses as `open` of `createTransferAccess` does.
 */
export function createLargeFiles({ db, store, tokens, limits }: LargeFilesDeps) {
  const access = createTransferAccess(db);
  return {
    /**
     * Tells what a client does with each file. Refuses with `conflict` other names of files than their SHA-256.
     * @param authorization the header of the request
     */
    async plan(
      request: TransferRequest,
      batch: Batch,
      authorization: string | undefined,
    ): Promise<PlannedBatch> {
      const { operation, hash_algo: algorithm } = batch;
      if (algorithm != null && algorithm !== "sha256")
        throw new AppError("conflict", "files are named by their SHA-256 here");
      const level = operation === "upload" ? "write" : "read";
      const { repository } = await access.open(request, level);
      const { caller } = request;
      return {
        files: await planFiles(repository.id, batch),
        token: caller && tokens.issueForFiles(caller, authorization, repository, operation),
      };
    },

    /**
     * Stores a file. Refuses with `unprocessable` bytes that are not those of the pointer, with `too_large` more of them
     * than allowed; a refusal keeps nothing.
     */
    async upload(
      request: TransferRequest,
      pointer: Pointer,
      { stream, declaredBytes }: UploadedBytes,
    ): Promise<void> {
      const { repository } = await access.open(request, "write");
      assertPointer(pointer);
      if (declaredBytes !== undefined && declaredBytes !== pointer.size)
        throw new AppError("unprocessable", "the length of the body is not that of the file");
      await assertRoom(db, repository.id, pointer);
      const received = await receivePlainBody(store, stream, {
        bytesMax: pointer.size,
        declaredBytes,
      });
      try {
        const { sha256, size } = received.digests;
        if (sha256 !== pointer.oid || size !== pointer.size)
          throw new AppError("unprocessable", "the bytes are not those of the file");
        await received.publish();
        await db.transaction(async (tx) => {
          // The right may have ended, and other files have arrived, while the bytes of this one did.
          const { repository: current } = await createTransferAccess(tx).open(request, "write");
          await assertRoom(tx, current.id, pointer);
          await insertLargeFile(tx, { repositoryId: current.id, sha256, size });
        });
      } finally {
        await received.discard();
      }
    },

    /** Refuses with `not_found` a file that has not arrived, with `unprocessable` one of another size. */
    async verify(request: TransferRequest, pointer: Pointer): Promise<void> {
      const { repository } = await access.open(request, "write");
      assertPointer(pointer);
      const file = await findLargeFile(db, repository.id, pointer.oid);
      if (file === undefined || !(await store.has(file.sha256, file.size))) throw noSuchFile();
      if (file.size !== pointer.size) throw otherSize(file);
    },

    /** Opens a file of the repository that a client names. */
    async open(request: TransferRequest, oid: string): Promise<OpenedLargeFile> {
      const { repository } = await access.open(request, "read");
      const found = await find(repository.id, oid);
      if (found === undefined) throw noSuchFile();
      return found;
    },

    find,
  };

  async function planFiles(
    id: RepositoryId,
    { operation, objects: pointers }: Batch,
  ): Promise<readonly PlannedFile[]> {
    const names = pointers.map(({ oid }) => oid).filter((oid) => OBJECT_NAME.test(oid));
    const present = await listLargeFiles(db, id, names);
    if (operation === "download")
      return pointers.map((each) => planDownload(each, present.get(each.oid)));
    // The commits that name them arrive after this: until then, the clean-up must spare what is not uploaded again.
    await db.transaction((tx) => touchLargeFiles(tx, id, [...present.keys()]));
    const room = await roomOf(db, id);
    return pointers.map((each) => planUpload(each, present.get(each.oid), room));
  }

  /** Finds a file of a repository whose code the caller may read. */
  async function find(
    repositoryId: RepositoryId,
    oid: string,
  ): Promise<OpenedLargeFile | undefined> {
    const file = OBJECT_NAME.test(oid) ? await findLargeFile(db, repositoryId, oid) : undefined;
    return file && { file, open: (range) => openObject(store, file, "file", range) };
  }

  /** Returns how many more bytes a repository may have. */
  async function roomOf(queries: Queries, repositoryId: RepositoryId): Promise<number> {
    const { repositoryBytesMax } = limits;
    if (repositoryBytesMax === 0) return Number.POSITIVE_INFINITY;
    return repositoryBytesMax - (await sumLargeFiles(queries, repositoryId));
  }

  async function assertRoom(
    queries: Queries,
    repositoryId: RepositoryId,
    { oid, size }: Pointer,
  ): Promise<void> {
    if (size > limits.fileBytesMax) throw uploadTooLarge(limits.fileBytesMax);
    if ((await findLargeFile(queries, repositoryId, oid)) !== undefined) return;
    if (size > (await roomOf(queries, repositoryId)))
      throw new AppError("too_large", tooMuch(limits.repositoryBytesMax));
  }

  function planUpload(pointer: Pointer, file: LargeFile | undefined, room: number): PlannedFile {
    const { size } = pointer;
    if (!isPointer(pointer)) return refused(pointer, 422, NO_POINTER);
    if (file !== undefined && file.size !== size)
      return refused(pointer, 422, otherSize(file).message);
    if (file !== undefined) return { ...pointer, step: "none" };
    if (size > limits.fileBytesMax)
      return refused(pointer, 422, uploadTooLarge(limits.fileBytesMax).message);
    if (size > room) return refused(pointer, 422, tooMuch(limits.repositoryBytesMax));
    return { ...pointer, step: "upload" };
  }
}

function planDownload(pointer: Pointer, file: LargeFile | undefined): PlannedFile {
  if (!isPointer(pointer)) return refused(pointer, 422, NO_POINTER);
  if (file === undefined) return refused(pointer, 404, NO_FILE);
  if (file.size !== pointer.size) return refused(pointer, 422, otherSize(file).message);
  return { ...pointer, step: "download" };
}

const refused = (pointer: Pointer, status: 404 | 422, reason: string): PlannedFile => ({
  ...pointer,
  step: "refused",
  status,
  reason,
});

const NO_POINTER = "oid must be 64 hexadecimal digits in lower case, and size a number of bytes";
const NO_FILE = "the repository does not have this file";

function isPointer({ oid, size }: Pointer): boolean {
  return OBJECT_NAME.test(oid) && Number.isSafeInteger(size) && size >= 0;
}

function assertPointer(pointer: Pointer): void {
  if (!isPointer(pointer)) throw new AppError("unprocessable", NO_POINTER);
}

const noSuchFile = (): AppError => new AppError("not_found", NO_FILE);
const otherSize = ({ size }: LargeFile): AppError =>
  new AppError("unprocessable", `the file with this oid has ${size} bytes`);
const tooMuch = (bytes: number): string =>
  `the large files of a repository may have ${bytes} bytes in all (max_repository_lfs_bytes)`;
