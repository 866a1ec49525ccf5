import type { Failure } from "../outcomes.ts";
import { findObject, hasKeys, type Store } from "./context.ts";
import { childOf, splitId } from "./keys.ts";
import { isRefused, toChangeFailure, type Refused } from "../../s3/failures.ts";
import type { ListedFolder } from "./shared-listings.ts";

/** The target of a new item. */
export interface Place {
  readonly id: string;
  readonly name: string;
  readonly parent: string;
  /** The key of a file of this name. */
  readonly key: string;
  /** The key prefix of its parent folder. */
  readonly parentPrefix: string;
}

/** Returns the place of a name in a folder; the name is already validated. */
export function toPlace(store: Store, parent: string, name: string): Place | Failure {
  const parentPrefix = store.keys.toFolderPrefix(parent);
  if (parentPrefix === undefined) return { kind: "stale", note: "impossible_id" };
  return { id: childOf(parent, name), name, parent, key: parentPrefix + name, parentPrefix };
}

/**
 * Checks that a name is free and its folder exists. With `isGuarded`, skips the check for a file of the name: the request
 * that follows carries the condition. A listing of the folder saves the requests that it answers.
 */
export async function refusePlace(
  store: Store,
  place: Place,
  signal: AbortSignal,
  {
    isGuarded = false,
    listed: listing,
  }: { readonly isGuarded?: boolean; readonly listed?: ListedFolder | undefined } = {},
): Promise<Failure | undefined> {
  const ownPrefix = `${place.key}/`;
  const [file, folder, parent] = await Promise.all([
    isGuarded ? undefined : findObject(store, place.key, signal),
    listing?.prefixes.has(ownPrefix) === false ? false : hasKeys(store, ownPrefix, signal),
    place.parent === "" || listing?.hasOther(ownPrefix) === true
      ? true
      : hasKeys(store, place.parentPrefix, signal),
  ]);
  const refused = [file, folder, parent].find(
    (result): result is Refused => typeof result === "object" && isRefused(result),
  );
  if (refused !== undefined) return toChangeFailure(refused.failure);
  if (parent !== true) return { kind: "stale", note: "parent_gone" };
  return file === undefined && folder === false
    ? undefined
    : { kind: "conflict", existingName: place.name };
}

/** Checks that an item may be moved into a folder: not into itself, below itself or into a file. */
export async function refuseDestination(
  store: Store,
  id: string,
  parent: string,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  if (parent === id) return { kind: "invalid_destination", reason: "self_destination" };
  if (parent.startsWith(`${id}/`))
    return { kind: "invalid_destination", reason: "descendant_destination" };
  if (parent === "" || splitId(id).parent === parent) return undefined;
  const key = store.keys.toFileKey(parent);
  const prefix = store.keys.toFolderPrefix(parent);
  if (prefix === undefined) return { kind: "stale", note: "impossible_id" };
  const isFolder = await hasKeys(store, prefix, signal);
  if (typeof isFolder === "object") return toChangeFailure(isFolder.failure);
  if (isFolder) return undefined;
  const file = key === undefined ? undefined : await findObject(store, key, signal);
  if (file?.kind === "refused") return toChangeFailure(file.failure);
  return file === undefined
    ? { kind: "stale", note: "parent_gone" }
    : { kind: "invalid_destination", reason: "not_a_folder" };
}
