import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Dispatcher } from "undici";
import { StreamAborted } from "../cloud/outcomes.ts";
import type { RetryDeps } from "../cloud/retrying.ts";
import { pagesOf } from "../cloud/s3/listing.ts";
import { copyTime } from "../engine/rotating-backup.ts";
import { StorageError } from "../engine/database.ts";
import { persist, toStorageError, type Bucket, type BucketLimits } from "../objects/bucket.ts";
import { openSpan, resumable } from "../objects/bucket-reads.ts";
import { beginStreamUpload } from "../objects/bucket-stream.ts";
import { createBucketClient, type BucketAddress } from "../s3/client.ts";
import { isRefused, type Refused } from "../s3/failures.ts";
import { abortOldUploads } from "../s3/multipart-uploads.ts";
import { HEAD_BYTES, isBackupOf } from "./contents.ts";

/** A backup in a bucket: one object, a tar archive as `writeBackup` writes it. */
export interface BucketBackup {
  /** `croft-home-YYYYMMDD-HHMMSS.tar`, with `-<home>` before the ending when it is scheduled. */
  readonly name: string;
  readonly bytes: number;
  /** The time of its start in epoch milliseconds, from the name, which has whole seconds. */
  readonly createdAt: number;
  /** The home whose schedule wrote it; undefined for a manual backup, which is never pruned. */
  readonly home: string | undefined;
}

export type BucketBackups = ReturnType<typeof createBucketBackups>;

export interface BucketBackupsDeps {
  readonly address: BucketAddress;
  /** Prefix of all keys: letters, digits, `._-` and slashes; empty, or ends in a slash. */
  readonly root: string;
  readonly limits: BucketLimits;
  readonly dispatcher: Dispatcher;
  readonly retries: RetryDeps;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Aborts all requests. */
  readonly signal: AbortSignal;
}

const NAME = /^croft-home-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)(?:-([0-9a-f]{8}))?\.tar$/;

const PREFIX = "croft-home-";

const LISTED_MAX = 10_000;

/** Maximum duration of a backup. An older unfinished upload belongs to no running backup. */
const ABANDONED_MS = 48 * 3_600_000;

/** How much a home may exceed its estimated size, because it grows during a backup. */
const GROWTH = 1.5;

const MEBIBYTE = 1024 * 1024;

/** Interruptions of a download that are resumed, and one more for each GiB. */
const RESUMES_MIN = 3;

/**
 * The backups in a folder of a bucket. An object appears when its upload is complete, so an interrupted upload is never
 * listed. Functions throw `StorageError`, whose `cause` is the `Refused` where the server refused something.
 */
export function createBucketBackups(deps: BucketBackupsDeps) {
  const { root, limits, signal, clock } = deps;
  const client = createBucketClient(deps.address, { guarded: deps.dispatcher, clock });
  const bucket: Bucket = { client, root, limits, retries: deps.retries, signal };
  // Keys are plain ASCII: every encoding of them means the same key.
  const listingSource = {
    client: {
      page: (query: Readonly<Record<string, string>>, by: AbortSignal) =>
        persist(bucket, () => client.page(query, by)),
    },
    findings: { keySpelling: "percent", prefixSpelling: "percent" } as const,
  };

  async function list(): Promise<readonly BucketBackup[]> {
    // A failed listing has no error code of the server; a failed request has.
    const first = await persist(bucket, () =>
      client.page({ prefix: root + PREFIX, "max-keys": "1" }, signal),
    );
    if (isRefused(first)) throw toStorageError("to list backups", first.failure, first);
    const found: BucketBackup[] = [];
    for await (const page of pagesOf(listingSource, { prefix: root + PREFIX }, signal)) {
      if (page.kind !== "ok") throw toStorageError("to list backups", page);
      for (const { key, size } of page.entries) {
        const backup = toBackup(key.slice(root.length), size);
        if (backup !== undefined) found.push(backup);
      }
      // Listings are sorted by name, and so by time.
      found.splice(0, Math.max(0, found.length - LISTED_MAX));
    }
    return found;
  }

  return {
    /** Lists the newest 10,000 backups, oldest first. */
    list,

    /**
     * Uploads the output of `produce` as a new backup named after the current time; `bytes` estimates its size. Aborts
     * the upload when `produce` fails, and first aborts those that a crash left behind more than two days ago.
     * @throws StorageError `conflict` when a backup of the same second exists
     */
    async put<Result>(
      {
        now,
        home,
        bytes,
      }: { readonly now: number; readonly home: string | undefined; readonly bytes: number },
      produce: (write: (chunk: Uint8Array) => Promise<void>) => Promise<Result>,
    ): Promise<{ readonly name: string; readonly result: Result }> {
      const name = `${PREFIX}${copyTime(now)}${home === undefined ? "" : `-${home}`}.tar`;
      if ((await list()).some((backup) => backup.name === name))
        throw new StorageError("conflict", `the bucket has a backup ${name} of the same second`);
      await abortOldUploads(client, root + PREFIX, clock() - ABANDONED_MS, signal);
      const key = root + name;
      const upload = await beginStreamUpload(bucket, { key, partBytes: partBytesFor(bytes) });
      try {
        const result = await produce((chunk) => upload.write(chunk));
        await upload.complete();
        return { name, result };
      } finally {
        await upload.abort();
      }
    },

    /** Opens a backup. The stream is resumed when the connection breaks, and ends with `StorageError` `busy` when that fails. */
    async open({ name, bytes }: BucketBackup): Promise<Readable> {
      const key = root + name;
      const span = { start: 0, end: bytes - 1 };
      const openFrom = (start: number) =>
        openSpan(bucket, { key, size: bytes }, { ...span, start }).then((rest) => rest?.stream);
      const first = await openFrom(0);
      if (first === undefined) throw new StorageError("failed", `the bucket has no backup ${name}`);
      const resumes = RESUMES_MIN + Math.floor(bytes / (1024 * MEBIBYTE));
      return withStorageErrors(resumable(first, span, openFrom, resumes));
    },

    /**
     * Deletes the oldest scheduled backups of a home beyond `count`, and returns how many. Keeps an object whose first
     * bytes are not those of the backup in its name.
     */
    async prune(home: string, count: number): Promise<number> {
      const own = (await list()).filter((backup) => backup.home === home);
      const old = own.slice(0, Math.max(0, own.length - count));
      let deleted = 0;
      for (const backup of old) {
        const { name } = backup;
        if (!(await isBackup(backup))) continue;
        deleted += 1;
        const sent = await persist(bucket, () =>
          client.sendAndDiscard({ method: "DELETE", key: root + name, signal }),
        );
        if (isRefused(sent)) throw toStorageError("to delete a backup", sent.failure, sent);
      }
      return deleted;
    },
  };

  /** Returns whether the object is a backup by its content; only then may it be deleted. */
  async function isBackup({ name, bytes, createdAt }: BucketBackup): Promise<boolean> {
    const end = Math.min(HEAD_BYTES, bytes) - 1;
    const head = await openSpan(bucket, { key: root + name, size: bytes }, { start: 0, end });
    return (
      head !== undefined && isBackupOf(await buffer(withStorageErrors(head.stream)), createdAt)
    );
  }

  /** All parts but the last have the same size, which some servers require. */
  function partBytesFor(bytes: number): number {
    const needed = (bytes * GROWTH) / limits.partsMax;
    return needed <= limits.partBytes ? limits.partBytes : Math.ceil(needed / MEBIBYTE) * MEBIBYTE;
  }
}

function toBackup(name: string, size: number | undefined): BucketBackup | undefined {
  const match = NAME.exec(name);
  if (match === null || size === undefined || size === 0) return undefined;
  const [, year, month, day, hour, minute, second, home] = match;
  const createdAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(createdAt) ? undefined : { name, bytes: size, createdAt, home };
}

/** Converts the failure of a download, so that it does not count as a damaged archive. */
function withStorageErrors(source: Readable): Readable {
  async function* bytes() {
    try {
      yield* source as AsyncIterable<Buffer>;
    } catch (error) {
      if (!(error instanceof StreamAborted)) throw error;
      const { failure } = error;
      const refused: Refused = { kind: "refused", status: 0, code: "", headers: {}, failure };
      throw toStorageError("to send a backup to its end", failure, refused);
    }
  }
  const stream = Readable.from(bytes(), { objectMode: false });
  // A generator that waits for its source notices no other event.
  return stream.on("close", () => source.destroy());
}
