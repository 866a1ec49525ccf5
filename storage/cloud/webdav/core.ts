import { brokenNameRule, isWaitedFor, type Failure } from "../outcomes.ts";
import type { ProbeResult, ProviderDeps } from "../provider.ts";
import { nameBelow, toPath, type DavPlace } from "./address.ts";
import type { DavClient } from "./client.ts";
import { isSameSpelling } from "../comparison.ts";
import { toFailure, toItemFailure } from "./failures.ts";
import { cloudProps, davProps, toDavItem, type DavItem } from "./items.ts";
import { isTemporaryName } from "./temporary.ts";

/** Delays between checks after a change: a restarted server is back after a moment. */
const LOOK_AGAIN_MS = [200, 800];

export type LookOutcome =
  | { readonly kind: "ok"; readonly davItem: DavItem }
  | { readonly kind: "not_found" }
  | Failure;

export type DavCore = ReturnType<typeof createDavCore>;

/** The dependencies that the operations of one connection share. */
export function createDavCore(input: {
  readonly client: DavClient;
  readonly probeResult: ProbeResult;
  readonly deps: ProviderDeps;
}) {
  const { client, probeResult, deps } = input;
  const props = probeResult["product"] === undefined ? davProps : [...davProps, ...cloudProps];

  async function lookUp(segments: readonly string[], signal: AbortSignal): Promise<LookOutcome> {
    const parent = segments.slice(0, -1);
    const name = segments.at(-1) ?? "";
    let current: DavItem | undefined;
    let refused: number | undefined;
    const place: DavPlace = { segments, isFolder: segments.length === 0 };
    const outcome = await client.propfind(
      { place, depth: "0", props, signal },
      (response, path, serverNow) => {
        const status = response.failedStatus ?? response.status ?? 200;
        if (status >= 300) refused ??= status;
        else {
          // On a server that mixes spellings, this finds the spelling of the item.
          const listedName = path?.at(-1);
          const spelt =
            listedName !== undefined && isSameSpelling(listedName, name) ? listedName : name;
          current ??= toDavItem(parent.join("/"), spelt, response, serverNow, probeResult);
        }
      },
    );
    if (outcome.kind === "refused") return toRefusal(outcome.answer, place);
    if (outcome.kind !== "ok") return outcome;
    if (current !== undefined) return { kind: "ok", davItem: current };
    return refused === undefined
      ? { kind: "offline", sent: true, note: "empty_multistatus" }
      : toRefusal({ status: refused, headers: {} }, place);
  }

  /** Only 404 and 410 mean that an item is missing; any other refusal leaves that open. */
  function toRefusal(answer: Parameters<typeof toFailure>[0], { segments }: DavPlace): LookOutcome {
    if (answer.status === 404 || answer.status === 410) return { kind: "not_found" };
    return segments.length === 0
      ? toFailure(answer, deps.clock())
      : toItemFailure(answer, deps.clock());
  }

  return {
    client,
    probeResult,
    deps,
    /** The properties to request of every item. */
    props,
    /** Looks up one item of any kind. */
    lookUp,

    /** Looks up an item, and retries on a connection error: after a change its result must be found out. */
    async lookUpWithRetries(
      segments: readonly string[],
      signal: AbortSignal,
    ): Promise<LookOutcome> {
      for (const waitMs of LOOK_AGAIN_MS) {
        const found = await lookUp(segments, signal);
        if (found.kind !== "offline" || isWaitedFor(found)) return found;
        if (!(await pause(deps, waitMs, signal))) return found;
      }
      return lookUp(segments, signal);
    },

    /**
     * Returns undefined if the item is a folder, as the root is; `stale` if it is missing, `invalid_destination` for a
     * file.
     */
    async refuseParent(
      segments: readonly string[],
      signal: AbortSignal,
    ): Promise<Failure | undefined> {
      if (segments.length === 0) return undefined;
      const found = await lookUp(segments, signal);
      if (found.kind === "not_found") return { kind: "stale", note: "parent_gone" };
      if (found.kind !== "ok") return beforehand(found);
      return found.davItem.item.kind === "folder"
        ? undefined
        : { kind: "invalid_destination", reason: "not_a_folder" };
    },

    /** Runs `work` while holding locks of these paths across all connections. */
    withLocks: <T>(places: readonly (readonly string[])[], work: () => Promise<T>): Promise<T> =>
      deps.locks.withLocks(
        places.map((segments) => {
          const path = toPath(client.base, { segments, isFolder: false });
          return `webdav ${client.base.origin}${path.normalize("NFC").toLowerCase()}`;
        }),
        work,
      ),

    /** Whether two spellings of a name may be the same to this server. */
    mixesSpellings:
      probeResult["case_sensitive"] === false || probeResult["normalisation_sensitive"] === false,
  };
}

/** Returns false when the call was aborted meanwhile. */
export async function pause(deps: ProviderDeps, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await deps.sleep(ms, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

/** Maps a failed lookup before a change: the change itself was certainly not sent. */
export function beforehand<T extends Failure>(failure: T): T {
  return failure.kind === "offline" ? { ...failure, sent: false } : failure;
}

/** Refuses a name that breaks the common rules, equals a temporary name of ours, or would be hidden in listings. */
export function refuseName(name: string, probeResult: ProbeResult): Failure | undefined {
  const rule = brokenNameRule(name) ?? ownRule(name, probeResult);
  return rule === undefined ? undefined : { kind: "invalid_name", rule };
}

/**
 * Refuses a target that the server would misread: some servers read an encoded `?` or `;` as the end of the
 * destination, and move the file to the name in front of it.
 */
export function refuseTarget(
  segments: readonly string[],
  probeResult: ProbeResult,
): Failure | undefined {
  return segments.some((segment) => isCut(segment, probeResult))
    ? { kind: "invalid_name", rule: "reserved_character" }
    : undefined;
}

function isCut(segment: string, probeResult: ProbeResult): boolean {
  return probeResult["whole_destinations"] === false && /[?;]/.test(segment);
}

function ownRule(name: string, probeResult: ProbeResult): string | undefined {
  if (isTemporaryName(name)) return "reserved_name";
  if (isCut(name, probeResult)) return "reserved_character";
  return probeResult["shows_dot_names"] === false && name.startsWith(".")
    ? "hidden_name"
    : undefined;
}

/** Returns a child's name as in the listing of `folder`; the server may have its base at another path. */
export function nameInListing(
  core: Pick<DavCore, "client" | "probeResult">,
  folder: readonly string[],
  segments: readonly string[],
): string | undefined {
  const hrefBase = core.probeResult["href_base"];
  const base =
    typeof hrefBase === "string"
      ? hrefBase.split("/").filter((segment) => segment !== "")
      : core.client.base.segments;
  return nameBelow([...base, ...folder], segments);
}
