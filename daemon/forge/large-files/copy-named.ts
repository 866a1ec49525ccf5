import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readSmallBlobs } from "../../../storage/git/small-blobs.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import {
  ownsLargeFiles,
  insertLargeFile,
  listLargeFiles,
} from "../../../storage/tables/forge/repositories/large-files.ts";
import { parsePointer, POINTER_BYTES_MAX } from "./pointer.ts";

/**
 * Gives a repository those large files of another one that commits name, so that a clone finds them. The commits lie in
 * `directory`, and lead to `head` and not to `base`. Files that the other repository lacks are left out. Idempotent.
 */
export type CopyNamedFiles = (
  directory: string,
  files: { readonly from: RepositoryId; readonly to: RepositoryId },
  commits: { readonly head: string; readonly base: string },
) => Promise<void>;

/** Files of one copy; the others are left out, as in an import. */
const FILES_MAX = 100_000;
/** Files that are recorded in one transaction. */
const BATCH = 1_000;
/** How long the commits of one copy may be read. */
const READ_MS = 60_000;

export function createCopyNamedFiles({
  db,
  git,
}: {
  readonly db: Database;
  readonly git: Git;
}): CopyNamedFiles {
  return async (directory, { from, to }, { head, base }) => {
    if (!(await ownsLargeFiles(db, from))) return;
    const named = new Set<string>();
    const bytesMax = POINTER_BYTES_MAX;
    const signal = AbortSignal.timeout(READ_MS);
    const commits = { commits: [head], without: [base] };
    for await (const bytes of readSmallBlobs(git, { directory, bytesMax, signal, ...commits })) {
      const pointer = parsePointer(bytes);
      if (pointer !== undefined) named.add(pointer.oid);
      if (named.size === FILES_MAX) break;
    }
    const names = [...named];
    for (let at = 0; at < names.length; at += BATCH) {
      const batch = names.slice(at, at + BATCH);
      await db.transaction(async (tx) => {
        for (const { sha256, size } of (await listLargeFiles(tx, from, batch)).values())
          await insertLargeFile(tx, { repositoryId: to, sha256, size });
      });
    }
  };
}
