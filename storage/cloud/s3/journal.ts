import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { StreamAborted, type Failure } from "../outcomes.ts";
import { asCount, parseJsonObject, type JsonObject } from "../json.ts";
import { keepFolder, removeObject } from "./changing.ts";
import { toSeconds, type ObjectHead } from "../../s3/client.ts";
import { findObject, toLockKey, type Store } from "./context.ts";
import { OWN_FOLDER } from "./keys.ts";
import { pagesOf, type KeyEntry } from "./listing.ts";
import { mayHaveLanded, toChangeFailure } from "../../s3/failures.ts";
import { abortOldUploads, abortUpload, findBegun } from "../../s3/multipart-uploads.ts";

/** An operation of several requests, recorded so that it can be recovered after a crash. */
export type JournalEntry =
  | {
      readonly kind: "move";
      readonly from: string;
      readonly to: string;
      /** Entity tag of the source: only that object may be deleted. */
      readonly etag: string;
      /** Likewise: a client that writes the same content again creates a new object. */
      readonly modifiedAt?: number;
      /** Entity tag of the copy, where it differs from the source's. */
      readonly copied?: string;
    }
  | {
      readonly kind: "upload";
      readonly key: string;
      /** Absent until the server has returned it. */
      readonly uploadId?: string;
      /** Another call may continue it until then (epoch milliseconds); recovery aborts it afterwards. */
      readonly keptUntil?: number;
    };

/** A stored entry. */
export interface Journaled {
  readonly key: string;
  /** Replaces its content. */
  rewrite(entry: JournalEntry): Promise<Failure | undefined>;
  /** Removes it. If that fails, recovery removes it later without another effect. */
  end(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;
/** Entries of other connections and daemons count as abandoned after this time: until then they may be in progress. */
const FOREIGN_MS = 7 * DAY_MS;
/** Removing an entry must not wait for a call that was aborted. */
const END_MS = 15_000;
const ENTRY_BYTES_MAX = 16_384;
const OWN_OBJECTS_MAX = 1_000;

/**
 * Records an operation in the journal, then runs it. Holds the lock of the entry meanwhile, so that recovery in this
 * process does not treat it as an entry of an earlier run. `at` is the key of an earlier entry of the same operation.
 */
export async function withJournal<T>(
  store: Store,
  entry: JournalEntry,
  signal: AbortSignal,
  work: (journal: Journaled) => Promise<T>,
  at?: string,
): Promise<T | Failure> {
  const key = at ?? `${beginningOfOwn(store)}${store.deps.newId()}`;
  const write = async (entry: JournalEntry) => {
    const body = Buffer.from(JSON.stringify(entry));
    const send = () => store.client.sendAndDiscard({ method: "PUT", key, body, signal });
    let sent = await send();
    // A retried write creates the same entry.
    if (sent.kind === "refused" && mayHaveLanded(sent) && !signal.aborted) sent = await send();
    return sent.kind === "refused" ? toChangeFailure(sent.failure) : undefined;
  };
  return store.deps.locks.withLocks([toLockKey(store, key)], async () => {
    const failed = await write(entry);
    if (failed !== undefined) return failed;
    return work({ key, rewrite: write, end: () => purge(store, key, AbortSignal.timeout(END_MS)) });
  });
}

/**
 * Recovers operations of earlier runs of this daemon in this connection. A move whose copy exists is finished by
 * deleting the source; a multipart upload is aborted, unless another call may continue it. Skips entries of running calls, and entries of other
 * daemons until they are old. With `everything`, also removes old entries of other connections and old probes.
 * Returns `pending` when an entry cannot be decided yet: the server may still be copying, another call uses the name, or the
 * server refuses a request about its objects.
 */
export async function recoverJournal(
  store: Store,
  everything: boolean,
  signal: AbortSignal,
): Promise<Failure | "pending" | undefined> {
  let isPending = false;
  const prefix = everything ? `${store.keys.root}${OWN_FOLDER}/` : folderOf(store);
  const entries = await listOwn(store, prefix, signal);
  if ("kind" in entries) return entries;
  for (const entry of entries) {
    const { key } = entry;
    if (key.startsWith(`${store.keys.root}${OWN_FOLDER}/probe/`)) {
      if (ageOf(store, entry) > DAY_MS) await purge(store, key, signal);
    } else if (key.startsWith(journalOf(store)) && !isRunning(store, entry)) {
      const failed = await recover(store, key, signal);
      if (typeof failed === "object" && isOfStorage(failed)) return failed;
      if (failed !== undefined) isPending = true;
    }
  }
  // Uploads that a probe has started.
  if (everything) await abortOldUploads(store.client, prefix, store.deps.clock() - DAY_MS, signal);
  return isPending ? "pending" : undefined;
}

/** Returns whether a failure concerns the storage, so that other entries would fail as well. */
function isOfStorage({ kind }: Failure): boolean {
  return kind === "offline" || kind === "rate_limited" || kind === "reauth";
}

/** Returns whether the writer of an entry may still be running. */
function isRunning(store: Store, entry: KeyEntry): boolean {
  if (store.deps.locks.isLocked(toLockKey(store, entry.key))) return true;
  return !entry.key.startsWith(beginningOfOwn(store)) && ageOf(store, entry) <= FOREIGN_MS;
}

function ageOf({ deps }: Store, { modifiedAt = deps.clock() }: KeyEntry): number {
  return deps.clock() - modifiedAt;
}

async function recover(
  store: Store,
  key: string,
  signal: AbortSignal,
): Promise<Failure | "pending" | undefined> {
  const read = await readEntry(store, key, signal);
  if (read === undefined || !("entry" in read)) return read;
  const { entry, writtenAt } = read;
  if (entry.kind === "upload" && (entry.keptUntil ?? 0) > store.deps.clock()) return undefined;
  const failed =
    entry.kind === "move"
      ? await recoverMove(store, entry, writtenAt, signal)
      : await recoverUpload(store, { ...entry, writtenAt, at: key }, signal);
  if (failed !== undefined) return failed;
  await purge(store, key, signal);
  return undefined;
}

/** Undefined when the entry is missing or invalid: another client wrote it. */
async function readEntry(
  store: Store,
  key: string,
  signal: AbortSignal,
): Promise<{ readonly entry: JournalEntry; readonly writtenAt: number } | Failure | undefined> {
  const sent = await store.client.send({ method: "GET", key, signal });
  if (sent.kind === "refused")
    return sent.failure.kind === "not_found" ? undefined : toChangeFailure(sent.failure);
  const writtenAt = toSeconds(sent.answer.headers["last-modified"]) ?? store.deps.clock();
  const body = await sent.answer.text(ENTRY_BYTES_MAX);
  const entry = body.kind === "ok" ? toEntry(parseJsonObject(body.text), store) : undefined;
  return entry === undefined ? undefined : { entry, writtenAt };
}

/** A server continues a copy when the connection closes; after this time the copy has certainly ended. */
const COPYING_MS = 15 * 60_000;
/** Servers round times to seconds. */
const ROUNDING_MS = 2_000;

/** Deletes the source if it is still the moved object and the target is proved to be its copy. */
async function recoverMove(
  store: Store,
  entry: Extract<JournalEntry, { kind: "move" }>,
  writtenAt: number,
  signal: AbortSignal,
): Promise<Failure | "pending" | undefined> {
  const { from, to, etag, modifiedAt } = entry;
  const found = await findBoth(store, entry, signal);
  if (found === undefined || "kind" in found) return found;
  const { source, target } = found;
  if (target === undefined)
    return store.deps.clock() - writtenAt < COPYING_MS ? "pending" : undefined;
  let { copied = etag } = entry;
  // Some servers give a multipart copy another tag, which a crash keeps out of the journal.
  const mayBeCopy =
    entry.copied === undefined &&
    target.size === source.size &&
    (target.modifiedAt ?? 0) >= writtenAt - ROUNDING_MS;
  if (target.etag !== copied && mayBeCopy) {
    const isSame = await haveSameBytes(store, entry, found, signal);
    if (typeof isSame === "object") return isSame;
    if (isSame) copied = target.etag;
  }
  if (target.etag !== copied) return undefined;
  return store.deps.locks.withLocks([toLockKey(store, from), toLockKey(store, to)], async () => {
    const now = await findBoth(store, entry, signal);
    if (now === undefined || "kind" in now) return now;
    if (now.target?.etag !== copied || now.source.modifiedAt !== source.modifiedAt)
      return undefined;
    if (modifiedAt !== undefined && now.source.modifiedAt !== modifiedAt) return undefined;
    const parent = from.slice(0, from.lastIndexOf("/") + 1);
    const failure = await keepFolder(store, parent, from, signal);
    if (failure !== undefined) return failure;
    const removed = await removeObject(store, { key: from, etag, signal });
    return removed.kind === "refused" ? toChangeFailure(removed.failure) : undefined;
  });
}

interface BothObjects {
  readonly source: ObjectHead;
  readonly target: ObjectHead | undefined;
}

/**
 * Looks up source and target of a move. Undefined when the source was deleted or has changed, so that nothing needs
 * recovery.
 */
async function findBoth(
  store: Store,
  { from, to, etag, modifiedAt }: Extract<JournalEntry, { kind: "move" }>,
  signal: AbortSignal,
): Promise<BothObjects | Failure | undefined> {
  const source = await findObject(store, from, signal);
  if (source?.kind === "refused") return toChangeFailure(source.failure);
  if (source?.etag !== etag) return undefined;
  if (modifiedAt !== undefined && source.modifiedAt !== modifiedAt) return undefined;
  const target = await findObject(store, to, signal);
  if (target?.kind === "refused") return toChangeFailure(target.failure);
  return { source, target };
}

/** Compares source and target by the hashes of their bytes. Returns false when one of them changes meanwhile. */
async function haveSameBytes(
  store: Store,
  { from, to }: { readonly from: string; readonly to: string },
  { source, target }: BothObjects,
  signal: AbortSignal,
): Promise<boolean | Failure> {
  const hashOf = async (key: string, etag = ""): Promise<string | Failure> => {
    const headers = { "if-match": `"${etag}"` };
    const sent = await store.client.send({ method: "GET", key, headers, signal });
    if (sent.kind === "refused") return toChangeFailure(sent.failure);
    const hash = createHash("sha256");
    try {
      await pipeline(sent.answer.stream(source.size), hash);
    } catch (error) {
      if (error instanceof StreamAborted) return toChangeFailure(error.failure);
      throw error;
    }
    return hash.digest("hex");
  };
  const [first, second] = await Promise.all([hashOf(from, source.etag), hashOf(to, target?.etag)]);
  for (const hash of [first, second])
    if (typeof hash === "object") return hash.kind === "stale" ? false : hash;
  return first === second;
}

/**
 * Aborts the upload of an entry. An entry without an id was written just before the upload was started. Returns
 * `pending` while another call uploads to the same name: the two uploads cannot be distinguished.
 */
async function recoverUpload(
  store: Store,
  entry: Extract<JournalEntry, { kind: "upload" }> & {
    readonly writtenAt: number;
    /** The entry's own key. */
    readonly at: string;
  },
  signal: AbortSignal,
): Promise<Failure | "pending" | undefined> {
  const { client } = store;
  const { key, uploadId, writtenAt } = entry;
  if (uploadId !== undefined) return abortUpload(client, key, uploadId, signal);
  const begun = await findBegun(client, key, writtenAt, signal);
  if ("kind" in begun) return begun;
  // Each of these uploads had an entry first, so uploads that are not listed now have ended.
  const others = begun.length === 0 ? new Set<string>() : await findNoted(store, entry, signal);
  if (typeof others === "string" || "kind" in others) return others;
  for (const id of begun.filter((id) => !others.has(id))) {
    const failed = await abortUpload(client, key, id, signal);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** Returns the ids of uploads of the same name in other entries; `pending` while a running call has no id yet. */
async function findNoted(
  store: Store,
  { at, key }: { readonly at: string; readonly key: string },
  signal: AbortSignal,
): Promise<ReadonlySet<string> | Failure | "pending"> {
  const noted = new Set<string>();
  const entries = await listOwn(store, journalOf(store), signal);
  if ("kind" in entries) return entries;
  if (entries.length >= OWN_OBJECTS_MAX) return "pending";
  for (const other of entries.filter((entry) => entry.key !== at)) {
    const read = await readEntry(store, other.key, signal);
    if (read === undefined) continue;
    if (!("entry" in read)) return read;
    const { entry } = read;
    if (entry.kind !== "upload" || entry.key !== key) continue;
    if (entry.uploadId !== undefined) noted.add(entry.uploadId);
    else if (isRunning(store, other)) return "pending";
  }
  return noted;
}

/** Lists objects of the adapter's own folder, up to a maximum, because a faulty bucket may list more and more of them. */
async function listOwn(
  store: Store,
  prefix: string,
  signal: AbortSignal,
): Promise<readonly KeyEntry[] | Failure> {
  const entries: KeyEntry[] = [];
  for await (const page of pagesOf(store, { prefix }, signal)) {
    if (page.kind !== "ok") return page;
    entries.push(...page.entries);
    if (entries.length >= OWN_OBJECTS_MAX) break;
  }
  return entries;
}

/** Maximum number of versions of one of our objects, which retries after lost responses write again. */
const VERSIONS_MAX = 8;

/** Removes one of our objects, on a bucket with versions permanently where that is allowed. */
export async function purge(store: Store, key: string, signal: AbortSignal): Promise<void> {
  if (!store.findings.isVersioned) {
    await store.client.sendAndDiscard({ method: "DELETE", key, signal });
    return;
  }
  for (let versions = 0; versions < VERSIONS_MAX; versions++) {
    const head = await findObject(store, key, signal);
    if (head?.kind !== "object") return;
    const query = head.versionId === undefined ? {} : { versionId: head.versionId };
    const sent = await store.client.sendAndDiscard({ method: "DELETE", key, query, signal });
    if (sent.kind === "refused" && sent.failure.kind === "forbidden") {
      await store.client.sendAndDiscard({ method: "DELETE", key, signal });
      return;
    }
  }
}

function journalOf({ keys }: Store): string {
  return `${keys.root}${OWN_FOLDER}/journal/`;
}

function folderOf(store: Store): string {
  return `${journalOf(store)}${store.connectionId}/`;
}

/** Returns the key prefix of this daemon's entries in this connection. */
function beginningOfOwn(store: Store): string {
  return `${folderOf(store)}${store.deps.home}-`;
}

/** Other clients may write to the bucket: an entry must not lead out of the root. */
function toEntry(value: JsonObject | undefined, store: Store): JournalEntry | undefined {
  const text = (name: string) => {
    const found = value?.[name];
    return typeof found === "string" && found !== "" ? found : undefined;
  };
  const own = `${store.keys.root}${OWN_FOLDER}/`;
  const key = (name: string) => {
    const found = text(name);
    return found?.startsWith(store.keys.root) === true && !found.startsWith(own)
      ? found
      : undefined;
  };
  const [from, to, etag, copied] = [key("from"), key("to"), text("etag"), text("copied")];
  const modifiedAt = asCount(value?.["modifiedAt"]);
  const [uploaded, uploadId] = [key("key"), text("uploadId")];
  if (
    value?.["kind"] === "move" &&
    from !== undefined &&
    to !== undefined &&
    from !== to &&
    etag !== undefined
  )
    return {
      kind: "move",
      from,
      to,
      etag,
      ...(modifiedAt === undefined ? {} : { modifiedAt }),
      ...(copied === undefined ? {} : { copied }),
    };
  const keptUntil = asCount(value?.["keptUntil"]);
  if (value?.["kind"] === "upload" && uploaded !== undefined)
    return {
      kind: "upload",
      key: uploaded,
      ...(uploadId === undefined ? {} : { uploadId }),
      ...(keptUntil === undefined ? {} : { keptUntil }),
    };
  return undefined;
}
