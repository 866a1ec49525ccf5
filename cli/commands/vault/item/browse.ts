import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import type { Browse } from "../../../ui/browse/browse.ts";
import type { Place } from "../../../ui/browse/folder-view.ts";
import { canShowScreen } from "../../../ui/can-show-screen.ts";
import { pickConnection, readConnections } from "../find-connection.ts";
import { createItemFinder } from "../find-item.ts";
import { type ItemAddress, toAddressText, toPathAddress } from "../item-address.ts";
import { toBrowseDeps } from "./browse-deps.ts";
import { runItemList } from "./list.ts";

export const operations = [
  vault.listConnections,
  vault.listItems,
  vault.downloadItem,
  vault.uploadItem,
  vault.createFolder,
  vault.renameItem,
  vault.moveItem,
  vault.deleteItem,
];
export const output = listOf(vault.listItems, "items");
export const completions = { folder: "items" } as const;
/** The line itself destroys nothing; on the screen each deletion is asked for. */
export const destructive = false;

type FolderAddress = Extract<ItemAddress, { kind: "path" }>;

/** What the command was given. */
export interface ItemBrowseOptions {
  readonly folder?: FolderAddress;
}

export function define(command: Command, cli: CliContext, run = runItemBrowse): void {
  command
    .argument("[folder]", "CONNECTION:/path to begin with; all connections when absent")
    .action((folder?: string) =>
      run(cli, folder === undefined ? {} : { folder: toPathAddress(folder) }),
    );
}

/** Folders and files on a screen; without a terminal the same list as `vault item list`. */
async function runItemBrowse(cli: CliContext, { folder }: ItemBrowseOptions): Promise<void> {
  if (!(await canShowScreen(cli))) {
    const { connection, path } = folder ?? (await onlyRoot(cli));
    return runItemList(cli, { folder: toAddressText(connection, path), refresh: false });
  }
  // What draws is loaded while the place is looked up.
  const [start, { showScreen }, { createBrowse }] = await Promise.all([
    folder === undefined ? { places: [], item: undefined } : find(cli, folder),
    import("../../../ui/screen.tsx"),
    import("../../../ui/browse/browse.ts"),
  ]);
  const browse = createBrowse(toBrowseDeps(cli, start.places, start.item));
  const closing = new AbortController();
  const background = [browse.reload(), tick(cli, browse, closing.signal)];
  try {
    await showScreen(cli, browse);
  } finally {
    closing.abort();
    await browse.stop();
    await Promise.allSettled(background);
  }
}

/** The top of the only connection there is. @throws CliError `usage` when there are several */
async function onlyRoot(cli: CliContext): Promise<FolderAddress> {
  const { id } = pickConnection(await readConnections(cli), undefined);
  return { kind: "path", connection: id, path: [], isFolder: true };
}

/** The places from the top to the folder, and the file in it that was named. */
async function find(
  cli: CliContext,
  address: FolderAddress,
): Promise<{ readonly places: readonly Place[]; readonly item: string | undefined }> {
  const finder = createItemFinder(cli);
  const places: Place[] = [];
  for (let depth = 0; depth <= address.path.length; depth++) {
    const path = address.path.slice(0, depth);
    const { connection, id, item } = await finder.find({ ...address, path });
    if (item?.kind === "file") return { places, item: id };
    places.push({ connection, ref: id, path });
  }
  return { places, item: undefined };
}

const tickMs = 30_000;

async function tick(cli: CliContext, browse: Browse, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await cli.system.sleep(tickMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    browse.tick();
  }
}
