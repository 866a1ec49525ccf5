import type { Readable } from "node:stream";
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { findObjects } from "../../../storage/git/objects.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import {
  insertReleaseAsset,
  type NewReleaseAsset,
} from "../../../storage/tables/forge/releases/assets.ts";
import {
  findRelease,
  insertImportedRelease,
} from "../../../storage/tables/forge/releases/releases.ts";
import { AppError } from "../../errors.ts";
import type { GuardedDownload } from "../../outbound/guarded-request.ts";
import { receivePlainBody } from "../../utilities/receive-body.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { findObjectType, toFileName } from "../uploaded-file.ts";
import type { ImportTarget, Written } from "./import-writer.ts";
import { RemoteUnusable } from "./remotes.ts";
import { SourceAway, type SourceAsset, type SourceRelease } from "./source.ts";

export interface ImportReleasesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly store: ObjectStore;
  readonly download: GuardedDownload;
  readonly newUuid: () => string;
  /** Maximum bytes of one file. */
  readonly uploadBytesMax: number;
  /** Maximum bytes of the files of one attempt. */
  readonly bytesMax: number;
}

/** Maximum number of files of a release: lists of releases include all of them. */
const ASSETS_MAX = 250;
/** Time for the download of one file. */
const DOWNLOAD_MS = 1_800_000;

type StoredAsset = Omit<NewReleaseAsset, "releaseId" | "uploaderId">;

/** Imports releases with their files, one release at a time: a release is there with all of its files, or not at all. */
export function createReleaseImport(deps: ImportReleasesDeps) {
  const { db, git, runInFolder, store, download, newUuid, uploadBytesMax, bytesMax } = deps;

  return async (
    { repository, actor }: ImportTarget,
    newestFirst: readonly SourceRelease[],
    {
      origin,
      headers,
      signal,
    }: {
      /** The server that gets the credentials. */
      readonly origin: string;
      readonly headers: Readonly<Record<string, string>>;
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
    let bytes = 0;
    let imported = 0;
    for (const [index, release] of items.entries()) {
      const { tagName } = release;
      // A published release has a tag.
      if (!isRefName(tagName) || (tags[index] === undefined && !release.isDraft)) continue;
      imported += 1;
      // An interrupted attempt has imported it.
      if ((await findRelease(db, repositoryId, { tagName })) !== undefined) continue;
      const assets: StoredAsset[] = [];
      for (const asset of release.assets.slice(0, ASSETS_MAX)) {
        const stored = await storeFile(asset);
        if (stored !== undefined) assets.push(stored);
      }
      await db.transaction(async (tx) => {
        if ((await findRelease(tx, repositoryId, { tagName })) !== undefined) return;
        const { author: _author, assets: _assets, ...fields } = release;
        const made = await insertImportedRelease(tx, {
          ...fields,
          repositoryId,
          authorId: actor.id,
        });
        for (const asset of assets)
          await insertReleaseAsset(tx, { ...asset, releaseId: made.id, uploaderId: actor.id });
      });
    }
    return { imported, skipped: items.length - imported };

    /** Returns undefined for a file that the source does not have, or that is too large. */
    async function storeFile({ name, url }: SourceAsset): Promise<StoredAsset | undefined> {
      const isOwn = new URL(url).origin === origin;
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]);
      const outcome = await download({
        url,
        headers: { "User-Agent": "croft", ...(isOwn ? headers : {}) },
        privateHeaders: ["authorization"],
        signal: timeout,
      });
      signal.throwIfAborted();
      if (outcome.kind === "refused") throw new RemoteUnusable(outcome.reason);
      if (outcome.kind === "failed") throw new SourceAway(outcome.reason);
      if (outcome.status !== 200) {
        outcome.body.destroy();
        if (outcome.status >= 500)
          throw new SourceAway(`a file was answered with status ${outcome.status}`);
        return undefined;
      }
      try {
        return await receive(name, outcome);
      } finally {
        outcome.body.destroy();
      }
    }

    async function receive(
      requestedName: string,
      { body, size }: { readonly body: Readable; readonly size: number | undefined },
    ): Promise<StoredAsset | undefined> {
      const most = Math.min(uploadBytesMax, bytesMax - bytes);
      try {
        const name = toFileName(requestedName);
        const received = await receivePlainBody(store, body, {
          bytesMax: most,
          declaredBytes: size,
        });
        try {
          await received.publish();
          const { sha256, size: length } = received.digests;
          bytes += length;
          const { contentType } = await findObjectType(store, received.digests);
          return { uuid: newUuid(), name, sha256, size: length, contentType, link: "" };
        } finally {
          await received.discard();
        }
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof AppError && error.code === "invalid_argument")
          throw new SourceAway("a file did not arrive whole");
        if (error instanceof AppError && ["too_large", "unprocessable"].includes(error.code))
          return undefined;
        throw error;
      }
    }
  };
}
