import { dirname } from "node:path";
import { vault } from "../../../../client/operations.ts";
import { CliError } from "../../../../errors.ts";
import type { Progress } from "../../../../output/progress.ts";
import { toIfMatchHeader } from "../../../../support/if-match.ts";
import type { WireItem } from "../../../../support/items.ts";
import { deleteSeenFolder } from "../delete-seen.ts";
import { createDownloadBatches, SMALL_DOWNLOAD_BYTES_MAX } from "../download-batch.ts";
import { createFolderBatches } from "../folder-batch.ts";
import { isAsListed } from "../lookup.ts";
import { streamItem } from "../receive-file.ts";
import { type Content, replaceContent, uploadContent, type Uploaded } from "../send-file.ts";
import type { SyncFilter } from "../sync-filter.ts";
import { readRemoteTree, type SyncedFolder, type Tree } from "../sync-plan.ts";
import { createLimit, type Retries, trackTransfer } from "../transfer.ts";
import {
  createUploadBatches,
  fitsIntoHead,
  SMALL_UPLOAD_BYTES_MAX,
  toNewFile,
  toReplacement,
} from "../upload-batch.ts";
import { type LocalSide } from "./local-side.ts";
import type { RemoteMark } from "./pair-state.ts";
import { type Blocked, changedMeanwhile, type LocalEntry, loud, type Scan } from "./scan.ts";

/** A file or folder below the folder of the connection. */
export interface RemoteEntry {
  /** Relative, with slashes and the spelling of the storage. */
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly mark: RemoteMark;
  readonly item: WireItem;
}

export interface RemoteScan extends Scan<RemoteEntry> {
  /** The same as a tree, for comparisons before a folder is deleted. */
  readonly tree: Tree;
}

/** A stored file: its new mark, and the hash of the bytes that were sent. */
export interface Stored {
  readonly mark: RemoteMark;
  readonly sha256: string;
}

/** The folder of a connection of a pair. */
export type RemoteSide = ReturnType<typeof createRemoteFolderSide>;

/** Larger files that are transferred at one time. */
const FILES_AT_ONCE = 4;

export function createRemoteFolderSide(
  retries: Retries,
  progress: Progress,
  { connectionId, id: rootId }: SyncedFolder,
  { local, isCaseSensitive }: { readonly local: LocalSide; readonly isCaseSensitive: boolean },
) {
  const { cli, repeat } = retries;
  const platform = cli.system.platform;
  const downloads = createDownloadBatches(cli, connectionId);
  const folders = createFolderBatches(retries, connectionId);
  const alone = createLimit(FILES_AT_ONCE);
  let uploads = openUploads();

  return {
    rootId,

    /** Lists everything below the folder at the provider. @throws CliError when a folder cannot be listed */
    async scan(filter: SyncFilter): Promise<RemoteScan> {
      uploads = openUploads();
      const folder = { connectionId, id: rootId };
      const tree = await readRemoteTree(cli, folder, platform, { filter, side: "other" });
      return { ...toScan(tree), tree, isCaseSensitive };
    },

    /** Creates a folder, or returns the existing one. @throws CliError `name_collision` for a file's name */
    async makeFolder(parentId: string, name: string): Promise<string> {
      return (await folders.create(parentId, name).done).id;
    },

    /** Uploads a file as a new one; replaces nothing. @throws CliError `stale` when the name is taken or the file changed */
    async upload(entry: LocalEntry, parentId: string, name: string): Promise<Stored> {
      const place = {
        folder: { connectionId, id: parentId },
        filename: name,
        contentType: "application/octet-stream",
      };
      return send(entry, {
        toEntry: (read) => toNewFile(place, read),
        batches: uploads.created,
        sendAlone: (content, shown) => uploadContent(cli, place, content, shown),
      }).catch((error: unknown) => {
        if (error instanceof CliError && error.code === "name_collision")
          throw changedMeanwhile(entry.path, error);
        throw error;
      });
    },

    /** Replaces the version of a file that the plan saw. @throws CliError `stale` */
    async replace(entry: LocalEntry, replaced: RemoteEntry): Promise<Stored> {
      const { item } = replaced;
      if (item.etag === null) await assertCurrent(replaced);
      return send(entry, {
        toEntry: (read) => toReplacement(item, read),
        batches: uploads.replaced,
        sendAlone: (content, shown) => replaceContent(cli, connectionId, item, content, shown),
      });
    },

    /** Calls `write` with the bytes of a file, piece by piece. */
    async download(
      { path, item }: RemoteEntry,
      write: (chunk: Uint8Array) => Promise<void>,
    ): Promise<void> {
      const id = item.provider_item_id;
      await trackTransfer(progress, path, async (shown) => {
        if ((item.size ?? Infinity) <= SMALL_DOWNLOAD_BYTES_MAX) {
          shown.begin(item.size ?? undefined);
          const bytes = await repeat(connectionId, () => downloads.download(id));
          await write(bytes);
          shown.update(bytes.byteLength);
          return;
        }
        const params = { connection_id: connectionId, item_id: id };
        await alone(() => streamItem(cli, { params, name: path }, write, shown));
      });
    },

    /**
     * Moves the version of an item that the plan saw; replaces nothing. `taken` has the paths of the scan.
     * @throws CliError `stale`, `conflict`, `unsupported`
     */
    async move(
      { path, item }: RemoteEntry,
      parentId: string,
      to: string,
      taken: { has(path: string): boolean },
    ): Promise<void> {
      let id = item.provider_item_id;
      // After the first change the daemon compares with what it has recorded.
      let { etag } = item;
      const rename = async () => {
        const params = { connection_id: connectionId, item_id: id };
        const body = { new_name: nameOf(to), etag };
        const renamed = await cli.client.call(vault.renameItem, { params, body });
        if (renamed.body.kind === "renamed") id = renamed.body.provider_item_id;
        etag = null;
      };
      const move = async () => {
        const params = { connection_id: connectionId, item_id: id };
        const body = { destination_parent_ref: parentId, etag };
        const moved = await cli.client.call(vault.moveItem, { params, body });
        if (moved.body.kind === "moved") id = moved.body.provider_item_id;
        etag = null;
      };
      const isRenamed = nameOf(path) !== nameOf(to);
      if (dirname(path) === dirname(to)) return rename();
      const halfway = `${to.slice(0, to.length - nameOf(to).length)}${nameOf(path)}`;
      if (isRenamed && taken.has(halfway.normalize("NFC"))) {
        await rename();
        return move();
      }
      await move();
      if (isRenamed) await rename();
    },

    /** Deletes the version of a file that the plan saw. @throws CliError `stale` */
    async removeFile(entry: RemoteEntry): Promise<void> {
      if (entry.item.etag === null) await assertCurrent(entry);
      await removeItem(entry);
    },

    /** Deletes a folder with everything that the plan saw in it. @throws CliError `stale` when there is anything else in it */
    async removeFolder(key: string, entry: RemoteEntry, { tree }: RemoteScan): Promise<void> {
      await deleteSeenFolder(
        cli,
        { connectionId, id: entry.mark.id, etag: entry.item.etag },
        { before: tree, above: key, platform },
        entry.path,
      );
    },

    /** All transfers of this pass have been started. */
    flush(): void {
      uploads.created.flush();
      uploads.replaced.flush();
    },
  };

  /** A flushed batch does not wait for further files, so each pass has its own. */
  function openUploads() {
    return {
      created: createUploadBatches(cli, connectionId, retries),
      replaced: createUploadBatches(cli, connectionId, retries, vault.replaceBatch),
    };
  }

  async function send(
    entry: LocalEntry,
    {
      toEntry,
      batches,
      sendAlone,
    }: {
      readonly toEntry: (
        read: () => Promise<Uint8Array>,
      ) => Parameters<(typeof uploads.created)["upload"]>[0];
      readonly batches: typeof uploads.created;
      readonly sendAlone: (
        content: Content,
        shown: Parameters<Parameters<typeof trackTransfer>[2]>[0],
      ) => Promise<Uploaded>;
    },
  ): Promise<Stored> {
    let sha256 = "";
    const { size } = entry.mark;
    const batched = toEntry(async () => {
      const stable = await local.readStable(entry);
      sha256 = stable.sha256;
      return stable.bytes;
    });
    const isSmall = size <= SMALL_UPLOAD_BYTES_MAX && fitsIntoHead(batched);
    const stored = await trackTransfer(progress, entry.path, (shown) =>
      isSmall
        ? batches.upload(batched, shown)
        : alone(() =>
            sendAlone(
              {
                size,
                canRestart: true,
                open: () => local.streamStable(entry, (hash) => (sha256 = hash)),
              },
              shown,
            ),
          ),
    ).catch(async (error: unknown) => {
      // A file that changed while it was sent looks like a lost connection.
      await local.assertVersion(entry.path, entry.mark);
      throw error;
    });
    const { provider_item_id: id, etag = null } = stored;
    return { sha256, mark: { id, etag: unquote(etag), size: stored.size, modifiedAt: null } };
  }

  async function removeItem({ path, item }: RemoteEntry): Promise<void> {
    const params = { connection_id: connectionId, item_id: item.provider_item_id };
    const headers = item.etag === null ? {} : { "If-Match": toIfMatchHeader(item.etag) };
    try {
      await cli.client.call(vault.deleteItem, { params }, { headers });
    } catch (error) {
      if (error instanceof CliError && error.code === "stale") throw changedMeanwhile(path, error);
      throw error;
    }
  }

  /** A storage without etags cannot compare: its listing is compared just before the change. */
  async function assertCurrent({ path, item }: RemoteEntry): Promise<void> {
    if (!(await isAsListed(cli, connectionId, item))) throw changedMeanwhile(path);
  }
}

function toScan(tree: Tree): Omit<RemoteScan, "tree" | "isCaseSensitive"> {
  const entries = new Map<string, RemoteEntry>();
  const blocked = new Map<string, Blocked>();
  const holdsIgnored = new Set<string>();
  const isBelowBlocked = (key: string) => {
    for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1))
      if (blocked.has(key.slice(0, at))) return true;
    return false;
  };
  const seen = new Set<string>();
  const block = (key: string, reason: string) => {
    blocked.set(key, loud(reason));
    for (const known of entries.keys())
      if (known === key || known.startsWith(`${key}/`)) entries.delete(known);
  };
  for (const [local, { path, kind, item, twins, holdsIgnored: holds }] of tree) {
    const key = path.normalize("NFC");
    if (item === undefined || isBelowBlocked(key)) continue;
    if (twins !== undefined)
      block(key, "two names differ only in their Unicode form; rename one of them");
    else if (seen.has(key)) block(key, "several items have this name; rename one of them");
    else if (nameOf(local) !== nameOf(key))
      block(key, "this computer cannot have a file of this name, or has it already in other case");
    else if (!blocked.has(key) && kind !== "other") {
      entries.set(key, { path, kind, item, mark: toRemoteMark(item) });
      if (holds === true) holdsIgnored.add(key);
    }
    seen.add(key);
  }
  return { entries, blocked, holdsIgnored };
}

function toRemoteMark({ provider_item_id: id, etag, size, modified_at }: WireItem): RemoteMark {
  return { id, etag: unquote(etag), size, modifiedAt: modified_at };
}

function unquote(etag: string | null): string | null {
  return etag === null ? null : etag.trim().replace(/^(?:W\/)?"|"$/g, "");
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
