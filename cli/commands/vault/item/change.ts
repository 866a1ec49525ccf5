import { vault } from "../../../client/operations.ts";
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
  toAddressText,
  toPathAddress,
  createItemFinder,
  findItem,
} from "../../../support/items.ts";
import { explainPrecondition, toIfMatchHeader, ifMatchFlag } from "../../../support/if-match.ts";
import { planTrees, toCopyPlan } from "./copy-tree.ts";
import { assertVersion, explainFailure, findFolder } from "./lookup.ts";
import { findMissingFolder, makeFolders } from "./folder-batch.ts";
import { moveAcross, type MovedItem, moveTreeAcross } from "./move-across.ts";
import { createRetries, withRetries } from "./transfer.ts";
import { commandDetails } from "../../../tree/command.ts";

export const makeFolder = commandDetails({
  args: {
    "<folder>": {
      help: "CONNECTION:/path/NAME; the folder above must exist",
      parse: toPathAddress,
    },
  },
  flags: { "-p, --parents": "create missing parent folders, and accept an existing folder" },
  calls: [vault.listConnections, vault.listItems, vault.createFolder],
  output: shape({
    kind: "string",
    provider_item_id: "string",
    name: "string",
    parent_ref: "string?",
  }),
  completions: { folder: "items" },
  examples: [
    ["Create a folder", "croft vault item mkdir Papers:/2027"],
    ["Create the folders above it too", "croft vault item mkdir Papers:/2027/may --parents"],
    ["Show the request only", "croft vault item mkdir Papers:/2027 --dry-run"],
  ],
  /**
   * Creates a folder. An existing one is `name_collision`, unless `parents` is set. If another client takes the name
   * meanwhile, the vault appends a counter and returns the actual name.
   */
  async run(cli, { folder, parents = false }) {
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
            hint:
              kind === "file" ? "choose another name" : "--parents accepts a folder that exists",
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
  },
});

export const renameItem = commandDetails({
  args: { "<item>": "CONNECTION:/path, or an item's id", "<name>": "its new name" },
  flags: ifMatchFlag("only if the item still has this etag"),
  calls: [vault.listConnections, vault.listItems, vault.getItemDetail, vault.renameItem],
  output: resourceOf(vault.renameItem),
  completions: { item: "items" },
  examples: [
    ["Rename an item", "croft vault item rename Papers:/notes.md minutes.md"],
    [
      "Rename it only if it has not changed",
      "croft vault item rename Papers:/notes.md minutes.md --if-match Ngql6_oY79GfYOskMsEdU-IVhv8",
    ],
  ],
  /** Renames an item. A taken name is `name_collision`, a changed item is `stale`. */
  async run(cli, { item, name, ifMatch: etag }) {
    const found = await findItem(createItemFinder(cli), item);
    const renaming = cli.client.call(vault.renameItem, {
      params: { connection_id: found.connection.id, item_id: found.id },
      body: { new_name: name, ...(etag === undefined ? {} : { etag }) },
    });
    const { body } = await renaming
      .catch(explainFailure(cli, item, found))
      .catch(explainPrecondition(item, etag));
    await cli.output.done(body, `Renamed ${item} to ${body.name}.`);
  },
});

export const moveItems = commandDetails({
  args: { "<items...>": "CONNECTION:/path, or ids of items; then the folder, CONNECTION:/path" },
  flags: ifMatchFlag("for one item: only if it still has this etag"),
  usage: "<item...> CONNECTION:/folder [flags]",
  calls: [
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
  examples: [
    ["Move an item", "croft vault item move Papers:/notes.md Papers:/2026"],
    ["Move two items", "croft vault item move Papers:/notes.md Papers:/more.md Papers:/2026"],
    [
      "Only if it is still the version that was read",
      "croft vault item move Papers:/notes.md Papers:/archive --if-match Ngql6_oY79GfYOskMsEdU-IVhv8",
    ],
  ],
  /**
   * Moves items to another folder, one after the other; to another connection by copies that are compared. If some of
   * several fail, the exit code is `partial`.
   */
  async run(cli, { items: words, ifMatch: etag }) {
    const items = words.slice(0, -1);
    if (items.length === 0) throw usageError("give items and then CONNECTION:/folder");
    if (items.length > 1 && etag !== undefined) throw usageError("--if-match goes with one item");
    const folder = words.at(-1) ?? "";
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
    let outcomes: readonly Outcome<MovedItem>[] = [];
    for (const plan of plans)
      outcomes = [...outcomes, ...(await moveTreeAcross(retries, progress, plan, target.id))];
    const tasks = others.map((word): Task<MovedItem> => ({ item: word, run: () => move(word) }));
    outcomes = [...outcomes, ...(await runTasks([...failed, ...tasks], 1))];
    progress.finish();
    const [only, ...more] = outcomes;
    if (!isBatch && more.length === 0 && only?.value !== undefined)
      return cli.output.done(only.value, `Moved ${first} to ${folder}.`);
    await finishBatch(cli, outcomes, "moved", [
      { header: "moved", cell: ({ item }) => item },
      { header: "id", cell: ({ provider_item_id: id }) => id },
      { header: "error", cell: ({ error }) => error?.message },
    ]);
  },
});

export const deleteItems = commandDetails({
  args: { "<items...>": "CONNECTION:/path, or an item's id" },
  flags: ifMatchFlag("for one item: only if it still has this etag"),
  calls: [vault.listConnections, vault.listItems, vault.getItemDetail, vault.deleteItem],
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
  examples: [
    ["Delete an item", "croft vault item delete Papers:/notes.md --yes"],
    ["Show the request only", "croft vault item delete Papers:/notes.md --dry-run"],
    [
      "Only if it is still the version that was read",
      "croft vault item delete Papers:/notes.md --if-match Ngql6_oY79GfYOskMsEdU-IVhv8 --yes",
    ],
  ],
  /**
   * Deletes items, one after the other, into the provider's trash where it has one. If some of several fail, the exit code
   * is `partial`.
   */
  async run(cli, { items, ifMatch: etag }) {
    if (items.length > 1 && etag !== undefined) throw usageError("--if-match goes with one item");
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
  },
});
