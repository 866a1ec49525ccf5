import { z } from "zod";
import type { Database, Queries } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readSmallBlobs } from "../../../storage/git/small-blobs.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  insertLargeFile,
  listLargeFiles,
  sumLargeFiles,
} from "../../../storage/tables/forge/repositories/large-files.ts";
import { isWebUrl } from "../../contract/forge/rules.ts";
import { toAuthorization } from "../../outbound/git-gateway.ts";
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { parsePointer, POINTER_BYTES_MAX } from "../large-files/pointer.ts";
import type { ImportShare } from "./import-share.ts";
import type { Written } from "./import-writer.ts";
import { firstOf, parseAnswer } from "./json-answers.ts";
import { type Credentials, toGitRemote } from "./remote-address.ts";
import { RemoteUnusable } from "./remotes.ts";
import { assertNotLimited, SourceAway } from "./source.ts";
import type { FetchSourceFile } from "./source-files.ts";

export interface ImportLargeFilesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly request: GuardedRequest;
  readonly fetchFile: FetchSourceFile;
  /** Maximum bytes of one file. */
  readonly uploadBytesMax: number;
  /** Maximum bytes of the files of a repository; 0 is no limit. */
  readonly largeFileBytesMax: number;
}

interface Pointer {
  readonly oid: string;
  readonly size: number;
}

/** Files of one request to the batch API, as git-lfs asks. */
const BATCH = 100;
const FILES_MAX = 500_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
const TYPE = "application/vnd.git-lfs+json";

const object = z.object({
  oid: z.string(),
  actions: z
    .object({
      download: z
        .object({
          href: z.string().max(8192).refine(isWebUrl),
          header: z.record(z.string(), z.string()).nullish(),
        })
        .nullish(),
    })
    .nullish(),
});
const batchSchema = z.object({ objects: firstOf(object, BATCH) });

/** Imports the files of Git LFS that the commits of a repository name, by the batch API of the source. */
export function createLargeFileImport(deps: ImportLargeFilesDeps) {
  const { db, clock, git, runInFolder, request, fetchFile } = deps;
  const { uploadBytesMax, largeFileBytesMax } = deps;

  /** Opens the import of one attempt: the commits are read once. */
  return (
    repository: ForgeRepository,
    { address, credentials }: { readonly address: string; readonly credentials: Credentials },
    share: ImportShare,
  ) => {
    const signedIn = toAuthorization(toGitRemote(address, credentials));
    const authorization: Readonly<Record<string, string>> =
      signedIn === undefined ? {} : { Authorization: signedIn };
    let named: Promise<readonly Pointer[]> | undefined;

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
      const links = missing.length === 0 ? new Map() : await findLinks(missing, signal);
      let imported = present.size;
      for (const [index, pointer] of missing.entries()) {
        if (index > 0) share.assertTime();
        const link = links.get(pointer.oid);
        if (link !== undefined && (await fetchOne(pointer, link, signal))) imported += 1;
        else share.leaveOut(pointer.oid);
      }
      const written: Written = { imported, skipped: pointers.length - imported };
      return { written, hasMore: page * BATCH < all.length, total: all.length };
    };

    async function fetchOne(
      { oid, size }: Pointer,
      { url, headers }: { readonly url: string; readonly headers: Record<string, string> },
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

    /** Asks the source where the files are. A source without Git LFS has none. */
    async function findLinks(pointers: readonly Pointer[], signal: AbortSignal) {
      const url = `${address.replace(/\.git$/, "")}.git/info/lfs/objects/batch`;
      const outcome = await request({
        url,
        method: "POST",
        headers: { Accept: TYPE, "Content-Type": TYPE, "User-Agent": "croft", ...authorization },
        body: JSON.stringify({
          operation: "download",
          transfers: ["basic"],
          hash_algo: "sha256",
          objects: pointers,
        }),
        privateHeaders: ["authorization"],
        timeoutMs: TIMEOUT_MS,
        responseBytesMax: ANSWER_BYTES_MAX,
        signal,
      });
      signal.throwIfAborted();
      if (outcome.kind === "refused") throw new RemoteUnusable(outcome.reason);
      if (outcome.kind === "failed") throw new SourceAway(outcome.reason);
      assertNotLimited(outcome, clock());
      if (outcome.status >= 500)
        throw new SourceAway(`Git LFS answered with status ${outcome.status}`);
      if (outcome.status === 401 || outcome.status === 403)
        throw new RemoteUnusable(`Git LFS refuses the credentials (status ${outcome.status})`);
      const links = new Map<
        string,
        { readonly url: string; readonly headers: Record<string, string> }
      >();
      const answered = outcome.status === 200 ? parseBatch(outcome.body) : { objects: [] };
      const { origin } = new URL(url);
      for (const { oid, actions } of answered.objects) {
        const given = actions?.download;
        if (given == null) continue;
        const own = new URL(given.href).origin === origin ? authorization : {};
        links.set(oid, { url: given.href, headers: { ...own, ...given.header } });
      }
      return links;
    }
  };

  /** Returns the files that the commits of a repository point to, by name. */
  function readNamed(
    repository: ForgeRepository,
    signal: AbortSignal,
  ): Promise<readonly Pointer[]> {
    return runInFolder(repository, async (directory) => {
      const named = new Map<string, Pointer>();
      const bytesMax = POINTER_BYTES_MAX;
      for await (const blob of readSmallBlobs(git, { directory, bytesMax, signal })) {
        const pointer = parsePointer(blob);
        if (pointer !== undefined && named.size < FILES_MAX) named.set(pointer.oid, pointer);
      }
      return [...named.values()].toSorted((one, other) => (one.oid < other.oid ? -1 : 1));
    });
  }
}

function parseBatch(body: Buffer): z.output<typeof batchSchema> {
  const answer = parseAnswer(body);
  try {
    return batchSchema.parse(answer);
  } catch (error) {
    throw new RemoteUnusable("the answer of Git LFS is not that of its batch API", error);
  }
}
