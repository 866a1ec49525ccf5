import { Transform, type Readable } from "node:stream";
import type { Failure } from "../../../storage/cloud/outcomes.ts";
import type { Database } from "../../../storage/engine/database.ts";
import type { Connection } from "../../../storage/tables/vault/connections.ts";
import { type CloudItem, findLiveItem } from "../../../storage/tables/vault/items.ts";
import { AppError } from "../../errors.ts";
import { pipeBody } from "../../utilities/receive-body.ts";
import type { VaultCaller } from "../caller.ts";
import { createDownloadAnswers } from "../cloud/bytes/bytes.view.ts";
import { createVersionNames } from "../cloud/bytes/version-key.ts";
import type { RecordingFailed } from "../cloud/changes/change-recorder.ts";
import type { Cloud } from "../cloud/cloud.feature.ts";
import { DavRefusal, exists, fromFailure, noParent, notFound } from "./refusals.ts";
import { type DavPath, toSpellings } from "./target.ts";
import type { DavFile, DavFolder, DavResource } from "./tree.ts";

export interface ConnectionTreeDeps extends Pick<
  Cloud,
  "listings" | "changes" | "uploads" | "replacements" | "bytes"
> {
  readonly db: Database;
  readonly newId: () => string;
  /** Largest upload. */
  readonly uploadBytesMax: number;
}

/** Items of one page of a listing. */
const PAGE = 1_000;

type Changed<T> = T | Failure | RecordingFailed;

/** Opens the items of a connection as files and folders. Every change is the API's, with its record and audit. */
export function createConnectionTree(deps: ConnectionTreeDeps) {
  const { db, listings, changes, uploads, replacements, bytes, uploadBytesMax } = deps;
  const toNames = createVersionNames();
  const toAnswer = createDownloadAnswers();

  return (caller: VaultCaller, connection: Connection): DavFolder => {
    const { id: connectionId, quotaUsedBytes: used, quotaTotalBytes: total } = connection;
    const toPlace = (id: string) => ({ connection_id: connectionId, item_id: id });

    const toResource = (item: CloudItem): DavResource =>
      item.kind === "file" ? toFile(item) : toFolder(item.providerItemId, item);

    function toFile(item: CloudItem): DavFile {
      const place = toPlace(item.providerItemId);
      return {
        ...toCommon(item),
        kind: "file",
        id: item.id,
        size: item.size,
        contentType: item.contentType,
        etag: toNames({ userId: caller.userId, connectionId }, item).entityTag,
        async open() {
          const result = await bytes.download(caller, place);
          if (result.kind !== "bytes") throw fromFailure(result);
          return toAnswer(result);
        },
        async replace({ content, size, contentType }, onlyThis) {
          // An etag that is unknown cannot be compared at the provider; the caller has compared the record.
          const ifMatch = (onlyThis ? item.etag : undefined) ?? "*";
          const replaced = await replacements.replace(caller, place, {
            ifMatch,
            content,
            size,
            contentType,
          });
          if (replaced.kind === "uploaded") return getFile(replaced.item.id);
          if (replaced.kind === "precondition_required") throw new Error("a condition was sent");
          throw fromFailure(replaced);
        },
      };
    }

    /** @param item undefined for the root */
    function toFolder(parentRef: string, item: CloudItem | undefined): DavFolder {
      return {
        ...(item === undefined ? root : toCommon(item)),
        kind: "folder",
        async find(name) {
          const found = await findItem(parentRef, name);
          return found && toResource(found);
        },
        list: () => list(parentRef),
        async createFile(name, upload) {
          const uploaded = await uploads.upload(caller, connectionId, {
            parentRef: parentRef === "" ? undefined : parentRef,
            name,
            contentType: upload.contentType,
            content: limitBytes(upload.content, uploadBytesMax),
            size: upload.size,
          });
          if (uploaded.kind === "uploaded") return getFile(uploaded.item.id);
          if (uploaded.kind === "conflict") throw await toOutdated(parentRef, name);
          throw fromFailure(uploaded);
        },
        async createFolder(name) {
          const created = await changes.ensureFolder(caller, connectionId, {
            parent_ref: parentRef === "" ? null : parentRef,
            name,
          });
          if (created.kind === "folder") return;
          throw created.kind === "existing" || created.kind === "conflict"
            ? exists()
            : fromFailure(created);
        },
        async removeIfEmpty() {
          if (item === undefined) throw new DavRefusal(403, CONNECTION_STAYS);
          return removeIfEmpty(item);
        },
        ...(used === undefined || total === undefined
          ? {}
          : { quota: async () => ({ used, free: Math.max(0, total - used) }) }),
      };
    }

    const root = {
      name: connection.displayName,
      createdAt: connection.createdAt,
      holder: undefined,
      isFixed: true,
      remove: () => Promise.reject(new DavRefusal(403, CONNECTION_STAYS)),
      move: () => Promise.reject(new DavRefusal(403, CONNECTION_STAYS)),
    };

    const canMove = ({ kind }: CloudItem) =>
      kind === "file" || connection.capabilities?.folderRename !== false;

    function toCommon(item: CloudItem) {
      return {
        name: item.name,
        modifiedAt: item.modifiedAt,
        holder: { itemId: item.id },
        async remove(onlyThis = false) {
          const remove = ({ providerItemId, etag }: CloudItem) =>
            changes.delete(caller, toPlace(providerItemId), { ifMatch: etag });
          if (onlyThis) orThrow(await remove(item));
          else await onCurrent(item, remove);
        },
        ...(canMove(item) && {
          move: (to: DavPath, onlyThis = false) => move(item, to, onlyThis),
        }),
      };
    }

    async function* list(parentRef: string): AsyncGenerator<readonly DavResource[]> {
      let after;
      do {
        const request = { parentRef, after, limit: PAGE, refresh: false, name: undefined };
        const page = await listings.browse(caller, connectionId, request);
        // Files that are missing in an old list, or in one that was never complete, would look deleted.
        if (page.state.refreshState === "failed" || page.state.listedAt === undefined)
          throw unreachable();
        yield page.items.map(toResource);
        after = page.next;
      } while (after !== undefined);
    }

    /** A storage may hold a name in the other form of Unicode than clients send. */
    async function findItem(parentRef: string, name: string): Promise<CloudItem | undefined> {
      for (const spelling of toSpellings(name)) {
        const found = await listings.find(caller, connectionId, { parentRef, name: spelling });
        if (found !== undefined) return found;
      }
      return undefined;
    }

    async function getFile(id: string): Promise<DavFile> {
      const item = await findLiveItem(db, connectionId, id);
      if (item === undefined) throw notFound();
      return toFile(item);
    }

    /** Something unknown has the name: the next attempt knows it, unless the storage takes another name for the same. */
    async function toOutdated(parentRef: string, name: string): Promise<DavRefusal> {
      await listings.relist(connection, parentRef);
      if ((await findItem(parentRef, name)) === undefined)
        return new DavRefusal(409, "The storage has this name in other letters, such as capitals.");
      return new DavRefusal(503, "The folder has changed in the storage. Send the file again.", {
        headers: { "Retry-After": "1" },
      });
    }

    /** Makes a change; once more with the item as it is now when it has changed in the storage. */
    async function onCurrent<T extends { readonly kind: string }>(
      item: CloudItem,
      change: (item: CloudItem) => Promise<Changed<T>>,
    ): Promise<T> {
      const first = await change(item);
      if (first.kind !== "stale") return orThrow(first);
      await listings.relist(connection, item.parentRef);
      const { parentRef, name } = item;
      const current = await listings.find(caller, connectionId, { parentRef, name });
      if (current?.kind !== item.kind) throw notFound();
      return orThrow(await change(current));
    }

    /** Deletes a folder in which the storage shows nothing; where its version changes with its children, none gets lost. */
    async function removeIfEmpty({ parentRef, name }: CloudItem): Promise<boolean> {
      if (!(await listings.relist(connection, parentRef))) throw unreachable();
      const current = await listings.find(caller, connectionId, { parentRef, name });
      // A storage whose folders are only names has lost it with the last file.
      if (current === undefined) return true;
      if (current.kind !== "folder") return false;
      const id = current.providerItemId;
      if (!(await listings.relist(connection, id))) throw unreachable();
      for await (const page of list(id)) if (page.length > 0) return false;
      orThrow(await changes.delete(caller, toPlace(id), { ifMatch: current.etag }));
      return true;
    }

    async function move(item: CloudItem, to: DavPath, onlyThis: boolean): Promise<undefined> {
      const target = await findFolderRef(to.slice(0, -1));
      const name = to.at(-1) ?? "";
      const rename = (id: string, newName: string, etag?: string) =>
        changes.rename(caller, toPlace(id), { new_name: newName, etag });
      const renameSeen = async (newName: string) =>
        onlyThis
          ? orThrow(await rename(item.providerItemId, newName, item.etag))
          : onCurrent(item, ({ providerItemId }) => rename(providerItemId, newName));
      if (target === item.parentRef) {
        await renameSeen(name);
        return undefined;
      }
      // A storage moves and renames in two steps. The name between them must be free in both folders.
      const between = await findNameBetween(item, target, name);
      try {
        const renamed = between === item.name ? undefined : await renameSeen(between);
        const id = renamed?.item.id ?? item.providerItemId;
        const moved = orThrow(await moveTo(id, target));
        if (between !== name) orThrow(await rename(moved.itemId, name));
      } catch (error) {
        await undoMove(item, target, between);
        throw error;
      }
      return undefined;
    }

    /** Returns an item to its folder and name after a move of which one step failed, as far as the storage lets it. */
    async function undoMove(item: CloudItem, target: string, between: string): Promise<void> {
      const find = async (parentRef: string) => {
        // The storage may have done a step whose outcome it did not say.
        await listings.relist(connection, parentRef);
        const found = await listings.find(caller, connectionId, { parentRef, name: between });
        return found?.kind === item.kind && found.size === item.size ? found : undefined;
      };
      const moved = await find(target);
      if (moved !== undefined) await moveTo(moved.providerItemId, item.parentRef);
      if (between === item.name) return;
      const renamed = await find(item.parentRef);
      if (renamed !== undefined)
        await changes.rename(caller, toPlace(renamed.providerItemId), { new_name: item.name });
    }

    function moveTo(id: string, parentRef: string) {
      return changes.move(caller, toPlace(id), { destination_parent_ref: parentRef });
    }

    async function findNameBetween(item: CloudItem, target: string, name: string): Promise<string> {
      if (name === item.name) return name;
      const isTaken = async (parentRef: string, other: string) =>
        (await listings.find(caller, connectionId, { parentRef, name: other })) !== undefined;
      if (!(await isTaken(item.parentRef, name))) return name;
      return (await isTaken(target, item.name)) ? `.croft-move-${deps.newId()}` : item.name;
    }

    async function findFolderRef(path: DavPath): Promise<string> {
      let parentRef = "";
      for (const name of path) {
        const found = await findItem(parentRef, name);
        if (found?.kind !== "folder") throw noParent();
        parentRef = found.providerItemId;
      }
      return parentRef;
    }

    return toFolder("", undefined);
  };
}

const unreachable = () => fromFailure({ kind: "offline", sent: true });

const CONNECTION_STAYS =
  'This is a whole connection. "croft vault connection" renames and deletes connections.';

function orThrow<T extends { readonly kind: string }>(result: Changed<T>): T {
  if (isFailure(result)) throw fromFailure(result);
  return result;
}

const DONE: ReadonlySet<string> = new Set(["renamed", "moved", "deleted"]);

function isFailure<T extends { readonly kind: string }>(
  result: Changed<T>,
): result is Failure | RecordingFailed {
  return !DONE.has(result.kind);
}

/** Passes a body on; the stream fails with `too_large` beyond the limit. */
function limitBytes(content: Readable, bytesMax: number): Readable {
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax)
        done(new AppError("too_large", `The file is larger than ${bytesMax} bytes.`));
      else done(null, chunk);
    },
  });
  pipeBody(content, stream);
  return stream;
}
