import type { Failure } from "../outcomes.ts";
import type { ItemOutcome } from "../item.ts";
import { pathOf, type Drive, type FileOutcome } from "./drive.ts";
import { toChangeFailure, type DriveFailure } from "./failures.ts";
import { FOLDER_TYPE, type DriveFile } from "./items.ts";
import type { Names } from "./names.ts";

/** A new item with an id that was generated in advance. */
export interface NewItem {
  readonly id: string;
  readonly parent: string;
  readonly name: string;
}

/** Creates an empty folder: the name is free before, and no older item has it afterwards. */
export async function createFolder(
  drive: Drive,
  names: Names,
  input: { readonly parent: string; readonly name: string; readonly signal: AbortSignal },
): Promise<ItemOutcome> {
  const { parent, name, signal } = input;
  const begun = await begin(drive, names, parent, name, signal);
  if (begun.kind !== "ok") return begun;
  const { item } = begun;
  const make = () =>
    drive.change(
      {
        method: "POST",
        service: "v3",
        path: "/files",
        body: { id: item.id, name, mimeType: FOLDER_TYPE, parents: [drive.realId(parent)] },
      },
      signal,
    );
  let attempt = await verifyMade(drive, await make(), item, signal);
  // The item certainly does not exist, and the chosen id makes a retry idempotent.
  if (attempt.kind === "not_there") attempt = await verifyMade(drive, await make(), item, signal);
  if (attempt.kind === "not_there") return attempt.failure;
  return attempt.kind === "ok"
    ? finish(drive, names, attempt.file, item, signal)
    : refuse(drive, attempt, parent, signal);
}

/**
 * Checks the preconditions of creating an item: an existing folder and a free name; then generates an id. `resumed` is the id
 * of an item that an earlier call began, and may have created.
 */
export async function begin(
  drive: Drive,
  names: Names,
  parent: string,
  name: string,
  signal: AbortSignal,
  resumed?: string,
): Promise<{ readonly kind: "ok"; readonly item: NewItem } | Failure> {
  const [folder, free, newId] = await Promise.all([
    drive.lookUpParent(parent, signal),
    names.isFree(parent, name, resumed, signal),
    resumed === undefined ? drive.takeId(signal) : ({ kind: "ok", id: resumed } as const),
  ]);
  if (folder.kind === "not_a_folder") return { kind: "stale", note: "not_a_folder" };
  if (folder.kind !== "ok") return toChangeFailure(folder);
  if (free.kind !== "ok") return toChangeFailure(free);
  if (!free.isFree) return { kind: "conflict", existingName: name };
  if (newId.kind !== "ok") return toChangeFailure(newId);
  return { kind: "ok", item: { id: newId.id, parent, name } };
}

/** Result of an attempt to create an item: after a lost response the id shows whether it was created. */
export async function verifyMade(
  drive: Drive,
  outcome: FileOutcome,
  item: NewItem,
  signal: AbortSignal,
): Promise<FileOutcome | { readonly kind: "not_there"; readonly failure: Failure }> {
  const isUnclear =
    outcome.kind === "id_taken" || (outcome.kind === "offline" && outcome.sent && !signal.aborted);
  if (!isUnclear) return outcome;
  const found = await drive.lookUp(item.id, signal);
  if (found.kind === "ok") return found;
  if (found.kind !== "not_found") return { kind: "unknown_outcome", note: outcome.note ?? "lost" };
  return { kind: "not_there", failure: toChangeFailure(outcome) };
}

/** Keeps a new item if its folder still exists and no older item has the name; otherwise removes it. */
export async function finish(
  drive: Drive,
  names: Names,
  created: DriveFile,
  item: NewItem,
  signal: AbortSignal,
): Promise<ItemOutcome> {
  // Another client has moved the folder to the trash meanwhile, and the new item with it.
  if (created.isTrashed) return undoCreate(drive, item, { kind: "stale", note: "parent_trashed" });
  if ((await names.resolveConflict(created, signal)) === "theirs")
    return undoCreate(drive, item, { kind: "conflict", existingName: item.name });
  return { kind: "ok", item: created.item };
}

/** Maps a refusal to create an item; distinguishes a missing parent from other missing items. */
export async function refuse(
  drive: Drive,
  failure: DriveFailure,
  parent: string,
  signal: AbortSignal,
): Promise<Failure> {
  if (failure.kind !== "not_found") return toChangeFailure(failure);
  const folder = await drive.lookUpParent(parent, signal);
  return folder.kind === "ok"
    ? { kind: "offline", sent: true, note: failure.note ?? "not_found" }
    : { kind: "stale", note: "parent_gone" };
}

/** Time-out of a removal. */
const TAKE_BACK_MS = 20_000;

/** Permanently removes an item that we created, or moves it to the trash if only that is permitted. */
export async function undoCreate(drive: Drive, item: NewItem, cause: Failure): Promise<Failure> {
  // The caller's signal may be aborted, so this request has its own.
  const signal = AbortSignal.timeout(TAKE_BACK_MS);
  const path = pathOf(item.id);
  const deleted = await drive.api.callJson({ method: "DELETE", service: "v3", path, signal });
  if (deleted.kind === "ok" || deleted.kind === "not_found") return cause;
  const body = { trashed: true };
  const trashed = await drive.api.callJson({ method: "PATCH", service: "v3", path, body, signal });
  return trashed.kind === "ok" || trashed.kind === "not_found"
    ? cause
    : { kind: "unknown_outcome", note: "not_taken_back" };
}
