import { isExpected } from "../comparison.ts";
import { mayRetryRead, type Failure } from "../outcomes.ts";
import type { DeleteOutcome, Expected } from "../provider.ts";
import { readDeleteResult } from "../../s3/responses.ts";
import { keepFolder, removeObject } from "./changing.ts";
import { contentMd5 } from "../../s3/client.ts";
import { find, findObject, hasKeys, toLockKey, type Store } from "./context.ts";
import { splitId } from "./keys.ts";
import { pagesOf, toFolderItem, toItem, type KeyEntry } from "./listing.ts";
import { escapeXml } from "./multipart.ts";
import { mayHaveLanded, toChangeFailure, toFailure } from "../../s3/failures.ts";

/** The item to delete. */
export interface Removal {
  readonly id: string;
  readonly expected: Expected;
  readonly permanently: boolean;
  readonly signal: AbortSignal;
}

type Target = Pick<KeyEntry, "key" | "versionId">;

/**
 * Deletes a file, or a folder with its contents. On a bucket with versions a delete leaves the older versions, from
 * which its owner can restore the item: that is `trashed`, and `permanently` removes all versions.
 */
export async function remove(store: Store, removal: Removal): Promise<DeleteOutcome> {
  const { id, expected, signal } = removal;
  const found = await find(store, id, signal);
  if (found.kind !== "file" && found.kind !== "folder") return toChangeFailure(found);
  const { parent, name } = splitId(id);
  const item = found.kind === "file" ? toItem(id, found.head) : toFolderItem(parent, name);
  if (!isExpected(item, expected)) return { kind: "stale" };
  const parentPrefix = store.keys.toFolderPrefix(parent);
  if (parentPrefix === undefined) return { kind: "stale", note: "impossible_id" };
  const leaving = found.kind === "file" ? found.key : found.prefix;
  const failure = await keepFolder(store, parentPrefix, leaving, signal);
  if (failure !== undefined) return failure;
  return found.kind === "file"
    ? removeFile(store, found.key, found.head.etag, removal)
    : removeFolder(store, found.prefix, removal);
}

async function removeFile(
  store: Store,
  key: string,
  etag: string,
  { permanently, signal }: Removal,
): Promise<DeleteOutcome> {
  return store.deps.locks.withLocks([toLockKey(store, key)], async (): Promise<DeleteOutcome> => {
    const removed = await removeObject(store, { key, etag, signal });
    if (removed.kind === "precondition") return { kind: "stale" };
    if (removed.kind === "refused" && !mayHaveLanded(removed))
      return toChangeFailure(removed.failure);
    const after = await findObject(store, key, signal);
    if (after?.kind === "refused") return { kind: "unknown_outcome", note: "delete_unseen" };
    if (after !== undefined)
      return removed.kind === "refused" && after.etag === etag
        ? toChangeFailure(removed.failure)
        : { kind: "stale", note: "written_again" };
    if (!store.findings.isVersioned) return { kind: "ok", how: "permanent" };
    if (!permanently) return { kind: "ok", how: "trashed" };
    const failed = await removeVersions(store, key, (found) => found === key, signal);
    return failed ?? { kind: "ok", how: "permanent" };
  });
}

/** Deletes the contents first and the marker last, so that a partially deleted folder is still a folder. */
async function removeFolder(
  store: Store,
  prefix: string,
  { permanently, signal }: Removal,
): Promise<DeleteOutcome> {
  let count = 0;
  for await (const page of pagesOf(store, { prefix }, signal)) {
    if (page.kind !== "ok") return inPart(page, count);
    const targets = page.entries.filter(({ key }) => key !== prefix);
    const failed = await removeBatch(store, targets, signal);
    if (failed !== undefined) return inPart(failed.failure, count + failed.removed);
    count += targets.length;
  }
  const failed = await removeBatch(store, [{ key: prefix, versionId: undefined }], signal);
  if (failed !== undefined) return inPart(failed.failure, count);
  const isLeft = await hasKeys(store, prefix, signal);
  if (typeof isLeft === "object") return { kind: "unknown_outcome", note: "delete_unseen" };
  if (isLeft) return { kind: "stale", note: "written_meanwhile" };
  if (!store.findings.isVersioned) return { kind: "ok", how: "permanent" };
  if (!permanently) return { kind: "ok", how: "trashed" };
  return (
    (await removeVersions(store, prefix, () => true, signal)) ?? { kind: "ok", how: "permanent" }
  );
}

/** A partially deleted folder differs from the one that the caller saw. */
function inPart(failure: Failure, removed: number): Failure {
  return removed > 0 ? { kind: "stale", note: "deleted_in_part" } : failure;
}

/**
 * Deletes every version and every delete marker of deleted keys permanently. A key that another client has written again since
 * keeps all of its versions: then the outcome is `stale`.
 */
async function removeVersions(
  store: Store,
  prefix: string,
  isMeant: (key: string) => boolean,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  let isWritten = false;
  /** The last key of the page before: its versions may go on, and the next one is the newest after those that were deleted. */
  let last: { readonly key: string; readonly isLive: boolean } | undefined;
  for await (const page of pagesOf(store, { prefix, versions: "" }, signal)) {
    if (page.kind !== "ok") return page;
    const meant = page.entries.filter(({ key }) => isMeant(key));
    const before = last;
    const isLive = ({ key, isLatest, isMarker }: KeyEntry) =>
      key === before?.key ? before.isLive : isLatest && !isMarker;
    const live = new Set(meant.filter(isLive).map(({ key }) => key));
    isWritten ||= live.size > 0;
    // Objects from before versioning have a version called `null`.
    const targets = meant
      .filter(({ key }) => !live.has(key))
      .map(({ key, versionId = "null" }) => ({ key, versionId }));
    const failed = await removeBatch(store, targets, signal);
    if (failed !== undefined) return failed.failure;
    const key = page.entries.at(-1)?.key;
    last = key === undefined ? undefined : { key, isLive: live.has(key) };
  }
  return isWritten ? { kind: "stale", note: "written_meanwhile" } : undefined;
}

/** The most attempts of a batch: deleting is idempotent, and single keys fail now and then. */
const BATCH_TRIES = 3;
const BATCH_WAIT_MS = 500;

/** Deletes up to a page of keys or versions. Keys that are missing count as deleted. */
export async function removeBatch(
  store: Store,
  targets: readonly Target[],
  signal: AbortSignal,
): Promise<BatchFailed | undefined> {
  let remaining = targets;
  for (let tries = 1; ; tries++) {
    const failed = remaining.length === 0 ? undefined : await sendBatch(store, remaining, signal);
    if (failed === undefined) return undefined;
    remaining = failed.remaining;
    const removed = targets.length - remaining.length;
    if (tries === BATCH_TRIES || signal.aborted || !mayRetryRead(failed.failure))
      return { failure: failed.failure, removed: failed.isUnknown ? targets.length : removed };
    try {
      await store.deps.sleep(BATCH_WAIT_MS * tries, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

interface BatchFailed {
  readonly failure: Failure;
  /** Number of keys that are deleted or may be deleted. */
  readonly removed: number;
}

async function sendBatch(
  store: Store,
  targets: readonly Target[],
  signal: AbortSignal,
): Promise<
  | {
      readonly failure: Failure;
      readonly remaining: readonly Target[];
      readonly isUnknown: boolean;
    }
  | undefined
> {
  const body = Buffer.from(
    `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${targets.map(toLine).join("")}</Delete>`,
  );
  const sent = await store.client.send({
    method: "POST",
    query: { delete: "" },
    headers: { "content-type": "application/xml", "content-md5": contentMd5(body) },
    body,
    signal,
  });
  if (sent.kind === "refused") {
    // For strict servers names with control characters are invalid XML.
    if (sent.failure.kind === "unsupported" || sent.code === "MalformedXML") {
      const single = await removeOneByOne(store, targets, signal);
      if (single === undefined) return undefined;
      const remaining = targets.slice(single.removed);
      return { failure: single.failure, remaining, isUnknown: false };
    }
    const failure = toChangeFailure(sent.failure);
    return { failure, remaining: targets, isUnknown: mayHaveLanded(sent) };
  }
  const read = await readDeleteResult(sent.answer);
  if (read.kind !== "ok") return { failure: read, remaining: targets, isUnknown: true };
  const now = store.deps.clock();
  if (!/^Delete\w*(Result|Response)$/.test(read.root)) {
    const failure = toChangeFailure(toFailure({ status: 500, code: read.code }, now));
    return { failure, remaining: targets, isUnknown: true };
  }
  // A missing key counts as deleted, even if the server reports an error for it.
  const refused = read.failed.filter(({ code }) => !/^NoSuch(Key|Version)$/.test(code));
  const [first] = refused;
  if (first === undefined) return undefined;
  const status = first.code === "AccessDenied" ? 403 : 500;
  const failed = new Set(refused.map(({ key }) => key));
  const remaining = targets.filter(({ key }) => failed.has(key));
  const failure = toChangeFailure(toFailure({ status, code: first.code }, now));
  const areKnown = new Set(remaining.map(({ key }) => key)).size === failed.size;
  // Some servers omit a key or encode it: any target may be the one that remains.
  return areKnown
    ? { failure, remaining, isUnknown: false }
    : { failure, remaining: targets, isUnknown: true };
}

async function removeOneByOne(
  store: Store,
  targets: readonly Target[],
  signal: AbortSignal,
): Promise<BatchFailed | undefined> {
  for (const [removed, { key, versionId }] of targets.entries()) {
    const query = versionId === undefined ? {} : { versionId };
    const sent = await store.client.sendAndDiscard({ method: "DELETE", key, query, signal });
    if (sent.kind === "refused" && sent.status !== 404)
      return { failure: toChangeFailure(sent.failure), removed };
  }
  return undefined;
}

function toLine({ key, versionId }: Target): string {
  const version = versionId === undefined ? "" : `<VersionId>${escapeXml(versionId)}</VersionId>`;
  return `<Object><Key>${escapeXml(key)}</Key>${version}</Object>`;
}
