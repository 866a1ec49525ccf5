import type { Failure } from "../outcomes.ts";
import type { Expected } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import type { ProviderAnswer } from "../transport.ts";
import { openPlain } from "../content-encoding.ts";
import { isSameSpelling } from "../comparison.ts";
import { viaTemporaryName } from "../temporary-names.ts";
import { beforehand, type DavCore } from "./core.ts";
import { isPlain, NAME_REFUSALS, toFailure } from "./failures.ts";
import { isExpected, type DavItem } from "./items.ts";
import { readMultistatus } from "./multistatus.ts";

/** Result of one MOVE request, before a check. */
export type Answered =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly failure: Failure; readonly status: number }
  /** It is unknown whether the move was carried out. */
  | { readonly kind: "lost"; readonly failure: Extract<Failure, { kind: "offline" }> };

/**
 * Moves an item. First checks everything that a server might not check, then sends a move that never
 * overwrites, then checks the result: a status alone proves neither success nor failure.
 */
export async function relocate(
  core: DavCore,
  move: {
    readonly from: readonly string[];
    readonly to: readonly string[];
    readonly expected: Expected;
    /** Refuses operations that the item's permissions forbid. */
    readonly refuse?: (current: DavItem) => Failure | undefined;
    readonly signal: AbortSignal;
  },
): Promise<ItemOutcome> {
  const { from, to, signal } = move;
  return core.withLocks([from, to], async () => {
    const source = await core.lookUp(from, signal);
    if (source.kind === "not_found") return { kind: "stale", note: "gone" };
    if (source.kind !== "ok") return beforehand(source);
    if (!isExpected(source.davItem, move.expected)) return { kind: "stale", note: "changed" };
    const isSamePlace = from.join("/") === to.join("/");
    if (isSamePlace) return { kind: "ok", item: source.davItem.item };
    const refusal = move.refuse?.(source.davItem);
    if (refusal !== undefined) return refusal;
    const parent = to.slice(0, -1);
    if (parent.join("/") !== from.slice(0, -1).join("/")) {
      const refused = await core.refuseParent(parent, signal);
      if (refused !== undefined) return refused;
    } else if (core.mixesSpellings && isSameSpelling(from.at(-1) ?? "", to.at(-1) ?? "")) {
      return respell(core, source.davItem, from, to, signal);
    }
    const target = await core.lookUp(to, signal);
    if (target.kind === "ok") return { kind: "conflict", existingName: target.davItem.item.name };
    if (target.kind !== "not_found") return beforehand(target);
    return moveOnto(core, { source: source.davItem, from, to, signal });
  });
}

/**
 * Moves onto a name that was free a moment ago, and determines the result. After a lost response it retries once if
 * nothing has happened: the move never overwrites, so it cannot happen twice.
 */
export async function moveOnto(
  core: DavCore,
  move: {
    readonly source: DavItem;
    readonly from: readonly string[];
    readonly to: readonly string[];
    /** The server enforces `Overwrite: F`: after a success the source needs no check. */
    readonly isGuarded?: boolean;
    readonly signal: AbortSignal;
  },
): Promise<ItemOutcome> {
  let guards = core.probeResult["if_match"] === true;
  let wasLost = false;
  for (let attempt = 1; ; attempt++) {
    const verdict = await sendMove(core, { ...move, guards });
    const isUnsent = verdict.kind === "lost" && !verdict.failure.sent;
    // The first request may still be carried out, whatever becomes of the second.
    if (wasLost && (isUnsent || (verdict.kind === "refused" && isPlain(verdict.failure))))
      return { kind: "unknown_outcome", note: verdict.failure.note ?? verdict.failure.kind };
    if (isUnsent || (verdict.kind === "refused" && isPlain(verdict.failure)))
      return verdict.failure;
    wasLost ||= verdict.kind === "lost";
    const outcome = await determineOutcome(core, move, verdict);
    if (outcome !== "nothing_happened") return outcome;
    // A condition that fails although nothing has changed is useless (weak tags, compressing servers).
    const isGuardUseless = verdict.kind === "refused" && verdict.status === 412 && guards;
    if (attempt < 2 && (isGuardUseless || verdict.kind === "lost")) {
      guards = false;
      continue;
    }
    if (verdict.kind === "refused") return refusedName(verdict.status, verdict.failure);
    return toUndoneFailure(verdict);
  }
}

/** Maps a refusal that no check explains: the name is invalid, or the cause is unknown. */
export function refusedName(status: number, failure: Failure): Failure {
  if (NAME_REFUSALS.has(status))
    return { kind: "invalid_name", rule: "refused_by_provider", note: String(status) };
  return failure.kind === "stale" || status === 412 || status === 409
    ? { kind: "offline", sent: true, note: `refused_${status}` }
    : failure;
}

/** Returns the failure when a change that was not refused has no visible result. */
export function toUndoneFailure(verdict: Exclude<Answered, { kind: "refused" }>): Failure {
  if (verdict.kind === "accepted")
    return { kind: "offline", sent: true, note: "accepted_but_not_done" };
  // An error of the server itself is a response: the request has ended. Otherwise it may still be running.
  const note = verdict.failure.note ?? "lost";
  return /^5\d\d$/.test(note) ? verdict.failure : { kind: "unknown_outcome", note };
}

async function sendMove(
  core: DavCore,
  move: {
    readonly source: DavItem;
    readonly from: readonly string[];
    readonly to: readonly string[];
    readonly guards: boolean;
    readonly signal: AbortSignal;
  },
): Promise<Answered> {
  const { source, guards } = move;
  const isFolder = source.item.kind === "folder";
  const answer = await core.client.send({
    method: "MOVE",
    place: { segments: move.from, isFolder },
    headers: {
      destination: core.client.destination({ segments: move.to, isFolder }),
      overwrite: "F",
      ...(guards && source.strongTag !== undefined ? { "if-match": source.strongTag } : {}),
    },
    signal: move.signal,
  });
  return answer.kind === "answered" ? judge(core, answer) : { kind: "lost", failure: answer };
}

/** Returns whether a server accepted a change. A 207 with a failed part is a refusal; a server error is a lost response. */
export async function judge(core: DavCore, answer: ProviderAnswer): Promise<Answered> {
  const { status } = answer;
  if (status === 207) {
    const parts: number[] = [];
    const read = await readMultistatus(
      openPlain(answer, undefined),
      (response) => {
        if (response.status !== undefined) parts.push(response.status);
      },
      16 * 1024 * 1024,
    );
    if (read.kind !== "ok") return { kind: "lost", failure: read };
    const worst = parts.find((part) => part >= 300);
    if (worst === undefined) return { kind: "accepted" };
    const failure = toFailure({ status: worst, headers: {} }, core.deps.clock());
    return { kind: "refused", status: worst, failure };
  }
  const failure = core.client.refuse(answer);
  if (status >= 200 && status < 300) return { kind: "accepted" };
  if (failure.kind === "offline" && status >= 500) return { kind: "lost", failure };
  return { kind: "refused", failure, status };
}

/** Checks both paths after a move was requested. */
async function determineOutcome(
  core: DavCore,
  move: {
    readonly source: DavItem;
    readonly from: readonly string[];
    readonly to: readonly string[];
    readonly isGuarded?: boolean;
    readonly signal: AbortSignal;
  },
  verdict: Answered,
): Promise<ItemOutcome | "nothing_happened"> {
  const target = await core.lookUpWithRetries(move.to, move.signal);
  if (target.kind === "invalid_name") return target;
  if (!isFoundOrMissing(target)) return { kind: "unknown_outcome", note: "look_failed" };
  const isDone = move.isGuarded === true && verdict.kind === "accepted" && target.kind === "ok";
  if (isDone && isSameItem(move.source, target.davItem))
    return { kind: "ok", item: target.davItem.item };
  const source = await core.lookUpWithRetries(move.from, move.signal);
  if (!isFoundOrMissing(source)) return { kind: "unknown_outcome", note: "look_failed" };
  if (source.kind === "not_found") {
    if (target.kind === "not_found") return { kind: "stale", note: "gone" };
    return isSameItem(move.source, target.davItem)
      ? { kind: "ok", item: target.davItem.item }
      : { kind: "stale", note: "another_took_the_name" };
  }
  if (target.kind === "ok")
    // The source may be a new item at the old path.
    return verdict.kind === "accepted" && isSameItem(move.source, target.davItem)
      ? { kind: "ok", item: target.davItem.item }
      : { kind: "conflict", existingName: target.davItem.item.name };
  if (!isExpected(source.davItem, { kind: move.source.item.kind, etag: move.source.item.etag }))
    return { kind: "stale", note: "changed" };
  const refused = await core.refuseParent(move.to.slice(0, -1), move.signal);
  // A failed lookup does not tell what became of the move.
  if (refused?.kind === "offline") return { kind: "unknown_outcome", note: "look_failed" };
  return refused ?? "nothing_happened";
}

/** Renames in two steps, because the server treats both spellings as one name. */
function respell(
  core: DavCore,
  source: DavItem,
  from: readonly string[],
  to: readonly string[],
  signal: AbortSignal,
): Promise<ItemOutcome> {
  return viaTemporaryName(to.at(-1) ?? "", core.deps, async (name) => {
    const temporary = [...to.slice(0, -1), name];
    const first = await moveOnto(core, { source, from, to: temporary, signal });
    if (first.kind !== "ok") return first;
    const waiting: DavItem = { ...source, item: first.item, strongTag: undefined };
    const second = await moveOnto(core, { source: waiting, from: temporary, to, signal });
    if (second.kind === "ok") return second;
    await moveOnto(core, { source: waiting, from: temporary, to: from, signal });
    return second;
  });
}

/** Returns whether an item is the same at another path: by its id, or by its content. */
function isSameItem(before: DavItem, after: DavItem): boolean {
  if (before.fileId !== undefined && after.fileId !== undefined)
    return before.fileId === after.fileId;
  return before.item.kind === after.item.kind && before.item.size === after.item.size;
}

function isFoundOrMissing<T extends { readonly kind: string }>(
  look: T,
): look is Extract<T, { readonly kind: "ok" | "not_found" }> {
  return look.kind === "ok" || look.kind === "not_found";
}
