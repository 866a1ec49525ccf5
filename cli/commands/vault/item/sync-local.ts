import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Progress } from "../../../output/progress.ts";
import { CliError } from "../../../errors.ts";
import { BATCHED_BYTES_MAX, createDownloadBatches } from "./download-batch.ts";
import {
  assertUnmoved,
  createLocalFiles,
  type LocalFolder,
  makeLocalFolder,
  openLocalFolder,
} from "./local-files.ts";
import { saveBytes, saveItem } from "./save-file.ts";
import type { SyncedFolder, SyncSide } from "./sync-plan.ts";
import { createLimit, type Retries, trackTransfer } from "./transfer.ts";

/** Larger files that are downloaded at one time. */
const FILES_AT_ONCE = 4;

/** Creates the side that changes the local folder. No link in it is followed: a folder is opened step by step and compared. */
export function createLocalSide(
  { cli, repeat }: Retries,
  progress: Progress,
  { connectionId }: SyncedFolder,
  root: string,
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
            makeLocalFolder(parent, path.split("/").at(-1) ?? "", false),
          );
    folders.set(path, opening);
    return opening;
  };

  return {
    async makeFolder({ path }) {
      await openFolder(path);
    },

    async copy({ path, action, source }) {
      const item = source?.item;
      if (item === undefined) throw new CliError("not_found", `${path} is not there`);
      const folder = await openFolder(dirname(path));
      const target = { path: join(folder.path, path.split("/").at(-1) ?? ""), files };
      const mayReplace = action === "replace";
      return trackTransfer(progress, path, async (shown) => {
        if ((item.size ?? Infinity) <= BATCHED_BYTES_MAX) {
          shown.begin(item.size ?? undefined);
          const bytes = await repeat(connectionId, () => batches.download(item.provider_item_id));
          shown.update(bytes.byteLength);
          await assertUnmoved(folder);
          await saveBytes(cli, bytes, { ...target, mayReplace });
          return bytes.byteLength;
        }
        return alone(async () => {
          await assertUnmoved(folder);
          const params = { connection_id: connectionId, item_id: item.provider_item_id };
          return saveItem(
            cli,
            { params, name: item.name },
            { ...target, mayReplace, onBegin: shown.begin, onProgress: shown.update },
          );
        });
      });
    },

    async delete({ path }) {
      const folder = await openFolder(dirname(path));
      await assertUnmoved(folder);
      // A link in a folder is removed, never followed.
      await rm(join(folder.path, path.split("/").at(-1) ?? ""), { recursive: true });
    },

    flush: () => undefined,
  };
}
