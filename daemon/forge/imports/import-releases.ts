import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { findObjects } from "../../../storage/git/objects.ts";
import {
  insertReleaseAsset,
  type NewReleaseAsset,
} from "../../../storage/tables/forge/releases/assets.ts";
import {
  findRelease,
  insertImportedRelease,
} from "../../../storage/tables/forge/releases/releases.ts";
import { AppError } from "../../errors.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { findShownType } from "../shown-type.ts";
import { toFileName } from "../uploaded-file.ts";
import type { ImportShare } from "./import-share.ts";
import { createAuthors, type ImportTarget, type Written } from "./import-writer.ts";
import type { SourceAsset, SourceRelease } from "./source.ts";
import type { FetchSourceFile } from "./source-files.ts";

export interface ImportReleasesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly fetchFile: FetchSourceFile;
  readonly newUuid: () => string;
  /** Maximum bytes of one file. */
  readonly uploadBytesMax: number;
}

type StoredAsset = Omit<NewReleaseAsset, "releaseId" | "uploaderId">;

/**
 * Imports releases with their files, one release at a time: a release is there with all of its files, or not at all. Throws
 * `SliceOver` between two of them when the time of the attempt is over.
 */
export function createReleaseImport(deps: ImportReleasesDeps) {
  const { db, git, runInFolder, fetchFile, newUuid, uploadBytesMax } = deps;

  return async (
    { repository, actor }: ImportTarget,
    newestFirst: readonly SourceRelease[],
    {
      origin,
      headers,
      share,
      signal,
    }: {
      /** The server that gets the credentials. */
      readonly origin: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly share: ImportShare;
      readonly signal: AbortSignal;
    },
  ): Promise<Written> => {
    const { id: repositoryId } = repository;
    // Ids follow the times: lists order releases of the same second by id.
    const items = newestFirst.toReversed();
    const names = items.map(({ tagName }) =>
      isRefName(tagName) ? `refs/tags/${tagName}` : "refs/none",
    );
    const tags = await runInFolder(repository, (directory) =>
      findObjects(git, names, { directory, signal }),
    );
    let imported = 0;
    let fetched = 0;
    for (const [index, release] of items.entries()) {
      const { tagName } = release;
      // A published release has a tag.
      if (!isRefName(tagName) || (tags[index] === undefined && !release.isDraft)) continue;
      imported += 1;
      // An interrupted attempt has imported it.
      if ((await findRelease(db, repositoryId, { tagName })) !== undefined) continue;
      if (fetched > 0) share.assertTime();
      fetched += 1;
      const assets: StoredAsset[] = [];
      for (const asset of release.assets) {
        const stored = await storeFile(asset);
        if (stored !== undefined) assets.push(stored);
      }
      await db.transaction(async (tx) => {
        if ((await findRelease(tx, repositoryId, { tagName })) !== undefined) return;
        const { author, assets: _assets, ...fields } = release;
        const authorId = await createAuthors(tx, actor)(author);
        const made = await insertImportedRelease(tx, { ...fields, repositoryId, authorId });
        for (const asset of assets)
          await insertReleaseAsset(tx, { ...asset, releaseId: made.id, uploaderId: actor.id });
      });
    }
    return { imported, skipped: items.length - imported };

    /** Returns undefined for a file that is left out. */
    async function storeFile({ name, url }: SourceAsset): Promise<StoredAsset | undefined> {
      const found = await fetchFile(
        {
          url,
          headers: new URL(url).origin === origin ? headers : {},
          bytesMax: Math.min(uploadBytesMax, share.fileBytesLeft()),
          count: share.countFile,
        },
        signal,
      );
      if (found === undefined) return undefined;
      const { sha256, size, head } = found;
      const { contentType } = await findShownType(head);
      return { sha256, size, uuid: newUuid(), name: toName(name), contentType, link: "" };
    }
  };
}

/** Some sources allow names that croft does not. */
function toName(requested: string): string {
  try {
    return toFileName(requested);
  } catch (error) {
    if (error instanceof AppError) return "file";
    throw error;
  }
}
