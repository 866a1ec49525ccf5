import { lstat, mkdir, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDiskFull } from "../../../../storage/system-errors.ts";
import { segmentsBelow } from "../../../../storage/path-segments.ts";
import type { LocalFolder, LocalFolderAccess } from "../../../../storage/cloud/provider.ts";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import { insertAudit } from "../../../../storage/tables/vault/audit.ts";
import {
  listForeignConnectionsBelowLocalRoots,
  reopenConnections,
} from "../../../../storage/tables/vault/connections.ts";
import {
  findFolderOwner,
  listFolderGrants,
  listForeignFolderGrants,
  replaceFolderGrants,
  setFolderOwner,
} from "../../../../storage/tables/vault/local-folders.ts";
import {
  findVaultUser,
  findVaultUserByHandle,
  type VaultUser,
} from "../../../../storage/tables/vault/users.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import { toFieldError } from "../field-error.ts";
import type { AccountId } from "../../../../storage/tables/vault/ids.ts";

export type LocalFolders = ReturnType<typeof createLocalFolders>;

export interface LocalFoldersDeps {
  readonly db: Database;
  /** Absolute paths. A relative folder lies below the first. */
  readonly localRoots: readonly string[];
  /** The data directory, in which only croft creates folders. */
  readonly ownFolders: readonly string[];
}

/** The provider whose connections are folders of this machine. */
const PROVIDER = "local_folder";
/** Maximum lag, in milliseconds, of a file system's clock behind the database's. */
const CLOCK_TOLERANCE_MS = 100;

/**
 * The folders of this machine that an account may connect: its own, `<local root>/<handle>`, and those that an
 * administrator granted to it (vault decisions, Beyond the document).
 */
export function createLocalFolders({ db, localRoots, ownFolders }: LocalFoldersDeps) {
  const toPath = (folder: string) => resolve(localRoots[0] ?? "/", folder);

  async function getUser(queries: Queries, userId: AccountId): Promise<VaultUser> {
    const user = await findVaultUser(queries, userId);
    if (user === undefined) throw new AppError("not_found", "User not found");
    return user;
  }

  /** Returns why the folder of a handle may contain files of another account; undefined when it cannot. */
  async function findOwnRefusal(
    user: VaultUser,
    grants: readonly string[],
  ): Promise<string | undefined> {
    const owner = await findFolderOwner(db, user.handle);
    const own = localRoots.map((root) => join(root, user.handle.toLowerCase()));
    const existing = await findExisting(own.filter((folder) => !grants.includes(folder)));
    if (owner === user.id) {
      // Nothing else to check, because this folder can no longer be granted to another account.
    } else if (owner !== undefined && existing.size > 0) {
      return "folder_of_deleted_account";
    } else {
      const userFolders = await listTheirFolders(user);
      const isTheirs = (folder: string) =>
        userFolders.some(
          (path) => isBelow(folder, path) || (existing.has(folder) && isBelow(path, folder)),
        );
      if (own.some(isTheirs)) return "folder_of_another_account";
      if (own.some((folder) => localRoots.some((root) => isBelow(folder, root))))
        return "reserved_name";
    }
    for (const [folder, bornAt] of existing) {
      const isPrivate = ownFolders.some((ownFolder) => isBelow(ownFolder, folder));
      if (!isPrivate && bornAt < user.createdAt - CLOCK_TOLERANCE_MS)
        return "folder_older_than_account";
    }
    return undefined;
  }

  /** The folders that other accounts were granted, or connected before folders belonged to accounts. */
  async function listTheirFolders(user: VaultUser): Promise<string[]> {
    const connected = await listForeignConnectionsBelowLocalRoots(db, user.id);
    const paths = [
      ...(await listForeignFolderGrants(db, user.id)),
      ...connected.map((settings) => toPath(settings["root"] ?? "")),
    ];
    // A root may be given by its real path as well.
    const real = await Promise.all(localRoots.map((root) => realpath(root).catch(() => root)));
    return paths.flatMap((path) =>
      localRoots.flatMap((root, index) => {
        const below = segmentsBelow(real[index] ?? root, path);
        return below === undefined ? [path] : [path, join(root, ...below)];
      }),
    );
  }

  /** Why an account may not have this folder; undefined when it may. */
  async function findGrantFault(user: VaultUser, folder: string): Promise<string | undefined> {
    const path = toPath(folder);
    let isBelowRoot = false;
    for (const root of localRoots) {
      if (segmentsBelow(path, root) !== undefined)
        return "This folder contains a local root: it would give access to the folders of all accounts.";
      const [first] = segmentsBelow(root, path) ?? [];
      if (first === undefined) continue;
      isBelowRoot = true;
      const owner =
        (await findFolderOwner(db, first)) ?? (await findVaultUserByHandle(db, first))?.id;
      const isSame = owner === user.id || first.toLowerCase() === user.handle.toLowerCase();
      if (owner !== undefined && !isSame)
        return `This folder belongs to the account ${first.toLowerCase()}.`;
    }
    return isBelowRoot
      ? undefined
      : "This folder does not lie below a local root: add one to the setting local_roots and restart the daemon.";
  }

  return {
    /**
     * The folders that an account may connect. With `create`, creates the own folder (mode 0700) in every local root
     * where it is missing. An account has no own folder while the folder of its handle may hold the files of another
     * account: then `ownRefusal` says why.
     */
    async getAccess(
      userId: AccountId,
      { create }: { readonly create: boolean },
    ): Promise<LocalFolderAccess> {
      const user = await getUser(db, userId);
      const grants = await listFolderGrants(db, userId);
      const granted = grants.flatMap((path): LocalFolder[] => {
        const root = localRoots.find((localRoot) => segmentsBelow(localRoot, path) !== undefined);
        return root === undefined ? [] : [{ root, segments: segmentsBelow(root, path) ?? [] }];
      });
      const ownRefusal = await findOwnRefusal(user, grants);
      if (ownRefusal !== undefined) return { own: [], ownRefusal, granted };
      const handle = user.handle.toLowerCase();
      if (create) {
        await setFolderOwner(db, handle, user.id);
        for (const root of localRoots) await makeFolder(join(root, handle));
      }
      return { own: localRoots.map((root) => ({ root, segments: [handle] })), granted };
    },

    /** The absolute paths of the folders that were granted to an account. Throws `not_found` for an unknown account. */
    async listGrants(userId: AccountId): Promise<readonly string[]> {
      await getUser(db, userId);
      return listFolderGrants(db, userId);
    },

    /**
     * Replaces the folders that are granted to an account and returns their absolute paths. Its connections to folders that
     * are no longer granted stop working. Throws `not_found` for an unknown account, `unprocessable` for a folder that is not
     * below a local root or may hold the files of another account.
     */
    async setGrants(
      caller: VaultCaller,
      userId: AccountId,
      folders: readonly string[],
    ): Promise<readonly string[]> {
      const user = await getUser(db, userId);
      for (const [index, folder] of folders.entries()) {
        const fault = await findGrantFault(user, folder);
        if (fault !== undefined)
          throw toFieldError(["body", "folders", index], fault, "invalid_folder");
      }
      const paths = new Set(folders.map(toPath));
      return db.transaction(async (tx) => {
        await getUser(tx, userId);
        const previous = await listFolderGrants(tx, userId);
        await replaceFolderGrants(tx, userId, paths);
        await reopenConnections(tx, userId, PROVIDER);
        await insertAudit(tx, {
          eventType: "admin.local_folders_changed",
          userId,
          actorId: caller.userId,
          resourceId: userId,
          ipAddress: caller.address,
          metadata: { folders: [...paths].toSorted(), previous_folders: previous },
        });
        return [...paths].toSorted();
      });
    },
  };
}

/** Whether `path` is `folder` or lies below it. Ignores case, as some file systems do. */
function isBelow(folder: string, path: string): boolean {
  return segmentsBelow(folder.toLowerCase(), path.toLowerCase()) !== undefined;
}

/** Returns the existing paths with the times of their creation, in epoch milliseconds. */
async function findExisting(paths: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const path of paths) {
    try {
      found.set(path, (await lstat(path)).birthtimeMs);
    } catch (error) {
      if (!["ENOENT", "ENOTDIR", "EACCES"].includes(codeOf(error))) throw error;
    }
  }
  return found;
}

/** Makes one folder that only the daemon's user may enter. An existing one stays as it is. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (isDiskFull(error))
      throw new AppError("storage_full", "The server's disk is full.", { cause: error });
    // The provider reports a missing or read-only local root if the connection uses it.
    if (!["EEXIST", "ENOENT", "ENOTDIR", "EACCES", "EPERM", "EROFS"].includes(codeOf(error)))
      throw error;
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
