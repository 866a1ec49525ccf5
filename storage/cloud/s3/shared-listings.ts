/** Content of a folder according to one listing. */
export interface ListedFolder {
  /** Key prefixes of its folders, each ending in a slash. */
  readonly prefixes: ReadonlySet<string>;
  /** Whether it contains a key or a folder other than `own`. */
  hasOther(own: string): boolean;
}

/** A folder of a bucket. */
export interface FolderAt {
  /** Identifies the bucket. */
  readonly scope: string;
  /** The key prefix of the folder's content. */
  readonly prefix: string;
}

export type SharedListings = ReturnType<typeof createSharedListings>;

/** About as long as an upload takes, during which other clients could change the folder unseen anyway. */
const SHARED_MS = 2_000;

interface FolderState {
  uploads: number;
  listing: Promise<ListedFolder | undefined> | undefined;
  listedAt: number;
}

interface BucketState {
  changes: number;
  readonly folders: Map<string, FolderState>;
}

/**
 * Listings of folders that concurrent uploads share. Each upload needs to know whether its folder exists and whether a folder
 * has the name of its file: three listings a file, more than all other requests of a small one (1,000 files of 10 KiB through
 * moto: 5,000 requests without them, 2,040 with them). Shared by all connections of the process, because two may name the
 * same bucket.
 */
export function createSharedListings() {
  const buckets = new Map<string, BucketState>();

  /** Runs `work` between `enter` and the function that it returns, and keeps no state of an idle bucket. */
  async function within<T>(
    scope: string,
    enter: (bucket: BucketState) => () => void,
    work: () => Promise<T>,
  ): Promise<T> {
    const bucket = buckets.get(scope) ?? { changes: 0, folders: new Map<string, FolderState>() };
    buckets.set(scope, bucket);
    const leave = enter(bucket);
    try {
      return await work();
    } finally {
      leave();
      if (bucket.changes === 0 && bucket.folders.size === 0) buckets.delete(scope);
    }
  }

  return {
    /** Runs an upload into a folder. */
    uploading<T>({ scope, prefix }: FolderAt, work: () => Promise<T>): Promise<T> {
      const enter = ({ folders }: BucketState) => {
        const folder = folders.get(prefix) ?? { uploads: 0, listing: undefined, listedAt: 0 };
        folders.set(prefix, folder);
        folder.uploads += 1;
        return () => {
          folder.uploads -= 1;
          if (folder.uploads === 0) folders.delete(prefix);
        };
      };
      return within(scope, enter, work);
    },

    /** Runs a change of a bucket's folders: no listing that overlaps with it is shared. */
    changing<T>(scope: string, work: () => Promise<T>): Promise<T> {
      const enter = (bucket: BucketState) => {
        const forget = () => {
          for (const folder of bucket.folders.values()) folder.listing = undefined;
        };
        bucket.changes += 1;
        forget();
        return () => {
          bucket.changes -= 1;
          forget();
        };
      };
      return within(scope, enter, work);
    },

    /**
     * Returns a listing of the folder that is at most `SHARED_MS` old; changes by other clients since then do not show.
     * Calls `list` when no such listing exists. Undefined while only one upload into the folder runs, while a change
     * runs, and when `list` returns undefined: then the caller sends requests of its own.
     */
    async find(
      { scope, prefix }: FolderAt,
      now: number,
      list: () => Promise<ListedFolder | undefined>,
    ): Promise<ListedFolder | undefined> {
      const bucket = buckets.get(scope);
      const folder = bucket?.folders.get(prefix);
      if (folder === undefined || folder.uploads < 2 || bucket?.changes !== 0) return undefined;
      if (folder.listing === undefined || Math.abs(now - folder.listedAt) > SHARED_MS) {
        folder.listedAt = now;
        folder.listing = list();
      }
      const { listing } = folder;
      const result = await listing;
      // A change that began meanwhile has removed it.
      return folder.listing === listing ? result : undefined;
    },
  };
}
