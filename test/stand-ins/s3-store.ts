import { createHash, randomBytes } from "node:crypto";

/** One version of an object, or the marker of its deletion. */
export interface S3Version {
  readonly id: string;
  readonly isMarker: boolean;
  readonly bytes: Buffer;
  /** Without quotes. */
  readonly etag: string;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
  /** Properties that are returned with the object; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

interface PendingUpload {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: Map<number, { readonly bytes: Buffer; readonly etag: string }>;
}

export interface ListQuery {
  readonly prefix: string;
  readonly delimiter: string;
  readonly after: string;
  readonly max: number;
}

export interface Listed {
  readonly objects: readonly { readonly key: string; readonly version: S3Version }[];
  readonly prefixes: readonly string[];
  /** Position of the next page; undefined at the end. */
  readonly next: string | undefined;
}

/** A bucket in memory. */
export interface S3Store {
  isVersioned: boolean;
  /** Folders that contain delete markers only are listed. */
  listsDeletedFolders: boolean;
  hasMarker(key: string): boolean;
  current(key: string): S3Version | undefined;
  version(key: string, id: string): S3Version | undefined;
  put(
    key: string,
    bytes: Buffer,
    headers: Readonly<Record<string, string>>,
    etag?: string,
  ): S3Version;
  /** With an id deletes that version permanently. */
  remove(key: string, id?: string): { readonly marker: S3Version | undefined };
  list(query: ListQuery): Listed;
  /** Every version of every key, the newest of each first. */
  versions(prefix: string): readonly {
    readonly key: string;
    readonly version: S3Version;
    readonly isLatest: boolean;
  }[];
  readonly uploads: Map<string, PendingUpload>;
  startUpload(key: string, headers: Readonly<Record<string, string>>): string;
  /** Makes every object older, including running uploads. */
  age(ms: number): void;
}

export function createS3Store(clock: () => number): S3Store {
  /** Newest last. */
  const objects = new Map<string, S3Version[]>();
  const uploads = new Map<string, PendingUpload>();

  const store: S3Store = {
    isVersioned: false,
    listsDeletedFolders: false,
    uploads,

    hasMarker: (key) => objects.get(key)?.at(-1)?.isMarker === true,

    current(key) {
      const latest = objects.get(key)?.at(-1);
      return latest?.isMarker === false ? latest : undefined;
    },

    version: (key, id) => objects.get(key)?.find((one) => one.id === id),

    put(key, bytes, headers, etag = md5(bytes)) {
      const id = store.isVersioned ? randomBytes(16).toString("hex") : "null";
      const made = { id, isMarker: false, bytes, etag, modifiedAt: clock(), headers };
      push(key, made);
      return made;
    },

    remove(key, id) {
      if (id !== undefined) {
        set(
          key,
          (objects.get(key) ?? []).filter((one) => one.id !== id),
        );
        return { marker: undefined };
      }
      if (!store.isVersioned) {
        objects.delete(key);
        return { marker: undefined };
      }
      const marker: S3Version = {
        id: randomBytes(16).toString("hex"),
        isMarker: true,
        bytes: Buffer.alloc(0),
        etag: "",
        modifiedAt: clock(),
        headers: {},
      };
      push(key, marker);
      return { marker };
    },

    list({ prefix, delimiter, after, max }) {
      const found: Listed["objects"][number][] = [];
      const prefixes: string[] = [];
      for (const key of sortedKeys(prefix)) {
        const version = store.current(key);
        const at = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
        if (version === undefined && (at < 0 || !store.listsDeletedFolders)) continue;
        const entry = at < 0 ? key : key.slice(0, at + delimiter.length);
        if (compare(entry, after) <= 0 || prefixes.at(-1) === entry) continue;
        if (found.length + prefixes.length === max) {
          const last = [found.at(-1)?.key ?? "", prefixes.at(-1) ?? ""].sort(compare).at(-1);
          return { objects: found, prefixes, next: last };
        }
        if (at < 0 && version !== undefined) found.push({ key, version });
        else prefixes.push(entry);
      }
      return { objects: found, prefixes, next: undefined };
    },

    versions: (prefix) =>
      sortedKeys(prefix).flatMap((key) =>
        (objects.get(key) ?? [])
          .toReversed()
          .map((version, at) => ({ key, version, isLatest: at === 0 })),
      ),

    startUpload(key, headers) {
      const id = randomBytes(16).toString("base64url");
      uploads.set(id, { key, startedAt: clock(), headers, parts: new Map() });
      return id;
    },

    age(ms) {
      for (const [key, versions] of objects)
        objects.set(
          key,
          versions.map((one) => ({ ...one, modifiedAt: one.modifiedAt - ms })),
        );
      for (const [id, one] of uploads) uploads.set(id, { ...one, startedAt: one.startedAt - ms });
    },
  };
  return store;

  function push(key: string, version: S3Version): void {
    const before = objects.get(key) ?? [];
    // Without versions, and for a time without them, there is one that is called null.
    set(key, [...before.filter((one) => one.id !== version.id), version]);
  }

  function set(key: string, versions: S3Version[]): void {
    if (versions.length === 0) objects.delete(key);
    else objects.set(key, versions);
  }

  function sortedKeys(prefix: string): string[] {
    return [...objects.keys()].filter((key) => key.startsWith(prefix)).sort(compare);
  }
}

/** By bytes of UTF-8, as listings are sorted. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

export function md5(bytes: Buffer): string {
  return createHash("md5").update(bytes).digest("hex");
}
