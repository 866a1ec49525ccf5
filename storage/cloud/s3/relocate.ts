import { isExpected } from "../comparison.ts";
import type { Failure } from "../outcomes.ts";
import type { Expected } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { keepFolder, removeObject } from "./changing.ts";
import type { ObjectHead } from "../../s3/client.ts";
import { find, findObject, toLockKey, type Store } from "./context.ts";
import { copyObject } from "./copying.ts";
import { withJournal, type JournalEntry, type Journaled } from "./journal.ts";
import { splitId } from "./keys.ts";
import { existsWithout, toItem } from "./listing.ts";
import { refusePlace, type Place } from "./names.ts";
import { mayHaveLanded, toChangeFailure } from "../../s3/failures.ts";

/** A file that moves to another key. */
export interface Relocation {
  readonly id: string;
  readonly to: Place;
  readonly expected: Expected;
  readonly signal: AbortSignal;
}

/**
 * Moves a file to another key: copies it first and deletes the source last, only while it is unchanged, with a journal in
 * the bucket. At every moment there is at least one complete copy; a crash leaves two at worst, and recovery by the
 * journal resolves that. Folders are `unsupported`: copying each object could not be undone.
 */
export async function relocate(store: Store, move: Relocation): Promise<ItemOutcome> {
  const { id, to, expected, signal } = move;
  const found = await find(store, id, signal);
  if (found.kind === "folder")
    return expected.kind === "file"
      ? { kind: "stale" }
      : { kind: "unsupported", reason: "folder_move" };
  if (found.kind !== "file") return toChangeFailure(found);
  const from = found.key;
  if (from === to.key) {
    const isSame = isExpected(toItem(id, found.head), expected);
    return isSame ? { kind: "ok", item: toItem(id, found.head) } : { kind: "stale" };
  }
  return store.deps.locks.withLocks(
    [toLockKey(store, from), toLockKey(store, to.key)],
    async () => {
      const source = await findObject(store, from, signal);
      if (source?.kind === "refused") return toChangeFailure(source.failure);
      if (source === undefined || !isExpected(toItem(id, source), expected))
        return { kind: "stale" };
      const refusal = await refusePlace(store, to, signal);
      if (refusal !== undefined) return refusal;
      const { etag, modifiedAt } = source;
      const entry: JournalEntry = {
        kind: "move",
        from,
        to: to.key,
        etag,
        ...(modifiedAt === undefined ? {} : { modifiedAt }),
      };
      return withJournal(store, entry, signal, async (journal) => {
        const outcome = await copyThenDelete(store, move, from, source, entry, journal);
        // Recovery by the entry will determine whether it happened.
        if (outcome.kind !== "unknown_outcome") await journal.end();
        return outcome;
      });
    },
  );
}

async function copyThenDelete(
  store: Store,
  { to, signal }: Relocation,
  from: string,
  source: ObjectHead,
  entry: Extract<JournalEntry, { kind: "move" }>,
  journal: Journaled,
): Promise<ItemOutcome> {
  const copy = { from, source, to: to.key, signal };
  let copied = await copyObject(store, copy);
  if (copied.kind === "precondition") {
    const explained = await explain(store, from, source, to, signal);
    if (explained !== undefined) return explained;
    copied = await copyObject(withoutSourceGuard(store), copy);
    if (copied.kind === "precondition") return { kind: "stale" };
  }
  if (copied.kind !== "copied") return copied;
  const copyHead = copied.head;
  if (copyHead.etag !== source.etag) {
    // The copy could not be identified later by its own tag alone.
    const failed = await journal.rewrite({ ...entry, copied: copyHead.etag });
    if (failed !== undefined) return undoCopy(store, to.key, copyHead, failed, signal);
  }
  const failure = await keepFolder(store, toPrefix(from), from, signal);
  if (failure !== undefined) return undoCopy(store, to.key, copyHead, failure, signal);
  const folderExists = await existsWithout(store, to.parentPrefix, to.key, signal);
  if (folderExists !== true)
    return undoCopy(
      store,
      to.key,
      copyHead,
      folderExists === false ? { kind: "stale", note: "parent_gone" } : folderExists,
      signal,
    );
  const sourceFailure = await removeSource(store, from, source, signal);
  if (sourceFailure !== undefined)
    return sourceFailure.kind === "unknown_outcome"
      ? sourceFailure
      : undoCopy(store, to.key, copyHead, sourceFailure, signal);
  return { kind: "ok", item: toItem(to.id, copyHead) };
}

/** Deletes the source if it is still the copied object. Returns undefined if this call deleted it. */
async function removeSource(
  store: Store,
  from: string,
  source: ObjectHead,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const removed = await removeObject(store, { key: from, etag: source.etag, signal });
  if (removed.kind === "done") return undefined;
  if (removed.kind === "precondition") return { kind: "stale", note: "source_changed" };
  if (!mayHaveLanded(removed)) return toChangeFailure(removed.failure);
  const still = await findObject(store, from, signal);
  if (still === undefined) return undefined;
  if (still.kind === "refused") return { kind: "unknown_outcome", note: "delete_unanswered" };
  if (still.etag !== source.etag) return { kind: "stale", note: "source_changed" };
  const secondDelete = await removeObject(store, { key: from, etag: source.etag, signal });
  return secondDelete.kind === "done"
    ? undefined
    : { kind: "unknown_outcome", note: "delete_unanswered" };
}

/**
 * The source stays: removes our copy, unless another client has changed it meanwhile, or another client has deleted the
 * source.
 */
async function undoCopy(
  store: Store,
  key: string,
  copy: ObjectHead,
  failure: Failure,
  signal: AbortSignal,
): Promise<Failure> {
  const { etag, versionId } = copy;
  const removed = await removeObject(store, { key, etag, versionId, signal });
  // The entry stays for a later recovery: two copies are better than a lost file.
  if (removed.kind === "refused" && mayHaveLanded(removed))
    return { kind: "unknown_outcome", note: "copy_left" };
  return failure;
}

/**
 * Some servers compare the tag of a multipart object with a tag that they never return: no condition on it ever
 * holds. Then the source is compared before and after, as on servers without conditions. A copy by one request
 * has different tags in listings and in its head on such a server, so the copy is multipart as well.
 */
function withoutSourceGuard(store: Store): Store {
  const guards = { ...store.findings.guards, copySource: false };
  return {
    ...store,
    findings: { ...store.findings, guards },
    limits: { ...store.limits, copyBytesMax: 0 },
  };
}

/** Returns which of the two conditions of a copy failed; undefined if both should have held. */
async function explain(
  store: Store,
  from: string,
  source: ObjectHead,
  to: Place,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const [sourceHead, targetHead] = await Promise.all([
    findObject(store, from, signal),
    findObject(store, to.key, signal),
  ]);
  for (const head of [sourceHead, targetHead])
    if (head?.kind === "refused") return toChangeFailure(head.failure);
  if (sourceHead?.kind !== "object" || sourceHead.etag !== source.etag) return { kind: "stale" };
  return targetHead === undefined ? undefined : { kind: "conflict", existingName: to.name };
}

function toPrefix(key: string): string {
  return key.slice(0, splitId(key).parent.length + (key.includes("/") ? 1 : 0));
}
