import type { Failure } from "../outcomes.ts";
import type { CheckOutcome, CloudProvider, ProviderCapabilities } from "../provider.ts";
import { withContent } from "../pieces.ts";
import { putNew, removeObject } from "./changing.ts";
import { find, hasKeys, toLockKey, type Store } from "./context.ts";
import { toProbeResult } from "./findings.ts";
import { recoverJournal } from "./journal.ts";
import { discardUpload } from "./saved-upload.ts";
import { refuseName, splitId } from "./keys.ts";
import { existsWithout, listFolder, toFolderItem, toItem } from "./listing.ts";
import { refuseDestination, refusePlace, toPlace, type Place } from "./names.ts";
import { probe } from "./probe.ts";
import { read } from "./reading.ts";
import { relocate } from "./relocate.ts";
import { mayHaveLanded, toChangeFailure } from "../../s3/failures.ts";
import { remove } from "./remove.ts";
import type { Trash } from "../trash.ts";
import { createTrash } from "./trash.ts";
import { replace, upload } from "./upload.ts";

/** How long recovery skips a journal entry that cannot be decided yet. */
const RECOVERY_AGAIN_MS = 10_000;

/** Returns the provider of a bucket. With `isRecovered` no earlier run can have left anything in its journal. */
export function createS3(
  store: Store,
  capabilities: ProviderCapabilities,
  isRecovered: boolean,
): CloudProvider {
  const { clock } = store.deps;
  let recovered = isRecovered;
  let pendingAt: number | undefined;
  let recovering: Promise<void> | undefined;

  /** Recovers the journal of an earlier run before anything else is read or changed. Concurrent calls share one recovery. */
  async function recover(signal: AbortSignal): Promise<void> {
    if (recovered || !store.findings.isWritable) return;
    if (pendingAt !== undefined && Math.abs(clock() - pendingAt) < RECOVERY_AGAIN_MS) return;
    recovering ??= recoverOnce(signal).finally(() => {
      recovering = undefined;
    });
    await recovering;
  }

  async function recoverOnce(signal: AbortSignal): Promise<void> {
    // A failure shows in the call itself, and the next call tries again.
    const outcome = await changing(() => recoverJournal(store, false, signal));
    recovered = outcome === undefined;
    pendingAt = outcome === "pending" ? clock() : undefined;
  }

  return {
    capabilities,

    recover: ({ signal }) => recover(signal),

    async list({ folder, signal }) {
      await recover(signal);
      return listFolder(store, folder, signal);
    },

    async stat({ id, signal }) {
      const found = await find(store, id, signal);
      if (found.kind === "file") return { kind: "ok", item: toItem(id, found.head) };
      if (found.kind !== "folder") return found;
      const { parent, name } = splitId(id);
      return { kind: "ok", item: toFolderItem(parent, name) };
    },

    read: (input) => read(store, input),

    async createFolder({ parent, name, signal }) {
      const place = placeOf(parent, name);
      if ("kind" in place) return place;
      await recover(signal);
      return changing(() => createFolder(store, place, signal));
    },

    upload: ({ parent, name, ...source }) =>
      withContent(source, async () => {
        const place = placeOf(parent, name);
        if ("kind" in place) return place;
        await recover(source.signal);
        const at = { scope: store.scope, prefix: place.parentPrefix };
        return store.listings.uploading(at, () => upload(store, { to: place, ...source }));
      }),

    discardSession: ({ session, signal }) => discardUpload(store, session, signal),

    replace: (input) =>
      withContent(input, async () => {
        await recover(input.signal);
        return replace(store, input);
      }),

    async rename({ id, name, expected, signal }) {
      const { parent, name: before } = splitId(id);
      const place = name === before ? toPlace(store, parent, name) : placeOf(parent, name);
      if ("kind" in place) return place;
      await recover(signal);
      return changing(() => relocate(store, { id, to: place, expected, signal }));
    },

    async move({ id, parent, expected, signal }) {
      const { name } = splitId(id);
      await recover(signal);
      const fault = await refuseDestination(store, id, parent, signal);
      if (fault !== undefined) return fault;
      const place = toPlace(store, parent, name);
      if ("kind" in place) return place;
      return changing(() => relocate(store, { id, to: place, expected, signal }));
    },

    async delete({ id, expected, permanently = false, signal }) {
      await recover(signal);
      return changing(() => remove(store, { id, expected, permanently, signal }));
    },

    ...(store.findings.isVersioned && { trash: openTrash() }),

    quota: async () => ({ kind: "ok", usedBytes: undefined, totalBytes: undefined }),

    check: ({ signal }) => checkBucket(store, signal),
    close: async () => undefined,
  };

  function openTrash(): Trash {
    const trash = createTrash(store);
    return { ...trash, restore: (input) => changing(() => trash.restore(input)) };
  }

  /** Keeps listings that uploads share from hiding a change. */
  function changing<T>(change: () => Promise<T>): Promise<T> {
    return store.listings.changing(store.scope, change);
  }

  function placeOf(parent: string, name: string): Place | Failure {
    return refuseName(store.keys.root, parent, name) ?? toPlace(store, parent, name);
  }
}

/** Checks that the bucket can be listed and probes the server's conditions again. Removes old leftovers. */
export async function checkBucket(store: Store, signal: AbortSignal): Promise<CheckOutcome> {
  const listable = await hasKeys(store, store.keys.root, signal);
  if (typeof listable === "object") return toChangeFailure(listable.failure);
  const probed = await probe(store, signal);
  if (probed.kind !== "ok") return probed;
  const { findings } = probed;
  const failed = findings.isWritable
    ? await recoverJournal({ ...store, findings }, true, signal)
    : undefined;
  return failed === undefined || failed === "pending"
    ? { kind: "ok", probeResult: toProbeResult(findings) }
    : failed;
}

/** A folder is an empty object whose key ends in a slash. */
async function createFolder(store: Store, place: Place, signal: AbortSignal) {
  const { key, parent, name, parentPrefix } = place;
  const marker = `${key}/`;
  return store.deps.locks.withLocks([toLockKey(store, key)], async () => {
    const refusal = await refusePlace(store, place, signal);
    if (refusal !== undefined) return refusal;
    const created = await putNew(store, { key: marker, body: new Uint8Array(), signal });
    if (created.kind === "precondition") return { kind: "conflict", existingName: name } as const;
    // After a lost response an existing marker counts as ours: folders of one name are one folder.
    if (created.kind === "refused" && !mayHaveLanded(created))
      return toChangeFailure(created.failure);
    const markerExists = await hasKeys(store, marker, signal);
    if (typeof markerExists === "object") return { kind: "unknown_outcome" } as const;
    if (!markerExists)
      return created.kind === "refused"
        ? toChangeFailure(created.failure)
        : ({ kind: "stale", note: "gone_again" } as const);
    if ((await existsWithout(store, parentPrefix, marker, signal)) === false) {
      const etag = created.kind === "done" ? created.etag : "";
      await removeObject(store, { key: marker, etag, signal });
      return { kind: "stale", note: "parent_gone" } as const;
    }
    return { kind: "ok", item: toFolderItem(parent, name) } as const;
  });
}
