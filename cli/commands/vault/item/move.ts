import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { oneOrList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../batch.ts";
import { createItemFinder, findItem } from "../find-item.ts";
import { findFolder, refusingClearly } from "./find-source.ts";
import { toPatient } from "./patient.ts";

export const operations = [
  vault.listConnections,
  vault.listItems,
  vault.getItemDetail,
  vault.moveItem,
];
export const output = oneOrList(vault.moveItem, resultFields);
export const completions = { items: "items" } as const;

/** What the command was given. */
export interface ItemMoveOptions {
  readonly items: readonly string[];
  readonly folder: string;
  /** For a single item: move it only if it still has this etag. */
  readonly etag?: string;
}

export function define(command: Command, cli: CliContext, run = runItemMove): void {
  command
    .argument("<items...>", "CONNECTION:/path, or ids of items; then the folder, CONNECTION:/path")
    .usage("<item...> CONNECTION:/folder [flags]")
    .option("--etag <etag>", "for one item: only if it still has this etag")
    .action((words: readonly string[], { etag }: { readonly etag?: string }) => {
      const items = words.slice(0, -1);
      if (items.length === 0) throw usageError("give items and then CONNECTION:/folder");
      if (items.length > 1 && etag !== undefined) throw usageError("--etag goes with one item");
      return run(cli, {
        items,
        folder: words.at(-1) ?? "",
        ...(etag === undefined ? {} : { etag }),
      });
    });
}

/**
 * Puts items into another folder of their connection, one after the other and each under its name. Of several, those that
 * can be are moved; then the code is `partial`.
 */
export async function runItemMove(
  cli: CliContext,
  { items, folder, etag }: ItemMoveOptions,
): Promise<void> {
  const isBatch = items.length > 1;
  const patient = isBatch ? toPatient(cli, await cli.progress()) : cli;
  const finder = createItemFinder(patient);
  const target = await findFolder(patient, finder, folder);
  const move = async (word: string) => {
    const found = await findItem(finder, word);
    const moving = patient.client.call(vault.moveItem, {
      params: { connection_id: found.connection.id, item_id: found.id },
      body: {
        destination_parent_ref: target.id,
        destination_connection_id: target.connection.id,
        ...(etag === undefined ? {} : { etag }),
      },
    });
    const { body } = await moving.catch(refusingClearly(patient, word, found));
    return body;
  };
  if (!isBatch) {
    const [item = ""] = items;
    return cli.output.done(await move(item), `Moved ${item} to ${folder}.`);
  }
  await finishBatch(cli, await runBatch(items, move), "moved", [
    { header: "moved", cell: ({ item }) => item },
    { header: "id", cell: ({ provider_item_id: id }) => id },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}
