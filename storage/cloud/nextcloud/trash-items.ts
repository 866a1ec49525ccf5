import type { Failure } from "../outcomes.ts";
import type { ItemOutcome } from "../item.ts";
import { toTrashPage, TRASH_EMPTY_ITEMS, type Trash, type TrashedItem } from "../trash.ts";
import { createListedItems } from "../listed-items.ts";
import { refuseTaken } from "../webdav/changing.ts";
import type { DavClient, PropName } from "../webdav/client.ts";
import { beforehand, type DavCore } from "../webdav/core.ts";
import { toFailure } from "../webdav/failures.ts";
import { cloudProps, toCount } from "../webdav/items.ts";
import type { DavResponse } from "../webdav/multistatus.ts";

/** The trash of one user. */
export interface TrashPlaces {
  /** The connection's files. */
  readonly core: DavCore;
  /** Client of the folder that lists deleted items, */
  readonly listed: DavClient;
  /** and of the one into which they are moved to be restored; ownCloud moves them to their path instead. */
  readonly restoring: DavClient | undefined;
  /** The connection's root below the user's files: other deleted items are not shown. */
  readonly below: readonly string[];
}

const NEXTCLOUD = "http://nextcloud.org/ns";
const OWNCLOUD = "http://owncloud.org/ns";

const props: readonly PropName[] = [
  ...cloudProps,
  { uri: "DAV:", local: "resourcetype" },
  { uri: "DAV:", local: "getcontentlength" },
  { uri: NEXTCLOUD, local: "trashbin-original-location" },
  { uri: NEXTCLOUD, local: "trashbin-deletion-time" },
  { uri: OWNCLOUD, local: "trashbin-original-location" },
  { uri: OWNCLOUD, local: "trashbin-delete-timestamp" },
];

/** An item of the listing of deleted items. */
interface Found {
  readonly item: TrashedItem;
  /** Its name in the trash. */
  readonly entry: string;
  /** Its path below the connection's root. */
  readonly path: readonly string[];
  readonly fileId: string | undefined;
}

/** The deleted items of the server's trash that were below the connection's root. */
export function createTrash(places: TrashPlaces): Trash {
  const { core, listed } = places;

  async function listAll(
    signal: AbortSignal,
  ): Promise<{ readonly kind: "ok"; readonly found: readonly Found[] } | Failure> {
    const accumulated = createListedItems<Found>();
    let refused: Failure | undefined;
    const base = listed.base.segments.length;
    const outcome = await listed.propfind(
      { place: { segments: [], isFolder: true }, depth: "1", props, signal },
      (response, path) => {
        const entry = path !== undefined && path.length > base ? path.at(-1) : undefined;
        const found = entry === undefined ? undefined : toFound(entry, response, places.below);
        if (found !== undefined) refused ??= accumulated.add(found.item, found);
      },
    );
    if (outcome.kind === "refused") {
      const failure = toFailure(outcome.answer, core.deps.clock());
      // The server's trash is switched off.
      return failure.kind === "stale" ? { kind: "unsupported", reason: "no_trash" } : failure;
    }
    if (outcome.kind !== "ok") return outcome;
    return refused ?? { kind: "ok", found: accumulated.values() };
  }

  return {
    async list({ cursor, signal }) {
      const all = await listAll(signal);
      return all.kind === "ok"
        ? toTrashPage(
            all.found.map(({ item }) => item),
            cursor,
          )
        : beforehand(all);
    },

    async restore({ id, signal }): Promise<ItemOutcome> {
      const all = await listAll(signal);
      if (all.kind !== "ok") return beforehand(all);
      const found = all.found.find(({ item }) => item.id === id);
      if (found === undefined) return { kind: "stale", note: "not_in_trash" };
      return core.withLocks([found.path], async () => {
        // The server would restore an item whose name is taken under another one, and one without a folder to the top.
        const refusal = await refuseTaken(core, found.path, signal);
        if (refusal !== undefined) return refusal;
        const target = places.restoring?.destination({
          segments: [found.entry],
          isFolder: false,
        });
        const isFolder = found.item.kind === "folder";
        const answer = await listed.send({
          method: "MOVE",
          place: { segments: [found.entry], isFolder },
          headers: {
            destination: target ?? core.client.destination({ segments: found.path, isFolder }),
            // Nextcloud's restore folder claims to have every name already.
            ...(target === undefined ? { overwrite: "F" } : {}),
          },
          signal,
        });
        const isRefused = answer.kind === "answered" && answer.status >= 300;
        if (answer.kind === "answered" && isRefused && answer.status !== 404)
          return listed.refuse(answer);
        if (answer.kind === "answered") answer.discard();
        else if (!answer.sent) return answer;
        const restored = await core.lookUpWithRetries(found.path, signal);
        if (restored.kind === "ok") {
          const isOurs = found.fileId === undefined || restored.davItem.fileId === found.fileId;
          return isOurs
            ? { kind: "ok", item: restored.davItem.item }
            : { kind: "conflict", existingName: found.item.name };
        }
        if (restored.kind === "not_found") return { kind: "stale", note: "not_restored" };
        return { kind: "unknown_outcome", note: "look_failed" };
      });
    },

    async empty({ signal }) {
      const all = await listAll(signal);
      if (all.kind !== "ok") return beforehand(all);
      let removed = 0;
      for (const { entry, item } of all.found.slice(0, TRASH_EMPTY_ITEMS)) {
        const place = { segments: [entry], isFolder: item.kind === "folder" };
        const answer = await listed.send({ method: "DELETE", place, signal });
        if (answer.kind !== "answered") return answer;
        if (answer.status >= 300 && answer.status !== 404) return listed.refuse(answer);
        answer.discard();
        removed += 1;
      }
      return { kind: "ok", removed, isComplete: removed === all.found.length };
    },
  };
}

/** Undefined for an item whose place is unknown, or outside the connection's root. */
function toFound(
  entry: string,
  response: DavResponse,
  below: readonly string[],
): Found | undefined {
  const text = (local: string) =>
    response.props.get(`{${NEXTCLOUD}}${local}`) ?? response.props.get(`{${OWNCLOUD}}${local}`);
  const whole = (text("trashbin-original-location") ?? "")
    .split("/")
    .filter((segment) => segment !== "");
  const isBelow = below.every((segment, at) => segment === whole[at]);
  const path = whole.slice(below.length);
  const name = path.at(-1);
  if (!isBelow || name === undefined || path.some((segment) => segment === "." || segment === ".."))
    return undefined;
  const seconds = toCount(text("trashbin-deletion-time") ?? text("trashbin-delete-timestamp"));
  return {
    entry,
    path,
    fileId: response.props.get(`{${OWNCLOUD}}fileid`),
    item: {
      id: entry,
      name,
      kind: response.isFolder ? "folder" : "file",
      from: { kind: "path", names: path.slice(0, -1) },
      size: response.isFolder ? undefined : toCount(response.props.get("{DAV:}getcontentlength")),
      deletedAt: seconds === undefined ? undefined : seconds * 1000,
    },
  };
}
