import { mkdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun, usageError } from "../../../errors.ts";
import { size, toSizeText } from "../../../output/cells.ts";
import { unpagedList } from "../../../output/spec.ts";
import type { Progress } from "../../../output/progress.ts";
import { finishBatch, resultFields, runTasks } from "../../../support/batch.ts";
import {
  isConnectionAddress,
  noSuchItem,
  toItemAddress,
  createItemFinder,
} from "../../../support/items.ts";
import { createRemoteOrigin } from "./remote-origin.ts";
import { findFolder } from "./lookup.ts";
import { findMissingFolder, makeFolders, type MissingFolder } from "./folder-batch.ts";
import {
  planSync,
  readLocalTree,
  readRemoteTree,
  type SyncedFolder,
  type SyncSide,
  type SyncStep,
  type Tree,
  type TreeFilter,
  withoutIgnored,
  carryOut,
  type Done,
  toTask,
} from "./sync-plan.ts";
import { createSyncFilter, filterFlags } from "./sync-filter.ts";
import { createLocalOrigin, createRemoteSide, createLocalSide } from "./sync-sides.ts";
import { createRetries, type Retries } from "./transfer.ts";
import { toSeconds } from "./watch.ts";
import { toMaxDelete } from "./two-way/limits.ts";
import { commandDetails } from "../../../tree/command.ts";

export const sync = commandDetails({
  args: {
    "<source>": "a local folder, or CONNECTION:/path",
    "<target>":
      "the target folder, created when missing; at least one of the two is CONNECTION:/path",
  },
  flags: {
    "--delete": "delete files and folders of the target that the source lacks",
    "--both": "copy the changes of both sides, and keep both versions of a file that both changed",
    "--max-delete <number>": {
      help: "with --both: most files and folders that may be deleted of a side, as number or percentage; 50% by default",
      parse: toMaxDelete,
    },
    "--watch": "with --both: go on until it is stopped",
    "--interval <seconds>": {
      help: "with --watch: time between two listings of the connection, 2 to 3600",
      parse: toSeconds,
      default: 30,
    },
    ...filterFlags,
  },
  calls: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.createFolder,
    vault.createFolderBatch,
    vault.uploadItem,
    vault.uploadBatch,
    vault.replaceContent,
    vault.replaceBatch,
    vault.downloadItem,
    vault.downloadBatch,
    vault.listBatch,
    vault.deleteItem,
    vault.renameItem,
    vault.moveItem,
    vault.listProviders,
  ],
  output: unpagedList({
    ...resultFields,
    action: "string?",
    side: "string?",
    size: "integer?",
    other_path: "string?",
  }),
  completions: { source: "transfers", target: "transfers" },
  destructive: true,
  examples: [
    ["Show what would be done", "croft vault item sync Papers:/2026 copies --dry-run"],
    ["Copy a folder to this machine", "croft vault item sync Papers:/2026 copies"],
    ["Keep two folders equal", "croft vault item sync copies Papers:/2026 --both"],
    ["Show what --both would do", "croft vault item sync copies Papers:/2026 --both --dry-run"],
    [
      "Leave out logs and a folder",
      "croft vault item sync Papers:/2026 copies --exclude '*.log' --exclude old/",
    ],
  ],
  /**
   * Makes a folder the same as another one, in one direction: copies missing files, replaces those that differ in size
   * or are older, and with `--delete` finally deletes the others, if no copy failed. The plan is made before anything is
   * changed.
   */
  async run(cli, options) {
    const { source, target, delete: deletes = false, both, watch, exclude, include } = options;
    const { maxDelete, interval } = options;
    if (both === true) {
      if (deletes) throw usageError("--both deletes by itself what the other side has deleted");
      const { syncBoth } = await import("./two-way/both.ts");
      const limits = { exclude, include, maxDelete };
      return syncBoth(cli, [source, target], limits, watch && interval * 1000);
    }
    if (watch === true) throw usageError("--watch goes with --both");
    if (maxDelete !== undefined) throw usageError("--max-delete goes with --both");
    const isRemote = (word: string) => isConnectionAddress(word, cli.system.platform);
    const [isFromRemote, isToRemote] = [isRemote(source), isRemote(target)];
    if (!isFromRemote && !isToRemote)
      throw usageError(
        "at least one of the two must be a folder of a connection, CONNECTION:/path",
      );
    const progress = await cli.progress();
    const retries = createRetries(cli, progress);
    const isBetween = isFromRemote && isToRemote;
    // Names must be valid on the local disk; connections accept any.
    const platform = isBetween ? "linux" : cli.system.platform;
    const filter = createSyncFilter({ exclude, include });
    const open = async (word: string, isSource: boolean): Promise<Side> => {
      const filtered = { filter, side: isSource ? "one" : "other" } as const;
      if (isRemote(word)) {
        const { remote, missing } = await openRemote(retries.cli, word, isSource);
        if (missing !== undefined) return { remote, missing, tree: new Map() };
        return { remote, tree: await readRemoteTree(retries.cli, remote, platform, filtered) };
      }
      const local = resolve(cli.system.workingDirectory, word);
      await assertLocal(local, word, isSource);
      return { local, tree: await readLocal(local, isSource, filtered) };
    };
    const whole = await open(source, true);
    const to = await open(target, false);
    // The target may have rules of its own.
    const from = { ...whole, tree: withoutIgnored(whole.tree, filter) };
    if (isBetween) assertApart(from, to, target);
    const steps = planSync(from.tree, to.tree, deletes);
    const deletions = steps.filter(({ action }) => action === "delete");
    const changes = steps.filter(({ action }) => action !== "delete" && action !== "keep");
    if (cli.flags.dryRun)
      throw new DryRun({
        plan: [...changes, ...deletions].map(({ action, path, source: from, target: to }) => ({
          action,
          path,
          size: (from ?? to)?.size ?? null,
        })),
      });
    if (!cli.output.isMachine) cli.io.note(toPlanText(steps));
    if (deletions.length > 0) await cli.prompts.confirm(`Delete ${deletions.length} in ${target}?`);
    const sides = { from, to: await made(cli, to), platform };
    const side = await openSide(retries, progress, sides, changes.length > 0);
    for (const { action, source: one } of changes)
      if (action === "copy" || action === "replace") progress.expect(one?.size ?? null);
    progress.expectNoMore();
    const outcomes = await carryOut(side, changes).finally(() => progress.finish());
    const failed = outcomes.filter(({ failure }) => failure !== undefined).length;
    // An incompletely copied source must not cause deletions in the target.
    if (failed === 0)
      outcomes.push(
        ...(await runTasks(
          deletions.map((step) => toTask(step, () => side.delete(step))),
          4,
        )),
      );
    else if (deletions.length > 0)
      cli.io.note("Nothing was deleted, because not everything could be copied.");
    const changed = to.local === undefined ? "remote" : "local";
    const results = outcomes.map(({ value, ...outcome }) => ({
      ...outcome,
      value: value && { ...value, side: changed, other_path: null },
    }));
    await finishBatch<Done>(cli, results, "synchronized", [
      { header: "action", cell: ({ action }) => action },
      { header: "path", cell: ({ item }) => item },
      { header: "size", cell: (one) => size(one.size) },
      { header: "error", cell: ({ error }) => error?.message },
    ]);
  },
});

/** One of the two folders, with its contents. */
type Side =
  | {
      readonly remote: SyncedFolder;
      /** Set when the folder does not exist; `remote` is then its deepest existing ancestor. */
      readonly missing?: MissingFolder;
      readonly local?: undefined;
      readonly tree: Tree;
    }
  | { readonly local: string; readonly remote?: undefined; readonly tree: Tree };

/** Creates a missing remote target with its parents. */
async function made(cli: CliContext, to: Side): Promise<Side> {
  if (to.remote === undefined || to.missing === undefined) return to;
  const { provider_item_id: id } = await makeFolders(cli, to.missing);
  return { remote: { ...to.remote, id }, tree: to.tree };
}

async function openSide(
  retries: Retries,
  progress: Progress,
  { from, to, platform }: { readonly from: Side; readonly to: Side; readonly platform: string },
  hasChanges: boolean,
): Promise<SyncSide> {
  if (to.remote !== undefined) {
    const origin =
      from.remote === undefined
        ? createLocalOrigin(retries.cli, from.local)
        : createRemoteOrigin(retries, from.remote);
    return createRemoteSide(retries, progress, to.remote, origin, { tree: to.tree, platform });
  }
  if (from.remote === undefined) throw new Error("one side is a connection");
  if (hasChanges) await mkdir(to.local, { recursive: true });
  return createLocalSide(retries, progress, from.remote, to.local, to.tree);
}

async function readLocal(path: string, isSource: boolean, filtered: TreeFilter): Promise<Tree> {
  try {
    return await readLocalTree(path, filtered);
  } catch (error) {
    if (!isSource && (error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw new CliError("file_error", `${path}: ${(error as Error).message}`, { cause: error });
  }
}

/** Refuses two folders of which one contains the other: copied files would be copied again, or deleted. */
function assertApart(from: Side, to: Side, word: string): void {
  if (from.remote?.connectionId !== to.remote?.connectionId) return;
  const contains = (outer: Side, inner: Side) =>
    outer.remote?.id === "" ||
    outer.remote?.id === inner.remote?.id ||
    [...outer.tree.values()].some(({ item }) => item?.provider_item_id === inner.remote?.id);
  const isNew = to.remote !== undefined && to.missing !== undefined;
  if (contains(from, to) || (!isNew && contains(to, from)))
    throw usageError(
      `${word} and the source overlap`,
      "name two folders that do not contain each other",
    );
}

/** `3 to copy, 1 to replace, 2 to delete, 10 are the same; 1.2 MiB to transfer.` */
function toPlanText(steps: readonly SyncStep[]): string {
  const of = (action: SyncStep["action"]) => steps.filter((step) => step.action === action);
  const bytes = [...of("copy"), ...of("replace")].reduce(
    (sum, { source }) => sum + (source?.size ?? 0),
    0,
  );
  return `Plan: ${of("copy").length} to copy, ${of("replace").length} to replace, ${of("delete").length} to delete, ${of("keep").length} are the same; ${toSizeText(bytes)} to transfer.`;
}

async function openRemote(
  cli: CliContext,
  word: string,
  isSource: boolean,
): Promise<{ readonly remote: SyncedFolder; readonly missing?: MissingFolder }> {
  const address = toItemAddress(word);
  const finder = createItemFinder(cli, { isFresh: true });
  const found =
    address.kind === "path" ? await finder.findIfThere({ ...address, isFolder: false }) : undefined;
  if (address.kind === "id" || found !== undefined) {
    const { connection, id } = await findFolder(cli, finder, word);
    return { remote: { connectionId: connection.id, id } };
  }
  if (isSource) throw noSuchItem(address.connection, address.path, address.isFolder);
  const missing = await findMissingFolder(finder, address);
  const { connection, id } = missing.parent;
  return { remote: { connectionId: connection.id, id }, missing };
}

async function assertLocal(path: string, word: string, isSource: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true || (found === undefined && !isSource)) return;
  if (found === undefined) throw new CliError("file_error", `${word} does not exist`);
  const command = isSource ? "upload" : "download";
  throw new CliError("file_error", `${word} is not a folder`, {
    hint: `name a folder; "croft vault item ${command} --help" explains how to copy single files`,
  });
}
