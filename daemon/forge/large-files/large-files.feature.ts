import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { Sealer } from "../../../storage/keys/keyring.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { copyLargeFiles } from "../../../storage/tables/forge/repositories/large-files.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeFeature } from "../feature.ts";
import {
  createTransferAccess,
  needsCredentials,
  type TransferRequest,
} from "../git/transfer-access.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import { createLargeFileCleanup } from "./cleanup.ts";
import { largeFileRoutes } from "./large-files.routes.ts";
import { createLargeFiles, type LargeFilesDeps } from "./large-files.service.ts";
import { createFileLocks } from "./locks.service.ts";
import { createCopyNamedFiles } from "./copy-named.ts";
import { createTransferTokens, type LargeFileOperation } from "./transfer-tokens.ts";

export interface ForgeLargeFilesDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly sealer: Sealer;
  readonly clock: () => number;
  readonly urls: ForgeUrls;
  readonly limits: LargeFilesDeps["limits"];
}

/** Where a client that has signed in over SSH transfers large files: the answer of `git-lfs-authenticate`. */
export interface LargeFileAddress {
  readonly href: string;
  readonly header: Readonly<Record<string, string>>;
  readonly expires_in: number;
  readonly expires_at: string;
}

/** Wires up Git LFS. */
export function createForgeLargeFiles(deps: ForgeLargeFilesDeps) {
  const { db, urls } = deps;
  const tokens = createTransferTokens(deps);
  const largeFiles = createLargeFiles({ ...deps, tokens });
  const access = createTransferAccess(db);
  return {
    services: {
      largeFiles,
      tokens,
      /** Below `/:owner/:repo.git/info/lfs`. */
      transferRoutes: largeFileRoutes({ largeFiles, locks: createFileLocks({ db }), urls }),
      authorize,
      copyNamedFiles: createCopyNamedFiles(deps),
    },
    tasks: [createLargeFileCleanup(deps)],
    subscribers: [
      {
        // The commits of a fork name the files of its parent.
        fork: (tx, { repository, parent }) =>
          copyLargeFiles(tx, { from: parent.repository.id, to: repository.id }),
      },
    ],
  } satisfies ForgeFeature;

  /** Lets a caller over SSH transfer large files over HTTP. Refuses as a clone or a push. */
  async function authorize(
    request: TransferRequest,
    operation: LargeFileOperation,
  ): Promise<LargeFileAddress> {
    const owned = await access.open(request, operation === "upload" ? "write" : "read");
    if (request.caller === undefined) throw needsCredentials();
    const issued = tokens.issueSession(request.caller, owned, operation);
    const { token, expiresAt, expiresInSeconds } = issued;
    return {
      href: toUrl(urls, `/${owned.owner.name}/${owned.repository.name}.git/info/lfs`),
      header: { Authorization: `Bearer ${token}` },
      expires_in: expiresInSeconds,
      expires_at: new Date(expiresAt).toISOString(),
    };
  }
}
