import { dirname, join } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";
import { replaceContent } from "./replace-file.ts";
import { type Content, openSource, uploadContent, type Uploaded } from "./send-file.ts";
import type { SyncedFolder, SyncSide, SyncStep, Tree } from "./sync-plan.ts";
import { createLimit, type Retries, trackTransfer } from "./transfer.ts";
import {
  BATCHED_BYTES_MAX,
  createUploadBatches,
  fitsIntoHead,
  readSmall,
  toNewFile,
  toReplacement,
} from "./upload-batch.ts";

/** Larger files that are sent at one time. */
const FILES_AT_ONCE = 4;

/** The source of the copied files. */
export interface Origin {
  /** The largest file, in bytes, that `read` reads whole. */
  readonly smallBytesMax: number;
  read(step: SyncStep): Promise<Uint8Array>;
  /** Opens a larger file for `send`; may do so again after a refusal. */
  withContent(step: SyncStep, send: (content: Content) => Promise<Uploaded>): Promise<Uploaded>;
}

/** The files below a local folder. */
export function createLocalOrigin(cli: CliContext, root: string): Origin {
  const pathOf = ({ path, source }: SyncStep) => join(root, source?.path ?? path);
  return {
    smallBytesMax: BATCHED_BYTES_MAX,
    read: (step) => readSmall(cli, pathOf(step)),
    withContent: async (step, send) => send(await openSource(cli, pathOf(step))),
  };
}

/** Creates the side that changes the folder of a connection. `onCopied` is called for each file that has arrived. */
export function createRemoteSide(
  retries: Retries,
  progress: Progress,
  { connectionId, id: rootId }: SyncedFolder,
  origin: Origin,
  tree: Tree,
  onCopied: (step: SyncStep, copied: Uploaded) => void = () => undefined,
): SyncSide {
  const { cli } = retries;
  const batches = createUploadBatches(cli, connectionId, retries);
  const replacements = createUploadBatches(cli, connectionId, retries, vault.replaceBatch);
  const alone = createLimit(FILES_AT_ONCE);
  /** Folders that were created, by their path. */
  const created = new Map<string, string>();

  return {
    async makeFolder({ path }) {
      const { body } = await cli.client.call(vault.createFolder, {
        params: { connection_id: connectionId },
        body: { parent_ref: folderOf(path), name: nameOf(path) },
      });
      if (body.kind !== "folder")
        throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
      // The vault gives a taken name a counter.
      if (body.name.normalize("NFC") !== nameOf(path).normalize("NFC"))
        throw new CliError("name_collision", `another client created ${path} meanwhile`);
      created.set(path, body.provider_item_id);
    },

    async copy(step) {
      const { path, source, target } = step;
      const item = target?.item;
      const place = {
        folder: { connectionId, id: folderOf(path) },
        filename: nameOf(source?.path ?? path),
        contentType: source?.item?.content_type ?? "application/octet-stream",
      };
      const read = () => origin.read(step);
      const entry = item === undefined ? toNewFile(place, read) : toReplacement(item, read);
      const isSmall = (source?.size ?? Infinity) <= origin.smallBytesMax && fitsIntoHead(entry);
      const copied = await trackTransfer(progress, path, (shown) => {
        if (isSmall) return (item === undefined ? batches : replacements).upload(entry, shown);
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
      if (item === undefined) throw new CliError("not_found", `${path} is not there`);
      await cli.client.call(vault.deleteItem, {
        params: { connection_id: connectionId, item_id: item.provider_item_id },
      });
    },

    flush() {
      batches.flush();
      replacements.flush();
    },
  };

  function folderOf(path: string): string {
    const above = dirname(path);
    if (above === ".") return rootId;
    const id = created.get(above) ?? tree.get(above)?.item?.provider_item_id;
    if (id === undefined) throw new CliError("not_found", `${above} is not there`);
    return id;
  }
}

function nameOf(path: string): string {
  return path.split("/").at(-1) ?? path;
}
