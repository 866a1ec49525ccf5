import type { DestinationFault, Failure } from "./outcomes.ts";
import type { DeleteOutcome, ProviderDeps } from "./provider.ts";
import { viaTemporaryName } from "./temporary-names.ts";

// The common steps of adapters that look an item up, change it under a precondition, and determine the result after a
// lost response. The adapters of OneDrive and Dropbox use all of them; the adapter of Google Drive uses those of a
// delete.

/** A success with unexpected content is treated like a lost response. */
export const STRANGE_ANSWER: Failure = { kind: "offline", sent: true, note: "strange_answer" };

export function refuseDestination(reason: DestinationFault): Failure {
  return { kind: "invalid_destination", reason };
}

/** Returns whether a change may have happened although it failed: its request was sent and the response was lost. */
export function isLostResponse<T extends { readonly kind: string }>(
  outcome: T,
): outcome is Extract<T, { readonly kind: "offline" }> {
  return outcome.kind === "offline" && "sent" in outcome && outcome.sent === true;
}

/** Maps a failed lookup before the change: nothing was changed yet, so the whole operation may be retried. */
export function toEarlyFailure<F extends { readonly kind: string }>(
  failure: F,
  toChangeFailure: (failure: F) => Failure,
): Failure {
  const mapped = toChangeFailure(failure);
  const isOffline = failure.kind === "offline" && mapped.kind === "offline";
  return isOffline ? { ...mapped, sent: false } : mapped;
}

/**
 * Determines the result of a change whose response was lost: a success if the item is in the requested state, else the
 * failure.
 */
export async function explainChange<Found>(
  lost: Failure,
  look: () => Promise<{ readonly kind: "ok"; readonly found: Found } | { readonly kind: string }>,
  isDone: (now: Found) => boolean,
): Promise<{ readonly kind: "ok"; readonly found: Found } | Failure> {
  const now = await look();
  if ("found" in now) return isDone(now.found) ? { kind: "ok", found: now.found } : lost;
  if (now.kind === "not_found") return { kind: "stale" };
  return { kind: "unknown_outcome", note: lost.note ?? "lost" };
}

/**
 * Determines the result of a delete whose response was lost: a success if the item no longer exists, else the failure.
 */
export async function explainDelete(
  lost: Failure,
  how: "trashed" | "permanent",
  look: () => Promise<{ readonly kind: string }>,
): Promise<DeleteOutcome> {
  const still = await look();
  if (still.kind === "not_found") return { kind: "ok", how };
  return still.kind === "ok" ? lost : { kind: "unknown_outcome", note: lost.note ?? "lost" };
}

/**
 * Changes only the spelling of a name by two renames, for storages that take one rename for a collision or for no change.
 * Renames back when the second one fails, also after the caller has aborted.
 */
export function renameTwice<Item>(
  names: { readonly from: string; readonly to: string },
  deps: Pick<ProviderDeps, "home" | "newId" | "locks">,
  item: Item,
  rename: (
    item: Item,
    name: string,
    /** Absent for the caller's own signal. */
    signal?: AbortSignal,
  ) => Promise<{ readonly kind: "ok"; readonly item: Item } | Failure>,
): Promise<{ readonly kind: "ok"; readonly item: Item } | Failure> {
  return viaTemporaryName(names.to, deps, async (temporary) => {
    const between = await rename(item, temporary);
    if (between.kind !== "ok") return between;
    const renamed = await rename(between.item, names.to);
    if (renamed.kind === "ok" || renamed.kind === "unknown_outcome") return renamed;
    const back = await rename(between.item, names.from, new AbortController().signal);
    return back.kind === "ok" ? renamed : { kind: "unknown_outcome", note: "between_two_names" };
  });
}
