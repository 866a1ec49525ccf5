import type { Database, Queries } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readSmallBlobs } from "../../../storage/git/small-blobs.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  insertLargeFile,
  listLargeFiles,
  sumLargeFiles,
} from "../../../storage/tables/forge/repositories/large-files.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { parsePointer, POINTER_BYTES_MAX } from "../large-files/pointer.ts";
import type { ImportShare } from "./import-share.ts";
import type { Written } from "./import-writer.ts";
import {
  type AskBatch,
  BATCH,
  type FileAction,
  type LargeFilePointer,
  type LargeFileRemote,
} from "./large-file-batch.ts";
import type { FetchSourceFile } from "./source-files.ts";

export interface ImportLargeFilesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly askBatch: AskBatch;
  readonly fetchFile: FetchSourceFile;
  /** Maximum bytes of one file. */
  readonly uploadBytesMax: number;
  /** Maximum bytes of the files of a repository; 0 is no limit. */
  readonly largeFileBytesMax: number;
}

const FILES_MAX = 500_000;

/** Imports the files of Git LFS that the commits of a repository name, by the batch API of the source. */
export function createLargeFileImport(deps: ImportLargeFilesDeps) {
  const { db, git, runInFolder, askBatch, fetchFile } = deps;
  const { uploadBytesMax, largeFileBytesMax } = deps;

  /** Opens the import of one attempt: the commits are read once. */
  return (repository: ForgeRepository, remote: LargeFileRemote, share: ImportShare) => {
    let named: Promise<readonly LargeFilePointer[]> | undefined;

    /**
     * Imports a batch, from 1. A file that is there is not fetched again. Throws `SliceOver` between two files when the time of
     * the attempt is over.
     */
    return async (page: number, signal: AbortSignal) => {
      if (named === undefined) {
        named = readNamed(repository, signal);
        await named;
        share.restart();
      }
      const all = await named;
      const pointers = all.slice((page - 1) * BATCH, page * BATCH);
      const oids = pointers.map(({ oid }) => oid);
      const present = await listLargeFiles(db, repository.id, oids);
      const missing = pointers.filter(({ oid }) => !present.has(oid) && !share.isLeftOut(oid));
      const answer =
        missing.length === 0 ? undefined : await askBatch(remote, "download", missing, signal);
      let imported = present.size;
      for (const [index, pointer] of missing.entries()) {
        if (index > 0) share.assertTime();
        // A source without Git LFS has no files.
        const link = answer?.files?.get(pointer.oid)?.actions.download;
        if (link !== undefined && (await fetchOne(pointer, link, signal))) imported += 1;
        else share.leaveOut(pointer.oid);
      }
      const written: Written = { imported, skipped: pointers.length - imported };
      return { written, hasMore: page * BATCH < all.length, total: all.length };
    };

    async function fetchOne(
      { oid, size }: LargeFilePointer,
      { url, headers }: FileAction,
      signal: AbortSignal,
    ): Promise<boolean> {
      if (size > Math.min(uploadBytesMax, await roomOf(db), share.fileBytesLeft())) return false;
      const accept = (found: { readonly sha256: string; readonly size: number }) =>
        found.sha256 === oid && found.size === size;
      const found = await fetchFile(
        { url, headers, bytesMax: size, count: share.countFile, accept },
        signal,
      );
      if (found === undefined) return false;
      return db.transaction(async (tx) => {
        // A client may have uploaded others meanwhile.
        if (size > (await roomOf(tx))) return false;
        await insertLargeFile(tx, { repositoryId: repository.id, sha256: oid, size });
        return true;
      });
    }

    async function roomOf(queries: Queries): Promise<number> {
      if (largeFileBytesMax === 0) return Number.POSITIVE_INFINITY;
      return largeFileBytesMax - (await sumLargeFiles(queries, repository.id));
    }
  };

  /** Returns the files that the commits of a repository point to, by name. */
  function readNamed(
    repository: ForgeRepository,
    signal: AbortSignal,
  ): Promise<readonly LargeFilePointer[]> {
    return runInFolder(repository, async (directory) => {
      const named = new Map<string, LargeFilePointer>();
      const bytesMax = POINTER_BYTES_MAX;
      for await (const blob of readSmallBlobs(git, { directory, bytesMax, signal })) {
        const pointer = parsePointer(blob);
        if (pointer !== undefined && named.size < FILES_MAX) named.set(pointer.oid, pointer);
      }
      return [...named.values()].toSorted((one, other) => (one.oid < other.oid ? -1 : 1));
    });
  }
}
