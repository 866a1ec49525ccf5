import { type Database, isConflict } from "../../../storage/engine/database.ts";
import { hasFingerprint } from "../../../storage/tables/forge/accounts/keys.ts";
import {
  countDeployKeys,
  deleteDeployKey,
  type DeployKey,
  findDeployKey,
  findDeployKeyByFingerprint,
  hasDeployKeyTitle,
  insertDeployKey,
  listDeployKeys,
} from "../../../storage/tables/forge/repositories/deploy-keys.ts";
import { AppError } from "../../errors.ts";
import { reopenRepository } from "./open-repository.ts";
import type { GrantedRepository, OpenedRepository } from "../opened.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { orNotFound } from "../refusals.ts";
import type { RepositoryDetails } from "./repository.view.ts";
import { toDeployKeyId } from "../../../storage/tables/forge/ids.ts";

/** A key and the repository that it opens, with the permission of the key. */
export interface DeployKeyDetails {
  readonly key: DeployKey;
  readonly repository: RepositoryDetails;
}

/** Maximum number of keys of one repository. */
const DEPLOY_KEYS_MAX = 1_000;

/** Keys that open one repository over SSH. */
export type DeployKeys = ReturnType<typeof createDeployKeys>;

export function createDeployKeys({ db }: { readonly db: Database }) {
  return {
    /** Returns a page of the keys, oldest first, and the count of all matches. */
    async list(
      opened: GrantedRepository,
      query: PageWindow & { readonly key_id: number; readonly fingerprint: string },
    ): Promise<{ readonly keys: readonly DeployKeyDetails[]; readonly total: number }> {
      const { keys, total } = await listDeployKeys(db, opened.repository.id, {
        keyId: query.key_id,
        fingerprint: query.fingerprint,
        ...toRows(query),
      });
      return { keys: keys.map((key) => toDetails(key, opened)), total };
    },

    /** Throws `not_found` for an unknown id, and for a key of another repository. */
    async get(opened: GrantedRepository, id: number): Promise<DeployKeyDetails> {
      const key = await findDeployKey(db, opened.repository.id, toDeployKeyId(id));
      return toDetails(orNotFound(key), opened);
    },

    /**
     * Adds a key. Throws `unprocessable` for an invalid key, a key of a user, a key or title that the repository has, and
     * when the repository has the maximum number of keys.
     */
    async add(
      opened: GrantedRepository,
      {
        title,
        key: text,
        isReadOnly,
      }: { readonly title: string; readonly key: string; readonly isReadOnly: boolean },
    ): Promise<DeployKeyDetails> {
      // Loaded by the first use: the library is large, and few daemons ever read a key.
      const { readPublicKey } = await import("../accounts/public-key.ts");
      const read = readPublicKey(text);
      if (read.kind === "refused") throw new AppError("unprocessable", read.message);
      const { content, fingerprint } = read;
      try {
        return await db.transaction(async (tx) => {
          const place = await reopenRepository(tx, opened);
          const repositoryId = place.repository.id;
          if (await hasFingerprint(tx, fingerprint)) throw usedByUser();
          if ((await findDeployKeyByFingerprint(tx, repositoryId, fingerprint)) !== undefined)
            throw keyAdded();
          if (await hasDeployKeyTitle(tx, repositoryId, title)) throw titleUsed();
          if ((await countDeployKeys(tx, repositoryId)) >= DEPLOY_KEYS_MAX)
            throw new AppError(
              "unprocessable",
              `a repository has at most ${DEPLOY_KEYS_MAX} deploy keys`,
            );
          const key = { repositoryId, title, content, fingerprint, isReadOnly };
          return toDetails(await insertDeployKey(tx, key), place);
        });
      } catch (error) {
        if (!isConflict(error)) throw error;
        throw error.constraint?.includes("fingerprint") ? keyAdded() : titleUsed();
      }
    },

    /** Deletes a key; idempotent. Its open connections cannot run further commands. */
    async remove(opened: GrantedRepository, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        await deleteDeployKey(tx, repository.id, toDeployKeyId(id));
      });
    },
  };
}

function toDetails(key: DeployKey, opened: OpenedRepository): DeployKeyDetails {
  const access = key.isReadOnly ? "read" : "write";
  return { key, repository: { ...opened, access, watchers: 0, isSignedIn: true } };
}

const usedByUser = () =>
  new AppError("unprocessable", "Key content has been used as non-deploy key");
const keyAdded = () =>
  new AppError("unprocessable", "This key has already been added to this repository");
const titleUsed = () => new AppError("unprocessable", "A key with the same name already exists");
