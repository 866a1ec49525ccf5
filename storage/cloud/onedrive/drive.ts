import type { Failure } from "../outcomes.ts";
import { createListedItems } from "../listed-items.ts";
import type { ListOutcome } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import { asObject, asText, type JsonObject } from "../json.ts";
import type { GraphFailure } from "./failures.ts";
import type { Graph } from "./graph.ts";
import { isPossibleId, ITEM_FIELDS, toDriveItem, type DriveItem } from "./items.ts";

export type Look = { readonly kind: "ok"; readonly found: DriveItem } | GraphFailure;

export type Drive = ReturnType<typeof createDrive>;

const PAGE_ITEMS = 1000;
/** SharePoint refuses deeper trees by the length of their paths. */
const DEPTH_MAX = 400;

/** Looks up items of one drive and builds their URLs. */
export function createDrive(graph: Graph, driveId: string, rootId: string) {
  const fields = `?$select=${ITEM_FIELDS}`;
  const addressOf = (id: string) =>
    `/drives/${encode(driveId)}/items/${encode(id === "" ? rootId : id)}`;
  const addressOfChild = (parent: string, name: string) => `${addressOf(parent)}:/${encode(name)}:`;

  function toItem(value: JsonObject): Look {
    const found = toDriveItem(value, rootId);
    return found === undefined
      ? { kind: "offline", sent: true, note: "strange_item" }
      : { kind: "ok", found };
  }

  async function lookBy(path: string, signal: AbortSignal): Promise<Look> {
    const answer = await graph.call({ method: "GET", path: path + fields, signal });
    return answer.kind === "ok" ? toItem(answer.value) : answer;
  }

  const lookUp = (id: string, signal: AbortSignal): Promise<Look> =>
    id === "" || id === rootId || !isPossibleId(id)
      ? Promise.resolve({ kind: "not_found", note: "impossible_id" })
      : lookBy(addressOf(id), signal);

  async function list(folder: string, signal: AbortSignal): Promise<ListOutcome> {
    if (!isPossibleId(folder)) return { kind: "stale", note: "impossible_id" };
    const accumulated = createListedItems<ProviderItem>();
    let path: string | undefined = `${addressOf(folder)}/children${fields}&$top=${PAGE_ITEMS}`;
    while (path !== undefined) {
      const answer = await graph.call({ method: "GET", path, signal });
      if (answer.kind !== "ok") return toListFailure(answer);
      const entries = answer.value["value"];
      if (!Array.isArray(entries)) return strange("strange_page");
      for (const entry of entries) {
        const raw = asObject(entry);
        if (raw?.["deleted"] !== undefined) continue;
        const found = raw && toDriveItem(raw, rootId, folder);
        if (found === undefined) return strange("strange_item");
        const failure = accumulated.add(found.item, { ...found.item, parent: folder });
        if (failure !== undefined) return failure;
      }
      const failure = accumulated.endPage();
      if (failure !== undefined) return failure;
      const link = answer.value["@odata.nextLink"];
      if (link === undefined || link === null) break;
      path = graph.toNextPage(asText(link) ?? "");
      if (path === undefined) return strange("strange_next_page");
    }
    // A file has no children either: an empty listing is not evidence that the item is a folder.
    if (accumulated.size === 0 && folder !== "") {
      const current = await lookUp(folder, signal);
      if (current.kind !== "ok") return toListFailure(current);
      if (current.found.item.kind !== "folder") return { kind: "stale", note: "no_folder" };
    }
    return { kind: "ok", items: accumulated.values() };
  }

  return {
    /** Path below Graph's root. The empty id is the root folder. */
    addressOf,
    /** Looks up the item of a name in a folder. */
    addressOfChild,
    lookUp,
    lookUpChild: (parent: string, name: string, signal: AbortSignal): Promise<Look> =>
      lookBy(addressOfChild(parent, name), signal),
    list,
    /** Parses the item of a response; an invalid one is `offline`, because the change has been made. */
    toItem,

    /** Returns whether a folder is the item itself or below it. */
    async isWithin(
      folder: ProviderItem,
      id: string,
      signal: AbortSignal,
    ): Promise<boolean | GraphFailure> {
      let at = folder;
      for (let depth = 0; depth < DEPTH_MAX; depth++) {
        if (at.id === id || at.parent === id) return true;
        if (at.parent === "") return false;
        const above = await lookUp(at.parent, signal);
        if (above.kind !== "ok") return above;
        at = above.found.item;
      }
      return strange("too_deep");
    },
  };
}

function toListFailure(failure: GraphFailure): Failure {
  return failure.kind === "not_found" ? { ...failure, kind: "stale" } : failure;
}

function strange(note: string): Failure {
  return { kind: "offline", sent: true, note };
}

/** Encodes a segment of a URL, including the quote, which has a meaning in OData. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll("'", "%27");
}
