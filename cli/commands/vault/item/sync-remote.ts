import { dirname, join } from "node:path";
import { vault } from "../../../client/operations.ts";
import { CliError } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";
import { replaceFile } from "./replace-file.ts";
import { uploadFile } from "./send-file.ts";
import type { SyncedFolder, SyncSide, Tree } from "./sync-plan.ts";
import { createLimit, type Retries, trackTransfer } from "./transfer.ts";
import { BATCHED_BYTES_MAX, createUploadBatches, fitsIntoHead } from "./upload-batch.ts";

/** Larger files, and replacements, that are sent at one time. */
const FILES_AT_ONCE = 4;

/** Creates the side that changes the folder of a connection. */
export function createRemoteSide(
  retries: Retries,
  progress: Progress,
  { connectionId, id: rootId }: SyncedFolder,
  root: string,
  tree: Tree,
): SyncSide {
  const { cli } = retries;
  const batches = createUploadBatches(cli, connectionId, retries);
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

    async copy({ path, source, target }) {
      const local = join(root, source?.path ?? path);
      const item = target?.item;
      return trackTransfer(progress, path, async (shown) => {
        if (item !== undefined)
          return (await alone(() => replaceFile(cli, connectionId, item, local, shown))).size;
        const file = {
          source: local,
          folder: { connectionId, id: folderOf(path) },
          filename: nameOf(source?.path ?? path),
        };
        const isSmall = (source?.size ?? Infinity) <= BATCHED_BYTES_MAX && fitsIntoHead(file);
        const sending = isSmall
          ? batches.upload(file, shown)
          : alone(() => uploadFile(cli, file, shown));
        return (await sending).size;
      });
    },

    async delete({ path, target }) {
      const item = target?.item;
      if (item === undefined) throw new CliError("not_found", `${path} is not there`);
      await cli.client.call(vault.deleteItem, {
        params: { connection_id: connectionId, item_id: item.provider_item_id },
      });
    },

    flush: () => batches.flush(),
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
