import type { Failure } from "../outcomes.ts";
import type { DeleteOutcome, Expected } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { toPlaceOf, toSegments } from "./address.ts";
import { beforehand, refuseName, refuseTarget, type DavCore } from "./core.ts";
import { isPlain } from "./failures.ts";
import { isExpected, type DavItem } from "./items.ts";
import { judge, refusedName, relocate, toUndoneFailure } from "./relocate.ts";

/** The permissions of an account on an item, if the server states them: saves requests that would be refused. */
export type Permits = (
  action: "rename" | "move" | "delete" | "replace",
  current: DavItem,
) => Failure | undefined;

export async function createFolder(
  core: DavCore,
  input: { readonly parent: string; readonly name: string; readonly signal: AbortSignal },
): Promise<ItemOutcome> {
  const { name, signal } = input;
  const refusal = refuseName(name, core.probeResult);
  if (refusal !== undefined) return refusal;
  const parent = toSegments(input.parent);
  if (parent === undefined) return { kind: "stale", note: "impossible_id" };
  const segments = [...parent, name];
  return core.withLocks([segments], async () => {
    const conflict = await refuseTaken(core, segments, signal);
    if (conflict !== undefined) return conflict;
    const answer = await core.client.send({
      method: "MKCOL",
      place: { segments, isFolder: true },
      signal,
    });
    const verdict =
      answer.kind === "answered"
        ? await judge(core, answer)
        : ({ kind: "lost", failure: answer } as const);
    if (verdict.kind === "refused" && isPlain(verdict.failure)) return verdict.failure;
    if (verdict.kind === "lost" && !verdict.failure.sent) return verdict.failure;
    const found = await core.lookUpWithRetries(segments, signal);
    if (found.kind === "ok") {
      const isOurs = verdict.kind !== "refused" && found.davItem.item.kind === "folder";
      return isOurs
        ? { kind: "ok", item: found.davItem.item }
        : { kind: "conflict", existingName: name };
    }
    if (found.kind !== "not_found") return { kind: "unknown_outcome", note: "look_failed" };
    if (verdict.kind !== "refused") return toUndoneFailure(verdict);
    const refusal = await core.refuseParent(parent, signal);
    return toStale(refusal) ?? refusedName(verdict.status, verdict.failure);
  });
}

export function rename(
  core: DavCore,
  input: {
    readonly id: string;
    readonly name: string;
    readonly expected: Expected;
    readonly signal: AbortSignal;
  },
  permits: Permits,
): Promise<ItemOutcome> {
  return change(core, { ...input, parent: undefined }, permits);
}

export function move(
  core: DavCore,
  input: {
    readonly id: string;
    readonly parent: string;
    readonly expected: Expected;
    readonly signal: AbortSignal;
  },
  permits: Permits,
): Promise<ItemOutcome> {
  return change(core, { ...input, name: undefined }, permits);
}

async function change(
  core: DavCore,
  input: {
    readonly id: string;
    readonly parent: string | undefined;
    readonly name: string | undefined;
    readonly expected: Expected;
    readonly signal: AbortSignal;
  },
  permits: Permits,
): Promise<ItemOutcome> {
  const { id, expected, signal } = input;
  const place = toPlaceOf(id);
  if (place === undefined) return { kind: "stale", note: "impossible_id" };
  const name = input.name ?? place.name;
  const refusal = input.name === undefined ? undefined : refuseName(name, core.probeResult);
  if (refusal !== undefined) return refusal;
  const parent = input.parent === undefined ? place.parent : toSegments(input.parent);
  if (parent === undefined) return { kind: "stale", note: "impossible_id" };
  const cut = refuseTarget([...parent, name], core.probeResult);
  if (cut !== undefined) return cut;
  // Some servers accept a move below itself and lose the tree, so it is never sent.
  if (input.parent !== undefined) {
    const [own, destination] = [spell(core, id), spell(core, input.parent)];
    if (destination === own) return { kind: "invalid_destination", reason: "self_destination" };
    if (destination.startsWith(`${own}/`))
      return { kind: "invalid_destination", reason: "descendant_destination" };
  }
  const action = input.name === undefined ? "move" : "rename";
  const outcome = await relocate(core, {
    from: place.segments,
    to: [...parent, name],
    expected,
    refuse: (current) => permits(action, current),
    signal,
  });
  return outcome;
}

/** Deletes permanently, or into the server's trash; the caller passes `how`. */
export async function deleteItem(
  core: DavCore,
  input: {
    readonly id: string;
    readonly expected: Expected;
    readonly signal: AbortSignal;
    readonly headers?: Readonly<Record<string, string>>;
  },
  permits: Permits,
  finish: (current: DavItem) => Promise<DeleteOutcome>,
): Promise<DeleteOutcome> {
  const { signal } = input;
  const place = toPlaceOf(input.id);
  if (place === undefined) return { kind: "stale", note: "impossible_id" };
  return core.withLocks([place.segments], async () => {
    const before = await core.lookUp(place.segments, signal);
    if (before.kind === "not_found") return { kind: "stale", note: "gone" };
    if (before.kind !== "ok") return beforehand(before);
    if (!isExpected(before.davItem, input.expected)) return { kind: "stale", note: "changed" };
    const refusal = permits("delete", before.davItem);
    if (refusal !== undefined) return refusal;
    let guards = core.probeResult["if_match"] === true && before.davItem.strongTag !== undefined;
    for (let attempt = 1; ; attempt++) {
      const answer = await core.client.send({
        method: "DELETE",
        place: { segments: place.segments, isFolder: before.davItem.item.kind === "folder" },
        headers: {
          ...input.headers,
          ...(guards ? { "if-match": before.davItem.strongTag ?? "" } : {}),
        },
        signal,
      });
      const verdict =
        answer.kind === "answered"
          ? await judge(core, answer)
          : ({ kind: "lost", failure: answer } as const);
      if (verdict.kind === "refused" && isPlain(verdict.failure)) return verdict.failure;
      if (verdict.kind === "lost" && !verdict.failure.sent) return verdict.failure;
      const after = await core.lookUpWithRetries(place.segments, signal);
      if (after.kind === "not_found")
        return verdict.kind === "refused" && verdict.status === 404
          ? { kind: "stale", note: "gone" }
          : finish(before.davItem);
      if (after.kind !== "ok") return { kind: "unknown_outcome", note: "look_failed" };
      if (
        !isExpected(after.davItem, {
          kind: before.davItem.item.kind,
          etag: before.davItem.item.etag,
        })
      )
        return { kind: "stale", note: "changed" };
      if (verdict.kind === "refused" && verdict.status === 412 && guards && attempt < 2) {
        guards = false;
        continue;
      }
      return verdict.kind === "refused"
        ? refusedName(verdict.status, verdict.failure)
        : toUndoneFailure(verdict);
    }
  });
}

/** Returns the failure of a taken name or a missing parent; undefined when the path is free. */
export async function refuseTaken(
  core: DavCore,
  segments: readonly string[],
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const refusal = toStale(await core.refuseParent(segments.slice(0, -1), signal));
  if (refusal !== undefined) return refusal;
  const found = await core.lookUp(segments, signal);
  if (found.kind === "ok") return { kind: "conflict", existingName: found.davItem.item.name };
  return found.kind === "not_found" ? undefined : beforehand(found);
}

/** A parent that is a file but was listed as a folder: the listing is stale. */
function toStale(failure: Failure | undefined): Failure | undefined {
  return failure?.kind === "invalid_destination"
    ? { kind: "stale", note: "parent_is_a_file" }
    : failure;
}

function spell(core: DavCore, id: string): string {
  return core.mixesSpellings ? id.normalize("NFC").toLowerCase() : id;
}
