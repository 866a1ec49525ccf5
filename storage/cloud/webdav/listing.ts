import type { Failure } from "../outcomes.ts";
import { createListedItems } from "../listed-items.ts";
import { LEFTOVERS_OF_LISTING_MAX, type ListOutcome } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import { toSegments } from "./address.ts";
import { nameInListing, type DavCore } from "./core.ts";
import { toFailure } from "./failures.ts";
import { toDavItem } from "./items.ts";
import { isHidden, isRemainder } from "./temporary.ts";

/** Thrown to stop parsing a listing that has failed. */
class Useless extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.kind);
    this.name = "Useless";
    this.failure = failure;
  }
}

/** Lists all children of a folder. An ambiguous path fails the listing. */
export async function listFolder(
  core: DavCore,
  folder: string,
  signal: AbortSignal,
): Promise<ListOutcome> {
  const segments = toSegments(folder);
  if (segments === undefined) return { kind: "stale", note: "impossible_id" };
  const listed = createListedItems<ProviderItem>();
  const remains: ProviderItem[] = [];
  const unknown: string[] = [];
  let self: "folder" | "file" | undefined;
  try {
    const outcome = await core.client.propfind(
      { place: { segments, isFolder: true }, depth: "1", props: core.props, signal },
      (response, path, serverNow) => {
        // A name that is not UTF-8 cannot be requested again.
        if (path === undefined) {
          if (hasDots(response.href)) throw new Useless(offline("impossible_href"));
          return;
        }
        const name = nameInListing(core, segments, path);
        if (name === undefined) throw new Useless(offline("foreign_href"));
        if (name === "") {
          const { status = 200 } = response;
          // The folder itself was unreadable: the rest of the response is not a listing.
          if (status >= 300)
            throw new Useless(toFailure({ status, headers: {} }, core.deps.clock()));
          self = response.isFolder || response.status !== undefined ? "folder" : "file";
          return;
        }
        if (response.status === 404 || response.status === 410) return;
        const { item } = toDavItem(folder, name, response, serverNow, core.probeResult);
        if ((response.failedStatus ?? response.status ?? 200) >= 300) unknown.push(item.id);
        if (isRemainder(name, core.deps)) remains.push(item);
        if (isHidden(name, item.modifiedAt, serverNow)) return;
        const failure = listed.add(item, item);
        if (failure !== undefined) throw new Useless(failure);
      },
    );
    if (outcome.kind === "refused") return await explain(core, segments, outcome.answer, signal);
    if (outcome.kind !== "ok") return outcome;
  } catch (error) {
    if (error instanceof Useless) return error.failure;
    throw error;
  }
  if (self === "file") return { kind: "stale", note: "file" };
  // A response without the folder itself is not evidence that it exists.
  if (self === undefined && listed.size === 0) return offline("empty_multistatus");
  const removed = await removeAll(
    core,
    segments,
    remains.slice(0, LEFTOVERS_OF_LISTING_MAX),
    signal,
  );
  const items = listed.values().filter((item) => !removed.has(item));
  return unknown.length === 0 ? { kind: "ok", items } : { kind: "ok", items, unknown };
}

/** Removes leftovers of uploads and probes of a daemon that died. Ignores failures. */
async function removeAll(
  core: DavCore,
  folder: readonly string[],
  remains: readonly ProviderItem[],
  signal: AbortSignal,
): Promise<ReadonlySet<ProviderItem>> {
  const removed = new Set<ProviderItem>();
  for (const item of remains) {
    const place = { segments: [...folder, item.name], isFolder: item.kind === "folder" };
    const answer = await core.client.send({ method: "DELETE", place, signal });
    if (answer.kind !== "answered") break;
    answer.discard();
    if (answer.status >= 200 && answer.status < 300) removed.add(item);
  }
  return removed;
}

/** Servers refuse the listing of a file in many ways: a lookup finds the reason. */
async function explain(
  core: DavCore,
  segments: readonly string[],
  answer: Parameters<typeof toFailure>[0],
  signal: AbortSignal,
): Promise<Failure> {
  const failure = toFailure(answer, core.deps.clock());
  if (failure.kind === "stale" || failure.kind === "reauth" || failure.kind === "rate_limited")
    return failure;
  if (segments.length === 0 || answer.status >= 500) return failure;
  const found = await core.lookUp(segments, signal);
  if (found.kind === "not_found") return { kind: "stale", note: "gone" };
  if (found.kind === "invalid_name") return found;
  return found.kind === "ok" && found.davItem.item.kind === "file"
    ? { kind: "stale", note: "file" }
    : failure;
}

function hasDots(href: string): boolean {
  return /(^|\/|%2f)(\.|%2e){1,2}(\/|%2f|$)/i.test(href);
}

function offline(note: string): Failure {
  return { kind: "offline", sent: true, note };
}
