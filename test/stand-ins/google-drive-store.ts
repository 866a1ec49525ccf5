import { createHash, randomBytes } from "node:crypto";

/** A file, folder, shortcut or document of the stand-in's drives. */
export interface StoredFile {
  readonly id: string;
  readonly owner: string;
  name: string;
  readonly mimeType: string;
  /** Undefined for the root only. */
  parent: string | undefined;
  /** True only if trashed by itself; items in a trashed folder count as trashed, too. */
  isTrashed: boolean;
  readonly createdAt: number;
  modifiedAt: number;
  /** Counts every change, including invisible ones. */
  version: number;
  /** The last one is the head; empty for items without bytes. */
  readonly revisions: { readonly id: string; readonly bytes: Buffer; readonly md5: string }[];
  readonly shortcutTarget?: string;
}

/** Drives of several accounts. */
export interface DriveStore {
  rootOf(account: string): StoredFile;
  find(id: string): StoredFile | undefined;
  /** Children, trashed ones included, the newest first. */
  children(parent: string): readonly StoredFile[];
  /** Everything of an account but its root. */
  allOf(account: string): readonly StoredFile[];
  isTrashed(file: StoredFile): boolean;
  isBelow(file: StoredFile, folder: string): boolean;
  add(
    file: Pick<StoredFile, "owner" | "name" | "mimeType" | "parent"> &
      Partial<Pick<StoredFile, "id" | "shortcutTarget">>,
    bytes?: Buffer,
  ): StoredFile;
  overwrite(id: string, bytes: Uint8Array): void;
  /** Notes a change of the item and, as Drive may do, of the folder around it. */
  touch(file: StoredFile): void;
  setTrashed(file: StoredFile, isTrashed: boolean): void;
  remove(file: StoredFile): void;
  restoreLast(): void;
  newId(): string;
  usage(account: string): number;
}

export const FOLDER = "application/vnd.google-apps.folder";

export function createDriveStore(accounts: readonly string[]): DriveStore {
  const files = new Map<string, StoredFile>();
  const roots = new Map<string, StoredFile>();
  let lastTrashed: StoredFile | undefined;
  let lastTime = 0;

  /** No two items are of one moment, so that it is certain which was first. */
  function now(): number {
    lastTime = Math.max(Date.now(), lastTime + 1);
    return lastTime;
  }

  function toRevision(bytes: Buffer) {
    return {
      id: `0B${randomBytes(24).toString("base64url")}`,
      bytes,
      md5: createHash("md5").update(bytes).digest("hex"),
    };
  }

  const store: DriveStore = {
    rootOf(account) {
      const root = roots.get(account);
      if (root === undefined) throw new Error("unknown account");
      return root;
    },
    find: (id) => files.get(id),
    children: (parent) => [...files.values()].filter((file) => file.parent === parent).reverse(),
    allOf: (account) =>
      [...files.values()].filter((file) => file.owner === account && file.parent !== undefined),
    isTrashed(file) {
      if (file.isTrashed) return true;
      const parent = file.parent === undefined ? undefined : files.get(file.parent);
      return parent !== undefined && store.isTrashed(parent);
    },
    isBelow(file, folder) {
      if (file.id === folder) return true;
      const parent = file.parent === undefined ? undefined : files.get(file.parent);
      return parent !== undefined && store.isBelow(parent, folder);
    },
    add({ id = store.newId(), ...rest }, bytes) {
      const time = now();
      const file: StoredFile = {
        id,
        ...rest,
        isTrashed: false,
        createdAt: time,
        modifiedAt: time,
        version: 1,
        revisions: bytes === undefined ? [] : [toRevision(bytes)],
      };
      files.set(id, file);
      store.touch(file);
      return file;
    },
    overwrite(id, bytes) {
      const file = files.get(id);
      if (file === undefined) throw new Error("nothing to overwrite");
      file.revisions.push(toRevision(Buffer.from(bytes)));
      file.modifiedAt = now();
      store.touch(file);
    },
    touch(file) {
      file.version += 1;
      const parent = file.parent === undefined ? undefined : files.get(file.parent);
      if (parent !== undefined) parent.version += 1;
    },
    setTrashed(file, isTrashed) {
      file.isTrashed = isTrashed;
      store.touch(file);
      if (isTrashed) lastTrashed = file;
    },
    remove(file) {
      for (const child of store.children(file.id)) store.remove(child);
      files.delete(file.id);
    },
    restoreLast() {
      if (lastTrashed !== undefined) store.setTrashed(lastTrashed, false);
    },
    newId: () => `1${randomBytes(24).toString("base64url")}`,
    usage: (account) =>
      [...files.values()]
        .filter((file) => file.owner === account)
        .flatMap((file) => file.revisions.slice(-1))
        .reduce((sum, { bytes }) => sum + bytes.length, 0),
  };
  for (const account of accounts)
    roots.set(
      account,
      store.add({ owner: account, name: "My Drive", mimeType: FOLDER, parent: undefined }),
    );
  return store;
}
