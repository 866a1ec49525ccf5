import { explainDelete, isLostResponse } from "../guarded-change.ts";
import type { Failure } from "../outcomes.ts";
import type { DeleteOutcome, Expected } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { pathOf, type Drive, type FileOutcome } from "./drive.ts";
import { toChangeFailure } from "./failures.ts";
import { isExpected, type DriveFile } from "./items.ts";
import type { Names } from "./names.ts";

/** The target folder and name of an item. */
interface Place {
  readonly parent: string;
  readonly name: string;
}

interface Change {
  readonly id: string;
  readonly expected: Expected;
  readonly signal: AbortSignal;
}

/** Maximum number of attempts of a change after invisible changes of the etag. */
const TRIES_MAX = 4;
/** Maximum nesting of folders in Drive. */
const DEPTH_MAX = 110;

/** Renames an item. */
export function rename(
  drive: Drive,
  names: Names,
  input: Change & { readonly name: string },
): Promise<ItemOutcome> {
  return relocate(drive, names, input, ({ item }) => ({ parent: item.parent, name: input.name }));
}

/** Moves an item to another folder, which is neither itself nor below it. */
export async function move(
  drive: Drive,
  names: Names,
  input: Change & { readonly parent: string },
): Promise<ItemOutcome> {
  const { id, parent, expected, signal } = input;
  if (parent === id) return { kind: "invalid_destination", reason: "self_destination" };
  const folder = await drive.lookUpParent(parent, signal);
  if (folder.kind === "not_a_folder")
    return { kind: "invalid_destination", reason: "not_a_folder" };
  if (folder.kind !== "ok") return toChangeFailure(folder);
  if (expected.kind !== "file") {
    const above = await isAbove(drive, id, parent, signal);
    if (above.kind !== "ok") return above;
    if (above.isAbove) return { kind: "invalid_destination", reason: "descendant_destination" };
  }
  return relocate(drive, names, input, ({ item }) => ({ parent, name: item.name }));
}

/** Deletes an item: to the trash, or permanently. */
export async function remove(
  drive: Drive,
  input: Change & { readonly permanently?: boolean },
): Promise<DeleteOutcome> {
  const { id, expected, permanently = false, signal } = input;
  const how = permanently ? "permanent" : "trashed";
  for (let tries = 1; ; tries++) {
    const found = await drive.lookUpWithEtag(id, signal);
    if (found.kind !== "ok") return toChangeFailure(found);
    if (!isExpected(found.file, expected)) return { kind: "stale" };
    const deleted = await drive.api.callJson({
      method: permanently ? "DELETE" : "POST",
      service: "v2",
      path: permanently ? pathOf(id) : `${pathOf(id)}/trash`,
      headers: toGuard(found.file),
      signal,
    });
    if (deleted.kind === "ok") return { kind: "ok", how };
    if (isAgain(deleted, tries)) continue;
    if (!isLostResponse(deleted) || signal.aborted) return toChangeFailure(deleted);
    return explainDelete(deleted, how, async () => {
      const after = await drive.lookUp(id, signal);
      return after.kind === "ok" && after.file.isTrashed ? { kind: "not_found" } : after;
    });
  }
}

async function relocate(
  drive: Drive,
  names: Names,
  { id, expected, signal }: Change,
  toPlace: (file: DriveFile) => Place,
): Promise<ItemOutcome> {
  let wasLost = false;
  // A request whose response was lost may still be carried out, whatever becomes of the next one.
  const toFailure = (found: Parameters<typeof toChangeFailure>[0]): Failure => {
    const failure = toChangeFailure(found);
    return wasLost && failure.kind === "offline" && !failure.sent
      ? { kind: "unknown_outcome", note: failure.note ?? "lost" }
      : failure;
  };
  for (let tries = 1; ; tries++) {
    const found = await drive.lookUpWithEtag(id, signal);
    if (found.kind !== "ok") return toFailure(found);
    const before = found.file;
    if (!isExpected(before, expected)) return { kind: "stale" };
    const place = toPlace(before);
    if (isAt(before, place)) return { kind: "ok", item: before.item };

    const free = await names.isFree(place.parent, place.name, id, signal);
    if (free.kind !== "ok") return toFailure(free);
    if (!free.isFree) return { kind: "conflict", existingName: place.name };

    let after = await put(drive, before, place, signal);
    if (isAgain(after, tries)) continue;
    if (isLostResponse(after) && !signal.aborted) {
      wasLost = true;
      const landed = await findOutcome(drive, before, place, signal);
      if (landed.kind === "not_there" && tries < TRIES_MAX) continue;
      after = landed.kind === "not_there" ? after : landed;
    }
    // Another client has moved the destination below the item meanwhile.
    if (after.kind === "bad_request" && place.parent !== before.item.parent)
      return { kind: "invalid_destination", reason: "descendant_destination", note: "400" };
    if (after.kind !== "ok") return toFailure(after);
    if ((await names.resolveConflict(after.file, signal)) !== "theirs")
      return { kind: "ok", item: after.file.item };
    return moveBack(drive, after.file, { parent: before.item.parent, name: before.item.name });
  }
}

/** Sends one change of name or folder, with the etag as its precondition. */
function put(
  drive: Drive,
  file: DriveFile,
  { parent, name }: Place,
  signal: AbortSignal,
): Promise<FileOutcome> {
  const { item, parentId } = file;
  const isMove = parent !== item.parent;
  return drive.change(
    {
      method: "PATCH",
      service: "v2",
      path: pathOf(item.id),
      query: isMove
        ? {
            addParents: drive.realId(parent),
            // An item has one parent at most, and the new parent is never among the removed ones.
            ...(parentId === undefined ? {} : { removeParents: parentId }),
          }
        : {},
      headers: toGuard(file),
      body: name === item.name ? {} : { title: name },
    },
    signal,
  );
}

/** Determines whether a change with a lost response has happened. */
async function findOutcome(
  drive: Drive,
  before: DriveFile,
  place: Place,
  signal: AbortSignal,
): Promise<FileOutcome | { readonly kind: "not_there" }> {
  const found = await drive.lookUpWithEtag(before.item.id, signal);
  if (found.kind !== "ok")
    return found.kind === "not_found" ? found : { kind: "unknown_outcome", note: "lost" };
  if (found.file.isTrashed) return { kind: "stale" };
  if (isAt(found.file, place)) return found;
  return found.file.item.etag === before.item.etag ? { kind: "not_there" } : { kind: "stale" };
}

const PUT_BACK_MS = 20_000;

/** Another client had the name first: moves the item back. */
async function moveBack(drive: Drive, file: DriveFile, place: Place): Promise<Failure> {
  // The caller may have aborted; the item must move back anyway.
  const signal = AbortSignal.timeout(PUT_BACK_MS);
  const back = await put(drive, file, place, signal);
  return back.kind === "ok"
    ? { kind: "conflict", existingName: file.item.name }
    : { kind: "unknown_outcome", note: "not_put_back" };
}

/** Returns whether a folder contains the other one, at any depth. */
async function isAbove(
  drive: Drive,
  id: string,
  folder: string,
  signal: AbortSignal,
): Promise<{ readonly kind: "ok"; readonly isAbove: boolean } | Failure> {
  let at = folder;
  for (let depth = 0; at !== "" && depth < DEPTH_MAX; depth++) {
    if (at === id) return { kind: "ok", isAbove: true };
    const found = await drive.lookUp(at, signal);
    if (found.kind === "not_found") break;
    if (found.kind !== "ok") return toChangeFailure(found);
    at = found.file.item.parent;
  }
  return { kind: "ok", isAbove: false };
}

function isAt({ item }: DriveFile, { parent, name }: Place): boolean {
  return item.parent === parent && item.name === name;
}

/** An invisible change of the item, such as a new child of a folder: the next lookup decides. */
function isAgain(outcome: { readonly kind: string }, tries: number): boolean {
  return outcome.kind === "precondition_failed" && tries < TRIES_MAX;
}

function toGuard({ tag }: DriveFile): Record<string, string> {
  return tag === undefined ? {} : { "if-match": tag };
}
