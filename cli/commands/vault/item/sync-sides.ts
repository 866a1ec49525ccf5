import { dirname, join } from "node:path";
import { rm } from "node:fs/promises";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";
import { createFolderBatches, type FolderCreation } from "./folder-batch.ts";
import {
  type Content,
  openSource,
  uploadContent,
  type Uploaded,
  replaceContent,
} from "./send-file.ts";
import { deleteSeen, deleteSeenFolder, toChanged } from "./delete-seen.ts";
import { isAsListed } from "./lookup.ts";
import {
  isSameEntry,
  isUnchanged,
  readLocalEntry,
  readLocalTree,
  type SyncedFolder,
  type SyncSide,
  type SyncStep,
  type Tree,
} from "./sync-plan.ts";
import { createLimit, type Retries, trackTransfer } from "./transfer.ts";
import {
  SMALL_UPLOAD_BYTES_MAX,
  createUploadBatches,
  fitsIntoHead,
  readSmall,
  toNewFile,
  toReplacement,
} from "./upload-batch.ts";
import { SMALL_DOWNLOAD_BYTES_MAX, createDownloadBatches } from "./download-batch.ts";
import {
  assertUnmoved,
  createLocalFiles,
  type LocalFolder,
  makeLocalFolder,
  openLocalFolder,
} from "./local-files.ts";
import { saveBytes, saveItem } from "./save-file.ts";

/** Larger files that are transferred at one time. */
const FILES_AT_ONCE = 4;

/** The source of the files to copy. */
export interface Origin {
  /** The largest file, in bytes, that `prepare` handles. */
  readonly smallBytesMax: number;
  /**
   * Prepares a small file and returns the function that reads it whole. Network access happens during preparation: a
   * batch that waited for the bytes of its next file would time out.
   */
  prepare(step: SyncStep): Promise<() => Promise<Uint8Array>>;
  /** Opens a larger file for `send`; may do so again after a refusal. */
  withContent(step: SyncStep, send: (content: Content) => Promise<Uploaded>): Promise<Uploaded>;
}

/** The files below a local folder. */
export function createLocalOrigin(cli: CliContext, root: string): Origin {
  const pathOf = ({ path, source }: SyncStep) => join(root, source?.path ?? path);
  return {
    smallBytesMax: SMALL_UPLOAD_BYTES_MAX,
    prepare: async (step) => () => readSmall(cli, pathOf(step)),
    withContent: async (step, send) => send(await openSource(cli, pathOf(step))),
  };
}

/** Creates the side that changes a folder of a connection. Calls `onCopied` after each transferred file. */
export function createRemoteSide(
  retries: Retries,
  progress: Progress,
  { connectionId, id: rootId }: SyncedFolder,
  origin: Origin,
  { tree, platform }: { readonly tree: Tree; readonly platform: string },
  onCopied: (step: SyncStep, copied: Uploaded) => void = () => undefined,
): SyncSide {
  const { cli } = retries;
  const batches = createUploadBatches(cli, connectionId, retries);
  const replacements = createUploadBatches(cli, connectionId, retries, vault.replaceBatch);
  const alone = createLimit(FILES_AT_ONCE);
  /** Folders that were or are being created, by their path. */
  const created = new Map<string, FolderCreation>();
  const folders = createFolderBatches(retries, connectionId);

  return {
    async makeFolder({ path }) {
      const creation = folders.create(parentOf(path), nameOf(path));
      created.set(path, creation);
      await creation.done;
    },

    async copy(step) {
      const { path, source, target } = step;
      const item = target?.item;
      const place = {
        folder: { connectionId, id: await folderOf(path) },
        filename: nameOf(source?.path ?? path),
        contentType: source?.item?.content_type ?? "application/octet-stream",
      };
      const toEntry = (read: () => Promise<Uint8Array>) =>
        item === undefined ? toNewFile(place, read) : toReplacement(item, read);
      const isSmall =
        (source?.size ?? Infinity) <= origin.smallBytesMax &&
        fitsIntoHead(toEntry(() => Promise.reject(new Error("the file is not prepared"))));
      // Many files are prepared at one time, so that they arrive together in few requests.
      const entry = isSmall ? toEntry(await origin.prepare(step)) : undefined;
      const copied = await trackTransfer(progress, path, async (shown) => {
        // A storage without etags cannot compare.
        if (item?.etag === null && !(await isAsListed(cli, connectionId, item)))
          throw toChanged(path, undefined, "replaced");
        if (entry !== undefined)
          return (item === undefined ? batches : replacements).upload(entry, shown);
        return alone(() =>
          origin.withContent(step, (content) =>
            item === undefined
              ? uploadContent(cli, place, content, shown)
              : replaceContent(cli, connectionId, item, content, shown),
          ),
        );
      });
      onCopied(step, copied);
      return copied.size;
    },

    async delete({ path, target }) {
      const item = target?.item;
      if (item === undefined) throw new CliError("not_found", `${path} does not exist`);
      const { provider_item_id: id, etag } = item;
      if (item.kind === "folder")
        await deleteSeenFolder(
          cli,
          { connectionId, id, etag },
          { before: tree, above: path, platform },
          path,
        );
      else await deleteSeen(cli, connectionId, item, path);
    },

    flush() {
      batches.flush();
      replacements.flush();
    },
  };

  function parentOf(path: string): string | FolderCreation {
    const above = dirname(path);
    if (above === ".") return rootId;
    const parent = created.get(above) ?? tree.get(above)?.item?.provider_item_id;
    if (parent === undefined) throw new CliError("not_found", `${above} does not exist`);
    return parent;
  }

  async function folderOf(path: string): Promise<string> {
    const parent = parentOf(path);
    return typeof parent === "string" ? parent : (await parent.done).id;
  }
}

function nameOf(path: string): string {
  return path.split("/").at(-1) ?? path;
}

/** Creates the side that changes the local folder. No link in it is followed: a folder is opened step by step and compared. */
export function createLocalSide(
  { cli, repeat }: Retries,
  progress: Progress,
  { connectionId }: SyncedFolder,
  root: string,
  tree: Tree,
): SyncSide {
  const batches = createDownloadBatches(cli, connectionId);
  const alone = createLimit(FILES_AT_ONCE);
  const files = createLocalFiles();
  const folders = new Map<string, Promise<LocalFolder>>();

  const openFolder = (path: string): Promise<LocalFolder> => {
    const known = folders.get(path);
    if (known !== undefined) return known;
    const opening =
      path === "."
        ? openLocalFolder(root)
        : openFolder(dirname(path)).then((parent) =>
            makeLocalFolder(parent, localName(path), false),
          );
    folders.set(path, opening);
    return opening;
  };

  /** The name on this disk, whose Unicode normalization may differ from that of the plan. */
  const localName = (path: string) => nameOf(tree.get(path)?.path ?? path);

  return {
    async makeFolder({ path }) {
      await openFolder(path);
    },

    async copy({ path, action, source, target: replaced }) {
      const item = source?.item;
      if (item === undefined) throw new CliError("not_found", `${path} does not exist`);
      const folder = await openFolder(dirname(path));
      const at = join(folder.path, localName(path));
      const mayReplace = action === "replace";
      const assertReplaced = async () => {
        if (replaced !== undefined && !isSameEntry(replaced, await readLocalEntry(at, path)))
          throw toChanged(path, undefined, "replaced");
      };
      const target = { path: at, files, mayReplace, assertReplaced };
      return trackTransfer(progress, path, async (shown) => {
        if ((item.size ?? Infinity) <= SMALL_DOWNLOAD_BYTES_MAX) {
          shown.begin(item.size ?? undefined);
          const bytes = await repeat(connectionId, () => batches.download(item.provider_item_id));
          shown.update(bytes.byteLength);
          await assertUnmoved(folder);
          await saveBytes(cli, bytes, target);
          return bytes.byteLength;
        }
        return alone(async () => {
          await assertUnmoved(folder);
          const params = { connection_id: connectionId, item_id: item.provider_item_id };
          return saveItem(
            cli,
            { params, name: item.name },
            { ...target, onBegin: shown.begin, onProgress: shown.update },
          );
        });
      });
    },

    async delete({ path, target }) {
      const folder = await openFolder(dirname(path));
      await assertUnmoved(folder);
      const at = join(folder.path, localName(path));
      const isFolder = target?.kind === "folder";
      const now = await readLocalEntry(at, path);
      const isSeen =
        target !== undefined &&
        isSameEntry(target, now) &&
        (!isFolder || isUnchanged(tree, path, await readLocalTree(at)));
      if (!isSeen) throw toChanged(path);
      // A link in a folder is removed, never followed.
      await rm(at, { recursive: isFolder });
    },

    flush: () => undefined,
  };
}
