import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { oneOrList, resourceOf, shape, unpagedList } from "../../../output/spec.ts";
import {
  finishBatch,
  type Outcome,
  resultFields,
  runBatch,
  runTasks,
  type Task,
} from "../../../support/batch.ts";
import {
  type ItemAddress,
  toAddressText,
  toPathAddress,
  createItemFinder,
  findItem,
} from "../../../support/items.ts";
import {
  addIfMatchFlag,
  explainPrecondition,
  type IfMatchFlags,
  readIfMatch,
  toIfMatchHeader,
} from "../../../support/if-match.ts";
import type { CommandModule } from "../../../tree/entry.ts";
import { planTrees, toCopyPlan } from "./copy-tree.ts";
import { assertVersion, explainFailure, findFolder } from "./lookup.ts";
import { findMissingFolder, makeFolders } from "./folder-batch.ts";
import { moveAcross, type MovedItem, moveTreeAcross } from "./move-across.ts";
import { createRetries, withRetries } from "./transfer.ts";

interface ItemMkdirOptions {
  readonly folder: Extract<ItemAddress, { kind: "path" }>;
  /** Create missing folders above it, and accept one that exists. */
  readonly parents: boolean;
}

export const makeFolder = {
  operations: [vault.listConnections, vault.listItems, vault.createFolder],
  output: shape({
    kind: "string",
    provider_item_id: "string",
    name: "string",
    parent_ref: "string?",
  }),
  completions: { folder: "items" },
  define(command, cli, run = runItemMkdir): void {
    command
      .argument("<folder>", "CONNECTION:/path/NAME; the folder above must exist")
      .option("-p, --parents", "create missing parent folders, and accept an existing folder")
      .action((folder: string, flags: { readonly parents?: true }) =>
        run(cli, { folder: toPathAddress(folder), parents: flags.parents === true }),
      );
  },
} satisfies CommandModule;

/**
 * Creates a folder. An existing one is `name_collision`, unless `parents` is set. If another client takes the name
 * meanwhile, the vault appends a counter and returns the actual name.
 */
async function runItemMkdir(cli: CliContext, { folder, parents }: ItemMkdirOptions): Promise<void> {
  if (folder.path.length === 0)
    throw usageError("the folder has no name", "write CONNECTION:/path/NAME");
  const finder = createItemFinder(cli);
  const text = toAddressText(folder.connection, folder.path);
  const there = await finder.findIfThere({ ...folder, isFolder: false });
  if (there?.item !== undefined) {
    const { kind, name, parent_ref: parentRef, provider_item_id: id } = there.item;
    if (!parents || kind === "file")
      throw new CliError(
        "name_collision",
        `${text} already exists${kind === "file" ? " as a file" : ""}`,
        {
          hint: kind === "file" ? "choose another name" : "--parents accepts a folder that exists",
        },
      );
    const same = { kind: "folder", provider_item_id: id, name, parent_ref: parentRef };
    return cli.output.isMachine ? cli.output.done(same, "") : undefined;
  }
  const missing = await findMissingFolder(finder, folder);
  if (missing.names.length > 1 && !parents) {
    const above = toAddressText(folder.connection, folder.path.slice(0, -1));
    throw new CliError("not_found", `there is no ${above}`, {
      service: "vault",
      hint: "--parents creates it",
    });
  }
  const body = await makeFolders(cli, missing);
  const made = toAddressText(folder.connection, [...folder.path.slice(0, -1), body.name]);
  await cli.output.done({ ...body }, `Made ${made}.`);
}

interface ItemRenameOptions {
  readonly item: string;
  readonly name: string;
  /** Rename only if the item still has this etag. */
  readonly etag?: string;
}

export const renameItem = {
  operations: [vault.listConnections, vault.listItems, vault.getItemDetail, vault.renameItem],
  output: resourceOf(vault.renameItem),
  completions: { item: "items" },
  define(command, cli, run = runItemRename): void {
    addIfMatchFlag(command, "only if the item still has this etag")
      .argument("<item>", "CONNECTION:/path, or an item's id")
      .argument("<name>", "its new name")
      .action((item: string, name: string, flags: IfMatchFlags) => {
        const etag = readIfMatch(flags);
        return run(cli, { item, name, ...(etag === undefined ? {} : { etag }) });
      });
  },
} satisfies CommandModule;

/** Renames an item. A taken name is `name_collision`, a changed item is `stale`. */
async function runItemRename(
  cli: CliContext,
  { item, name, etag }: ItemRenameOptions,
): Promise<void> {
  const found = await findItem(createItemFinder(cli), item);
  const renaming = cli.client.call(vault.renameItem, {
    params: { connection_id: found.connection.id, item_id: found.id },
    body: { new_name: name, ...(etag === undefined ? {} : { etag }) },
  });
  const { body } = await renaming
    .catch(explainFailure(cli, item, found))
    .catch(explainPrecondition(item, etag));
  await cli.output.done(body, `Renamed ${item} to ${body.name}.`);
}

interface ItemMoveOptions {
  readonly items: readonly string[];
  readonly folder: string;
  /** For a single item: move it only if it still has this etag. */
  readonly etag?: string;
}

export const moveItems = {
  operations: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.moveItem,
    vault.createFolder,
    vault.createFolderBatch,
    vault.downloadItem,
    vault.downloadBatch,
    vault.listBatch,
    vault.uploadItem,
    vault.uploadBatch,
    vault.deleteItem,
  ],
  output: oneOrList(vault.moveItem, resultFields),
  completions: { items: "items" },
  /** The original is deleted after its copy in the other connection was compared. */
  destructive: false,
  define(command, cli, run = runItemMove): void {
    command
      .argument(
        "<items...>",
        "CONNECTION:/path, or ids of items; then the folder, CONNECTION:/path",
      )
      .usage("<item...> CONNECTION:/folder [flags]");
    addIfMatchFlag(command, "for one item: only if it still has this etag").action(
      (words: readonly string[], flags: IfMatchFlags) => {
        const etag = readIfMatch(flags);
        const items = words.slice(0, -1);
        if (items.length === 0) throw usageError("give items and then CONNECTION:/folder");
        if (items.length > 1 && etag !== undefined)
          throw usageError("--if-match goes with one item");
        return run(cli, {
          items,
          folder: words.at(-1) ?? "",
          ...(etag === undefined ? {} : { etag }),
        });
      },
    );
  },
} satisfies CommandModule;

/**
 * Moves items to another folder, one after the other; to another connection by copies that are compared. If some of
 * several fail, the exit code is `partial`.
 */
async function runItemMove(
  cli: CliContext,
  { items, folder, etag }: ItemMoveOptions,
): Promise<void> {
  const isBatch = items.length > 1;
  const progress = await cli.progress();
  const retries = createRetries(cli, progress);
  const retrying = isBatch ? retries.cli : cli;
  const finder = createItemFinder(retrying);
  const target = await findFolder(retrying, finder, folder);
  const { plans, files: others, failed } = await planTrees(retrying, finder, items, target, true);
  if (etag !== undefined && plans.length > 0)
    throw usageError("--if-match goes with a file: a folder of another connection has no etag");
  if (cli.flags.dryRun && plans.length > 0) throw toCopyPlan(plans, []);
  const move = async (word: string) => {
    const found = await findItem(finder, word);
    if (found.connection.id !== target.connection.id) {
      // The copy is compared with the listed version, which is that of the precondition.
      if (etag !== undefined) await assertVersion(retrying, word, found, etag);
      const fresh = etag === undefined ? finder : createItemFinder(retrying);
      return moveAcross(retrying, progress, word, fresh, target);
    }
    const moving = retrying.client.call(vault.moveItem, {
      params: { connection_id: found.connection.id, item_id: found.id },
      body: {
        destination_parent_ref: target.id,
        destination_connection_id: target.connection.id,
        ...(etag === undefined ? {} : { etag }),
      },
    });
    const { body } = await moving
      .catch(explainFailure(retrying, word, found))
      .catch(explainPrecondition(word, etag));
    return body;
  };
  const [first = ""] = items;
  if (!isBatch && plans.length === 0 && failed.length === 0)
    return cli.output.done(await move(first), `Moved ${first} to ${folder}.`);
  const outcomes: Outcome<MovedItem>[] = [];
  for (const plan of plans)
    outcomes.push(...(await moveTreeAcross(retries, progress, plan, target.id)));
  const tasks = others.map((word): Task<MovedItem> => ({ item: word, run: () => move(word) }));
  outcomes.push(...(await runTasks([...failed, ...tasks], 1)));
  progress.finish();
  const [only, ...more] = outcomes;
  if (!isBatch && more.length === 0 && only?.value !== undefined)
    return cli.output.done(only.value, `Moved ${first} to ${folder}.`);
  await finishBatch(cli, outcomes, "moved", [
    { header: "moved", cell: ({ item }) => item },
    { header: "id", cell: ({ provider_item_id: id }) => id },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}

interface ItemDeleteOptions {
  readonly items: readonly string[];
  /** For a single item: delete it only if it still has this etag. */
  readonly etag?: string;
}

export const deleteItems = {
  operations: [vault.listConnections, vault.listItems, vault.getItemDetail, vault.deleteItem],
  output: unpagedList({
    ...resultFields,
    kind: "string?",
    reason: "string?",
    provider_item_id: "string?",
    item_kind: "string?",
    is_folder: "boolean?",
  }),
  completions: { items: "items" },
  destructive: true,
  define(command, cli, run = runItemDelete): void {
    addIfMatchFlag(command, "for one item: only if it still has this etag")
      .argument("<items...>", "CONNECTION:/path, or an item's id")
      .action((items: readonly string[], flags: IfMatchFlags) => {
        const etag = readIfMatch(flags);
        if (items.length > 1 && etag !== undefined)
          throw usageError("--if-match goes with one item");
        return run(cli, { items, ...(etag === undefined ? {} : { etag }) });
      });
  },
} satisfies CommandModule;

/**
 * Deletes items, one after the other, into the provider's trash where it has one. If some of several fail, the exit code
 * is `partial`.
 */
async function runItemDelete(cli: CliContext, { items, etag }: ItemDeleteOptions): Promise<void> {
  await cli.prompts.confirm(
    items.length === 1 ? `Delete ${items[0]}?` : `Delete these ${items.length} items?`,
  );
  const retrying = items.length === 1 ? cli : withRetries(cli, await cli.progress());
  const finder = createItemFinder(retrying);
  const results = await runBatch(items, async (word) => {
    const found = await findItem(finder, word);
    const params = { connection_id: found.connection.id, item_id: found.id };
    const headers = etag === undefined ? {} : { "If-Match": toIfMatchHeader(etag) };
    const deleting = retrying.client.call(vault.deleteItem, { params }, { headers });
    const { body } = await deleting
      .catch(explainFailure(retrying, word, found))
      .catch(explainPrecondition(word, etag));
    return body;
  });
  await finishBatch(cli, results, "deleted", [
    { header: "deleted", cell: ({ item }) => item },
    { header: "kind", cell: ({ item_kind: kind }) => kind },
    { header: "how", cell: ({ reason }) => reason },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}
