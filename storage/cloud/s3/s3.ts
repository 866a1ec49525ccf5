import type { Failure } from "../outcomes.ts";
import type { CheckOutcome, CloudProvider, Powers } from "../provider.ts";
import { putNew, removeObject } from "./changing.ts";
import { find, hasKeys, turnOf, type Store } from "./context.ts";
import { toFacts } from "./facts.ts";
import { settleJournal } from "./journal.ts";
import { refuseName, splitId } from "./keys.ts";
import { isThereBeside, listFolder, toFolderItem, toItem } from "./listing.ts";
import { refuseDestination, refusePlace, toPlace, type Place } from "./names.ts";
import { probe } from "./probe.ts";
import { read } from "./reading.ts";
import { relocate } from "./relocate.ts";
import { mayHaveLanded, toChangeFailure } from "../../s3/failures.ts";
import { remove } from "./remove.ts";
import { upload } from "./upload.ts";

/** A bucket as a storage. With `isSettled` nothing of earlier runs can be left in it. */
export function createS3(store: Store, can: Powers, isSettled: boolean): CloudProvider {
  let settled = isSettled;

  /** Ends what an earlier run left half done, once, before anything else is seen or changed. */
  async function settle(signal: AbortSignal): Promise<void> {
    if (settled || !store.findings.isWritable) return;
    // Where that fails now the call itself will tell why, and the next one tries again.
    settled = (await settleJournal(store, false, signal)) === undefined;
  }

  return {
    can,

    async list({ folder, signal }) {
      await settle(signal);
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
      await settle(signal);
      return createFolder(store, place, signal);
    },

    async upload({ parent, name, ...source }) {
      const place = placeOf(parent, name);
      if ("kind" in place) {
        source.content.destroy();
        return place;
      }
      await settle(source.signal);
      return upload(store, { to: place, ...source });
    },

    async rename({ id, name, expected, signal }) {
      const { parent, name: before } = splitId(id);
      const place = name === before ? toPlace(store, parent, name) : placeOf(parent, name);
      if ("kind" in place) return place;
      await settle(signal);
      return relocate(store, { id, to: place, expected, signal });
    },

    async move({ id, parent, expected, signal }) {
      const { name } = splitId(id);
      await settle(signal);
      const fault = await refuseDestination(store, id, parent, signal);
      if (fault !== undefined) return fault;
      const place = toPlace(store, parent, name);
      if ("kind" in place) return place;
      return relocate(store, { id, to: place, expected, signal });
    },

    async delete({ id, expected, permanently = false, signal }) {
      await settle(signal);
      return remove(store, { id, expected, permanently, signal });
    },

    quota: async () => ({ kind: "ok", usedBytes: undefined, totalBytes: undefined }),

    check: ({ signal }) => lookAt(store, signal),
    close: async () => undefined,
  };

  function placeOf(parent: string, name: string): Place | Failure {
    return refuseName(store.keys.root, parent, name) ?? toPlace(store, parent, name);
  }
}

/** A live look: the bucket can be listed, and what its server does is proved anew. Old remains are cleared away. */
export async function lookAt(store: Store, signal: AbortSignal): Promise<CheckOutcome> {
  const listed = await hasKeys(store, store.keys.root, signal);
  if (typeof listed === "object") return toChangeFailure(listed.failure);
  const probed = await probe(store, signal);
  if (probed.kind !== "ok") return probed;
  const { findings } = probed;
  const failed = findings.isWritable
    ? await settleJournal({ ...store, findings }, true, signal)
    : undefined;
  return failed ?? { kind: "ok", facts: toFacts(findings) };
}

/** A folder is an empty object whose key ends in a slash. */
async function createFolder(store: Store, place: Place, signal: AbortSignal) {
  const { key, parent, name, parentPrefix } = place;
  const marker = `${key}/`;
  return store.deps.turns.inTurn([turnOf(store, key)], async () => {
    const refusal = await refusePlace(store, place, signal);
    if (refusal !== undefined) return refusal;
    const made = await putNew(store, { key: marker, body: new Uint8Array(), signal });
    if (made.kind === "precondition") return { kind: "conflict", existingName: name } as const;
    // A marker that is there although nobody said so is as good as ours: folders of one name are one folder.
    if (made.kind === "refused" && !mayHaveLanded(made)) return toChangeFailure(made.failure);
    const there = await hasKeys(store, marker, signal);
    if (typeof there === "object") return { kind: "unknown_outcome" } as const;
    if (!there)
      return made.kind === "refused"
        ? toChangeFailure(made.failure)
        : ({ kind: "stale", note: "gone_again" } as const);
    if ((await isThereBeside(store, parentPrefix, marker, signal)) === false) {
      const etag = made.kind === "done" ? made.etag : "";
      await removeObject(store, { key: marker, etag, signal });
      return { kind: "stale", note: "parent_gone" } as const;
    }
    return { kind: "ok", item: toFolderItem(parent, name) } as const;
  });
}
