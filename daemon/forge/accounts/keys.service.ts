import { type Database, isConflict } from "../../../storage/engine/database.ts";
import {
  deletePublicKey,
  findPublicKey,
  type ForgePublicKey,
  hasFingerprint,
  hasKeyTitle,
  insertPublicKey,
  listPublicKeysOf,
} from "../../../storage/tables/forge/accounts/keys.ts";
import { isDeployKey } from "../../../storage/tables/forge/repositories/deploy-keys.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound, userNotFound } from "../refusals.ts";
import { isPublicOnly } from "./scopes.ts";
import { toKeyId } from "../../../storage/tables/forge/ids.ts";

/** A public key with the account that it signs in to. */
export interface OwnedKey {
  readonly key: ForgePublicKey;
  readonly owner: ForgeUser;
}

/** Keys of one user that `listLines` returns. */
const LINES_MAX = 1000;

export type PublicKeys = ReturnType<typeof createPublicKeys>;

/** Public SSH keys of users. */
export function createPublicKeys({
  db,
  clock,
}: {
  readonly db: Database;
  readonly clock: () => number;
}) {
  const ownerOf = async (username: string) => {
    const user = await findUserByName(db, username);
    if (user === undefined) throw userNotFound(username);
    return user;
  };
  const getOwn = async (owner: ForgeUser, id: number): Promise<OwnedKey> => {
    const key = await findPublicKey(db, toKeyId(id));
    if (key?.userId !== owner.id) throw notFound();
    return { key, owner };
  };
  return {
    /** Returns a key of the caller. Throws `not_found` for an unknown id and for another user's. */
    getOwn,

    /**
     * Returns a page of the caller's keys, oldest first, and the count of all. A fingerprint that is not empty filters
     * them.
     */
    async listOwn(
      owner: ForgeUser,
      fingerprint: string,
      window: PageWindow,
    ): Promise<{ readonly keys: readonly OwnedKey[]; readonly total: number }> {
      const query = { fingerprint, ...toRows(window) };
      const { keys, total } = await listPublicKeysOf(db, owner.id, query);
      return { keys: keys.map((key) => ({ key, owner })), total };
    },

    /**
     * Returns all keys of a user as lines for `authorized_keys`, oldest first. Omits comments, because they often are
     * addresses.
     */
    async listLines(username: string): Promise<readonly string[]> {
      const owner = await ownerOf(username);
      const all = { fingerprint: "", limit: LINES_MAX, offset: 0 };
      const { keys } = await listPublicKeysOf(db, owner.id, all);
      return keys.map(({ content }) => content.split(" ", 2).join(" "));
    },

    /** Deletes a key of the caller. Throws `not_found` for an unknown id and for another user's. */
    async deleteOwn(owner: ForgeUser, id: number): Promise<void> {
      await deletePublicKey(db, (await getOwn(owner, id)).key.id);
    },

    /** Adds a key. Throws `unprocessable` for an invalid key, a known key and a used title. */
    async add(
      username: string,
      { title, key: text }: { readonly title: string; readonly key: string },
    ): Promise<OwnedKey> {
      const owner = await ownerOf(username);
      // Loaded by the first use: the library is large, and few daemons ever read a key.
      const { readPublicKey } = await import("./public-key.ts");
      const read = readPublicKey(text);
      if (read.kind === "refused") throw new AppError("unprocessable", read.message);
      const now = clock();
      try {
        const key = await db.transaction(async (tx) => {
          if (await hasFingerprint(tx, read.fingerprint)) throw contentUsed();
          // Two accounts with one key would make the account of an SSH connection ambiguous.
          if (await isDeployKey(tx, read.fingerprint)) throw contentUsed();
          if (await hasKeyTitle(tx, owner.id, title)) throw titleUsed();
          return insertPublicKey(tx, {
            userId: owner.id,
            title,
            content: read.content,
            fingerprint: read.fingerprint,
            createdAt: now,
            lastUsedAt: now,
          });
        });
        return { key, owner };
      } catch (error) {
        if (!isConflict(error)) throw error;
        throw error.constraint?.includes("fingerprint") ? contentUsed() : titleUsed();
      }
    },

    /**
     * Deletes a key with the rights of the user in the path: site administrators may delete any key, other users their
     * own. Throws `not_found` for an unknown id and, for a public-only token, for a private user's key; `forbidden` for
     * another user's key.
     */
    async delete(username: string, id: number, caller: Pick<ForgeCaller, "scope">): Promise<void> {
      const user = await ownerOf(username);
      const key = await findPublicKey(db, toKeyId(id));
      const owner = key && (await findUserById(db, key.userId));
      if (key === undefined || owner === undefined) throw notFound();
      if (isPublicOnly(caller) && owner.visibility !== "public") throw notFound();
      if (!user.isAdmin && key.userId !== user.id)
        throw new AppError("forbidden", "You do not have access to this key");
      await deletePublicKey(db, key.id);
    },
  };
}

const contentUsed = () =>
  new AppError("unprocessable", "Key content has been used as non-deploy key");
const titleUsed = () => new AppError("unprocessable", "Key title has been used");
