import type { Failure } from "../outcomes.ts";
import { asCount, parseJsonObject, type JsonObject } from "../json.ts";
import { keepFolder, removeObject } from "./changing.ts";
import { toSeconds } from "../../s3/client.ts";
import { findObject, turnOf, type Store } from "./context.ts";
import { OWN_FOLDER } from "./keys.ts";
import { pagesOf, type KeyEntry } from "./listing.ts";
import { mayHaveLanded, toChangeFailure } from "../../s3/failures.ts";
import { abortOldUploads, abortUpload, findBegun } from "../../s3/multipart-uploads.ts";

/** What is about to be done in several requests: read back when the daemon died in between. */
export type JournalEntry =
  | {
      readonly kind: "move";
      readonly from: string;
      readonly to: string;
      /** Of the source, which alone may be deleted. */
      readonly etag: string;
      /** Likewise: who puts the same content there again makes a file of their own. */
      readonly modifiedAt?: number;
      /** Of the copy, where that differs from the source's. */
      readonly copied?: string;
    }
  | {
      readonly kind: "upload";
      readonly key: string;
      /** Absent until the server has said it. */
      readonly uploadId?: string;
    };

/** An entry that is written. */
export interface Journaled {
  /** Replaces what it says. */
  rewrite(entry: JournalEntry): Promise<Failure | undefined>;
  /** Takes it out again. Where that fails it is settled later, to no effect. */
  end(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;
/** Entries of other connections and other daemons are taken for abandoned after this time: until then they may be at it. */
const FOREIGN_MS = 7 * DAY_MS;
/** Taking an entry out must not wait for a call that was given up. */
const END_MS = 15_000;
const ENTRY_BYTES_MAX = 16_384;
const OWN_OBJECTS_MAX = 1_000;

/**
 * Writes down what is about to be done, and does it. Before there is an entry, and as long as the work goes on, its turn is
 * taken: nobody in this process takes it for what an earlier run has left.
 */
export async function withJournal<T>(
  store: Store,
  entry: JournalEntry,
  signal: AbortSignal,
  work: (journal: Journaled) => Promise<T>,
): Promise<T | Failure> {
  const key = `${beginningOfOwn(store)}${store.deps.newId()}`;
  const write = async (what: JournalEntry) => {
    const body = Buffer.from(JSON.stringify(what));
    const send = () => store.client.ask({ method: "PUT", key, body, signal });
    let sent = await send();
    // The same entry twice is one entry.
    if (sent.kind === "refused" && mayHaveLanded(sent) && !signal.aborted) sent = await send();
    return sent.kind === "refused" ? toChangeFailure(sent.failure) : undefined;
  };
  return store.deps.turns.inTurn([turnOf(store, key)], async () => {
    const failed = await write(entry);
    if (failed !== undefined) return failed;
    return work({ rewrite: write, end: () => purge(store, key, AbortSignal.timeout(END_MS)) });
  });
}

/**
 * Settles what earlier runs of this daemon left behind in this connection: a move whose copy is there is ended by deleting
 * the source, a multipart upload is aborted. What runs at the moment is left alone, and so is what another daemon has begun
 * until it is old. With `everything` old entries of other connections and old probes go, too, with what those have begun to
 * upload.
 */
export async function settleJournal(
  store: Store,
  everything: boolean,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const prefix = everything ? `${store.keys.root}${OWN_FOLDER}/` : folderOf(store);
  const entries = await listOwn(store, prefix, signal);
  if ("kind" in entries) return entries;
  for (const entry of entries) {
    const { key } = entry;
    if (key.startsWith(`${store.keys.root}${OWN_FOLDER}/probe/`)) {
      if (ageOf(store, entry) > DAY_MS) await purge(store, key, signal);
    } else if (key.startsWith(journalOf(store)) && !isRunning(store, entry)) {
      const failed = await settle(store, key, signal);
      if (failed !== undefined) return failed;
    }
  }
  // What a probe has begun.
  if (everything) await abortOldUploads(store.client, prefix, store.deps.clock() - DAY_MS, signal);
  return undefined;
}

/** Whether whoever has written an entry may still be at it. */
function isRunning(store: Store, entry: KeyEntry): boolean {
  if (store.deps.turns.isTaken(turnOf(store, entry.key))) return true;
  return !entry.key.startsWith(beginningOfOwn(store)) && ageOf(store, entry) <= FOREIGN_MS;
}

function ageOf({ deps }: Store, { modifiedAt = deps.clock() }: KeyEntry): number {
  return deps.clock() - modifiedAt;
}

async function settle(
  store: Store,
  key: string,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const read = await readEntry(store, key, signal);
  if (read === undefined || !("entry" in read)) return read;
  const { entry, writtenAt } = read;
  const settled =
    entry.kind === "move"
      ? await settleMove(store, entry, signal)
      : await settleUpload(store, { ...entry, writtenAt, at: key }, signal);
  if (settled === "later") return undefined;
  if (settled !== undefined) return settled;
  await purge(store, key, signal);
  return undefined;
}

/** Undefined when it is gone, or none: what is none was put there by somebody else. */
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

/** The source goes only while it is the one that was to be moved, and a copy that is proved to be its own is there. */
async function settleMove(
  store: Store,
  entry: Extract<JournalEntry, { kind: "move" }>,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const { from, to, etag, copied = etag, modifiedAt } = entry;
  return store.deps.turns.inTurn([turnOf(store, from), turnOf(store, to)], async () => {
    for (const [key, wanted, since] of [
      [to, copied, undefined],
      [from, etag, modifiedAt],
    ] as const) {
      const head = await findObject(store, key, signal);
      if (head?.kind === "refused") return toChangeFailure(head.failure);
      if (head?.etag !== wanted) return undefined;
      if (since !== undefined && head.modifiedAt !== since) return undefined;
    }
    const parent = from.slice(0, from.lastIndexOf("/") + 1);
    const kept = await keepFolder(store, parent, from, signal);
    if (kept !== undefined) return kept;
    const removed = await removeObject(store, { key: from, etag, signal });
    return removed.kind === "refused" ? toChangeFailure(removed.failure) : undefined;
  });
}

/**
 * An entry without an id was written just before the server was asked for one. `later` when somebody is at the same name in
 * this moment, whose upload cannot be told from it.
 */
async function settleUpload(
  store: Store,
  entry: Extract<JournalEntry, { kind: "upload" }> & {
    readonly writtenAt: number;
    /** The entry's own key. */
    readonly at: string;
  },
  signal: AbortSignal,
): Promise<Failure | "later" | undefined> {
  const { client } = store;
  const { key, uploadId, writtenAt } = entry;
  if (uploadId !== undefined) return abortUpload(client, key, uploadId, signal);
  const begun = await findBegun(client, key, writtenAt, signal);
  if ("kind" in begun) return begun;
  // Whoever has begun one of these had an entry before: those that do not show now are over.
  const others = begun.length === 0 ? new Set<string>() : await findNoted(store, entry, signal);
  if (typeof others === "string" || "kind" in others) return others;
  for (const id of begun.filter((one) => !others.has(one))) {
    const failed = await abortUpload(client, key, id, signal);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** The ids of uploads of the same name that other entries tell of; `later` when one that runs has not come to tell yet. */
async function findNoted(
  store: Store,
  { at, key }: { readonly at: string; readonly key: string },
  signal: AbortSignal,
): Promise<ReadonlySet<string> | Failure | "later"> {
  const noted = new Set<string>();
  const entries = await listOwn(store, journalOf(store), signal);
  if ("kind" in entries) return entries;
  if (entries.length >= OWN_OBJECTS_MAX) return "later";
  for (const other of entries.filter((one) => one.key !== at)) {
    const read = await readEntry(store, other.key, signal);
    if (read === undefined) continue;
    if (!("entry" in read)) return read;
    const { entry } = read;
    if (entry.kind !== "upload" || entry.key !== key) continue;
    if (entry.uploadId !== undefined) noted.add(entry.uploadId);
    else if (isRunning(store, other)) return "later";
  }
  return noted;
}

/** Objects of our own; of a bucket that tells of ever more of them, no more than are worth a look. */
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

/** Versions that one of our own objects may have: answers get lost, and it is written anew. */
const VERSIONS_MAX = 8;

/** Takes one of our own objects away, on a bucket with versions without a trace where that is allowed. */
export async function purge(store: Store, key: string, signal: AbortSignal): Promise<void> {
  if (!store.findings.isVersioned) {
    await store.client.ask({ method: "DELETE", key, signal });
    return;
  }
  for (let versions = 0; versions < VERSIONS_MAX; versions++) {
    const head = await findObject(store, key, signal);
    if (head?.kind !== "object") return;
    const query = head.versionId === undefined ? {} : { versionId: head.versionId };
    const sent = await store.client.ask({ method: "DELETE", key, query, signal });
    if (sent.kind === "refused" && sent.failure.kind === "forbidden") {
      await store.client.ask({ method: "DELETE", key, signal });
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

/** What the keys of this daemon's entries begin with, in this connection. */
function beginningOfOwn(store: Store): string {
  return `${folderOf(store)}${store.deps.home}-`;
}

/** An entry lies in a bucket that others may write to: it may not lead out of the root. */
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
  if (value?.["kind"] === "upload" && uploaded !== undefined)
    return { kind: "upload", key: uploaded, ...(uploadId === undefined ? {} : { uploadId }) };
  return undefined;
}
