import { rm } from "node:fs/promises";
import type { Dispatcher } from "undici";
import type { ReadFailure } from "../cloud/outcomes.ts";
import type { RetryDeps } from "../cloud/retrying.ts";
import { createBucketClient, type BucketAddress } from "../s3/client.ts";
import { pagesOf, type KeyEntry } from "../cloud/s3/listing.ts";
import { isRefused, type Refused } from "../s3/failures.ts";
import { abortOldUploads } from "../s3/multipart-uploads.ts";
import { encodePath } from "../s3/signing.ts";
import { persist, toStorageError, type Bucket, type BucketLimits } from "./bucket.ts";
import { openSpan, resumable } from "./bucket-reads.ts";
import { putFile } from "./bucket-uploads.ts";
import { OBJECT_NAME, type ObjectIdentity, type ObjectStore } from "./object-store.ts";
import { createObjectWriter, createPlainWriter, type WriterDeps } from "./object-writer.ts";
import { createVerifiedOpen, type ObjectDamage, type OpenedCopy } from "./verified-reads.ts";

/**
 * Objects in a bucket that several daemons share. Every copy has its own key, `objects/<sha256>/<id>`: the sweep of one
 * daemon removes only keys that it has seen to be old, so it cannot remove an object that another daemon is writing,
 * even if the bytes are equal. Of several copies the newest counts, and sweeps keep that one.
 */
export interface BucketObjects extends ObjectStore {
  /** Probes the bucket: writes, reads, lists and removes a tiny object. Returns why it is unusable, or undefined. */
  prove(): Promise<Refused | undefined>;
  /**
   * Claims the bucket for `owner` if it has no owner, and returns the owner. A sweep must not touch another owner's objects.
   */
  claim(owner: string): Promise<{ readonly kind: "owned"; readonly by: string } | Refused>;
  /** Returns why the bucket cannot be read right now, or undefined. Takes a few seconds at most. */
  reach(): Promise<ReadFailure | undefined>;
  /** Aborts running requests. */
  close(): void;
}

export interface BucketObjectsDeps extends WriterDeps {
  readonly address: BucketAddress;
  /** Prefix of all keys: letters, digits, `._-` and slashes; empty, or ends in a slash. */
  readonly root: string;
  readonly limits: BucketLimits;
  readonly dispatcher: Dispatcher;
  readonly retries: RetryDeps;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Called for every object that does not match its SHA-256. */
  readonly onDamaged: (damage: ObjectDamage) => void;
}

/** Sizes that every server accepts. */
export const BUCKET_LIMITS: BucketLimits = {
  partBytes: 8 * 1024 * 1024,
  partsMax: 10_000,
  partsAtOnce: 2,
};

/** A copy of an object in the bucket. */
interface Copy {
  readonly key: string;
  readonly sha256: string;
  readonly size: number;
  /** Epoch milliseconds of the server, whole seconds. */
  readonly modifiedAt: number;
}

const COPY = /^objects\/([0-9a-f]{64})\/[0-9a-f-]{36}$/;
/** Cached keys, which save a listing. */
const KNOWN_MAX = 10_000;
/** Damaged copies move here, below the root. They are never read or removed. */
const QUARANTINE = "quarantine";
const OWNER_BYTES_MAX = 1024;
/** Time limit of the first response for a copy, after which it counts as unavailable. */
const REACHABLE_MS = 3_000;

export function createBucketObjects(deps: BucketObjectsDeps): BucketObjects {
  const { root, newId, clock } = deps;
  const ending = new AbortController();
  const { signal } = ending;
  const client = createBucketClient(deps.address, { guarded: deps.dispatcher, clock });
  const bucket: Bucket = { client, root, limits: deps.limits, retries: deps.retries, signal };
  // Keys are plain ASCII: every encoding of them means the same key.
  const listingSource = {
    client: {
      page: (query: Readonly<Record<string, string>>, by: AbortSignal) =>
        persist(bucket, () => client.page(query, by)),
    },
    findings: { keySpelling: "percent", prefixSpelling: "percent" } as const,
  };
  const locations = createMemory();

  /** Removes a key of this store. */
  async function remove(key: string): Promise<void> {
    const sent = await persist(bucket, () =>
      client.sendAndDiscard({ method: "DELETE", key, signal }),
    );
    if (isRefused(sent)) throw toStorageError("to remove an object", sent.failure);
  }

  async function* list(below: string): AsyncGenerator<KeyEntry, void, undefined> {
    for await (const page of pagesOf(listingSource, { prefix: root + below }, signal)) {
      if (page.kind !== "ok") throw toStorageError("to list objects", page);
      yield* page.entries;
    }
  }

  /** Yields the copies of each object, one object after the other: listings are sorted. */
  async function* listCopies(below: string): AsyncGenerator<readonly Copy[], void, undefined> {
    let copies: Copy[] = [];
    for await (const entry of list(below)) {
      const copy = toCopy(root, entry);
      // Another program's key.
      if (copy === undefined) continue;
      if (copies.length > 0 && copies[0]?.sha256 !== copy.sha256) {
        yield copies;
        copies = [];
      }
      copies.push(copy);
    }
    if (copies.length > 0) yield copies;
  }

  async function findCopy(sha256: string, size: number): Promise<Copy | undefined> {
    for await (const copies of listCopies(`objects/${sha256}/`)) {
      const found = newestOf(copies.filter((copy) => copy.size === size));
      if (found !== undefined) locations.remember(sha256, found);
      return found;
    }
    return undefined;
  }

  /** Writes a tiny object to learn the server's time: ages must be compared with the clock that wrote the dates. */
  async function probe(): Promise<{ readonly kind: "ok"; readonly serverTime: number } | Refused> {
    const key = `${root}probe/${newId()}`;
    const body = Buffer.from("croft");
    const put = await persist(bucket, () =>
      client.sendAndDiscard({ method: "PUT", key, body, signal }),
    );
    if (isRefused(put)) return put;
    const head = await persist(bucket, () => client.head(key, signal));
    const removed = await persist(bucket, () =>
      client.sendAndDiscard({ method: "DELETE", key, signal }),
    );
    if (isRefused(head)) return head;
    if (isRefused(removed)) return removed;
    return { kind: "ok", serverTime: head.modifiedAt ?? clock() };
  }

  async function openCopy(
    sha256: string,
    size: number,
    range?: { readonly start: number; readonly end: number },
  ): Promise<OpenedCopy | undefined> {
    if (!OBJECT_NAME.test(sha256)) return undefined;
    const span = { start: range?.start ?? 0, end: Math.min(range?.end ?? Infinity, size - 1) };
    const remembered = locations.recall(sha256);
    for (const first of [remembered?.size === size ? remembered : undefined, undefined]) {
      const copy = first ?? (await findCopy(sha256, size));
      if (copy === undefined) return undefined;
      const opened = await openSpan(bucket, copy, span);
      if (opened !== undefined) {
        const reopen = (start: number) =>
          openSpan(bucket, copy, { ...span, start }).then((rest) => rest?.stream);
        return {
          id: `${copy.key} ${opened.etag}`,
          stream: resumable(opened.stream, span, reopen),
        };
      }
      // The sweep of another daemon has removed this copy: there may be a newer one.
      locations.forget(sha256);
    }
    return undefined;
  }

  /** Copies within the bucket, then removes the original. If the server refuses the copy, the original stays in place. */
  async function quarantine(sha256: string, copyId: string) {
    const [key = ""] = copyId.split(" ");
    locations.forget(sha256);
    const head = await persist(bucket, () => client.head(key, signal));
    if (isRefused(head)) {
      if (head.failure.kind === "not_found") return "gone";
      throw toStorageError("to look at a damaged object", head.failure);
    }
    const target = `${root}${QUARANTINE}/${key.slice(`${root}objects/`.length)}`;
    const headers = { "x-amz-copy-source": encodePath(`/${deps.address.bucket}/${key}`) };
    const copied = await persist(bucket, () =>
      client.sendForFields({ method: "PUT", key: target, headers, isLong: true, signal }, "ETag"),
    );
    if (isRefused(copied)) return "left_in_place";
    await remove(key);
    return "quarantined";
  }

  async function publish(path: string, { sha256, size }: ObjectIdentity): Promise<void> {
    const key = `${root}objects/${sha256}/${newId()}`;
    const failure = await putFile(bucket, { path, size, key });
    if (failure !== undefined) throw toStorageError("a new object", failure);
    locations.remember(sha256, { key, size });
    await rm(path, { force: true });
  }

  return {
    create: () => createObjectWriter(deps, publish),
    createPlain: () => createPlainWriter(deps, publish),

    async has(sha256, size) {
      const copy = await openCopy(sha256, size);
      copy?.stream.destroy();
      return copy !== undefined;
    },

    open: createVerifiedOpen({ openCopy, quarantine, onDamaged: deps.onDamaged, clock }),

    async sweep({ before, isInUse, signal: until }) {
      const probed = await probe();
      if (probed.kind === "refused") throw toStorageError("a probe", probed.failure);
      const oldBefore = before + probed.serverTime - clock();
      let objects = 0;
      let bytes = 0;
      for await (const copies of listCopies("objects/")) {
        until?.throwIfAborted();
        const old = copies.filter((copy) => copy.modifiedAt < oldBefore);
        const newest = newestOf(copies);
        if (newest === undefined || old.length === 0) continue;
        const superfluous = (await isInUse(newest.sha256))
          ? old.filter((copy) => copy !== newest && copy.size === newest.size)
          : old;
        for (const copy of superfluous) {
          await remove(copy.key);
          objects += 1;
          bytes += copy.size;
        }
      }
      for await (const { key, modifiedAt } of list("probe/"))
        if (modifiedAt !== undefined && modifiedAt < oldBefore) await remove(key);
      await abortOldUploads(bucket.client, `${root}objects/`, oldBefore, bucket.signal);
      return { objects, bytes };
    },

    async prove() {
      const page = await persist(bucket, () =>
        client.page({ prefix: `${root}objects/`, "max-keys": "1" }, signal),
      );
      if (isRefused(page)) return page;
      const probed = await probe();
      return probed.kind === "refused" ? probed : undefined;
    },

    async claim(owner) {
      const key = `${root}croft-owner`;
      const read = async (): Promise<string | undefined | Refused> => {
        const sent = await persist(bucket, () => client.send({ method: "GET", key, signal }));
        if (isRefused(sent)) return sent.failure.kind === "not_found" ? undefined : sent;
        const body = await sent.answer.text(OWNER_BYTES_MAX);
        return body.kind === "ok" ? body.text.trim() : toRefused(body);
      };
      const write = (headers: Readonly<Record<string, string>>) => {
        const body = Buffer.from(`${owner}\n`);
        return persist(bucket, () =>
          client.sendAndDiscard({ method: "PUT", key, headers, body, signal }),
        );
      };
      let found = await read();
      if (found === undefined) {
        let put = await write({ "if-none-match": "*" });
        // On servers without conditional writes the last writer wins; the other daemon detects that at its next start.
        if (isRefused(put) && put.failure.kind === "unsupported") put = await write({});
        if (isRefused(put) && put.failure.kind !== "changed") return put;
        found = await read();
      }
      return typeof found === "object" ? found : { kind: "owned", by: found ?? owner };
    },

    async reach() {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(REACHABLE_MS)]);
      const page = await client.page({ prefix: `${root}objects/`, "max-keys": "1" }, patience);
      return page.kind === "ok" ? undefined : page.failure;
    },

    close: () => ending.abort(),
  };
}

function toRefused(failure: ReadFailure): Refused {
  return { kind: "refused", status: 0, code: "", headers: {}, failure };
}

function toCopy(root: string, { key, size, modifiedAt }: KeyEntry): Copy | undefined {
  const sha256 = COPY.exec(key.slice(root.length))?.[1];
  return sha256 === undefined || size === undefined || modifiedAt === undefined
    ? undefined
    : { key, sha256, size, modifiedAt };
}

/**
 * Chooses the copy to keep. All daemons choose the same of the same copies, so that no two sweeps keep different
 * ones.
 */
function newestOf(copies: readonly Copy[]): Copy | undefined {
  return copies.toSorted((a, b) => a.modifiedAt - b.modifiedAt || (a.key < b.key ? -1 : 1)).at(-1);
}

type Known = Pick<Copy, "key" | "size">;

/** Caches the last known keys of objects. A miss only costs a listing. */
function createMemory() {
  const locations = new Map<string, Known>();
  return {
    recall: (sha256: string): Known | undefined => locations.get(sha256),
    forget: (sha256: string): void => void locations.delete(sha256),
    remember(sha256: string, { key, size }: Known): void {
      locations.delete(sha256);
      locations.set(sha256, { key, size });
      const [oldest] = locations.keys();
      if (locations.size > KNOWN_MAX && oldest !== undefined) locations.delete(oldest);
    },
  };
}
