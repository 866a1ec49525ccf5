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
import { RemoteUnusable } from "./remotes.ts";
import { SourceAway } from "./source.ts";
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

/** Heads of pull requests, with the address of the fork that they come from. */
interface ForkHeads {
  readonly address: string;
  /** Ids of commits. */
  readonly heads: readonly string[];
}

const FILES_MAX = 500_000;
const NO_CREDENTIALS = { username: "", password: "", token: "" };

/** Imports the files of Git LFS that the commits of a repository name, by the batch API of the source. */
export function createLargeFileImport(deps: ImportLargeFilesDeps) {
  const { db, git, runInFolder, askBatch, fetchFile } = deps;
  const { uploadBytesMax, largeFileBytesMax } = deps;

  /** Opens the import of one attempt: the commits of the repository are read once. */
  return (repository: ForgeRepository, remote: LargeFileRemote, share: ImportShare) => {
    let named: Promise<readonly LargeFilePointer[]> | undefined;
    /** An attempt gets one file at least. */
    let hasTried = false;

    return { importBatch, importOfFork };

    /**
     * Imports a batch, from 1. A file that is there is not fetched again. Throws `SliceOver` between two files when the time of
     * the attempt is over.
     */
    async function importBatch(page: number, signal: AbortSignal) {
      if (named === undefined) {
        named = readNamed(repository, ["--all"], signal);
        await named;
        share.restart();
      }
      const all = await named;
      const pointers = all.slice((page - 1) * BATCH, page * BATCH);
      const imported = await fetchMissing(remote, pointers, signal, () => undefined);
      const written: Written = { imported, skipped: pointers.length - imported };
      return { written, hasMore: page * BATCH < all.length, total: all.length };
    }

    /**
     * Imports those files of pull requests that the source lacks and their fork has. A fork that refuses or does not answer has
     * none: its owner decides on it. Throws as `importBatch`, and `SourceBusy`.
     */
    async function importOfFork({ address, heads }: ForkHeads, signal: AbortSignal): Promise<void> {
      const commits = [...heads, "--not", "--branches", "--tags"];
      const pointers = await readNamed(repository, commits, signal);
      const isSameServer = new URL(address).origin === new URL(remote.address).origin;
      const fork = { address, credentials: isSameServer ? remote.credentials : NO_CREDENTIALS };
      for (let at = 0; at < pointers.length; at += BATCH) {
        const batch = pointers.slice(at, at + BATCH);
        try {
          await fetchMissing(fork, batch, signal, share.countForkFile);
        } catch (error) {
          if (error instanceof RemoteUnusable || error instanceof SourceAway) return;
          throw error;
        }
      }
    }

    /** Fetches the files that are not here. Returns how many of them all are here afterwards. */
    async function fetchMissing(
      from: LargeFileRemote,
      pointers: readonly LargeFilePointer[],
      signal: AbortSignal,
      onFetched: () => void,
    ): Promise<number> {
      const oids = pointers.map(({ oid }) => oid);
      const present = await listLargeFiles(db, repository.id, oids);
      const missing = pointers.filter(({ oid }) => !present.has(oid) && !share.isLeftOut(oid));
      if (missing.length === 0) return present.size;
      // A source without Git LFS has no files.
      const { files } = await askBatch(from, "download", missing, signal);
      let fetched = 0;
      for (const pointer of missing) {
        if (hasTried) share.assertTime();
        hasTried = true;
        const link = files?.get(pointer.oid)?.actions.download;
        if (link === undefined || !(await fetchOne(pointer, link, signal))) {
          share.leaveOut(pointer.oid);
          continue;
        }
        fetched += 1;
        onFetched();
      }
      return present.size + fetched;
    }

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

  /** Returns the files that commits of a repository point to, by name. */
  function readNamed(
    repository: ForgeRepository,
    commits: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly LargeFilePointer[]> {
    return runInFolder(repository, async (directory) => {
      const named = new Map<string, LargeFilePointer>();
      const bytesMax = POINTER_BYTES_MAX;
      for await (const blob of readSmallBlobs(git, { directory, bytesMax, signal, commits })) {
        const pointer = parsePointer(blob);
        if (pointer !== undefined && named.size < FILES_MAX) named.set(pointer.oid, pointer);
      }
      return [...named.values()].toSorted((one, other) => (one.oid < other.oid ? -1 : 1));
    });
  }
}
