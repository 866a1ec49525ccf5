import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { createItemFinder, findItem } from "../find-item.ts";
import { refusingClearly } from "./find-source.ts";

export const operations = [
  vault.listConnections,
  vault.listItems,
  vault.getItemDetail,
  vault.renameItem,
];
export const output = resourceOf(vault.renameItem);
export const completions = { item: "items" } as const;

/** What the command was given. */
export interface ItemRenameOptions {
  readonly item: string;
  readonly name: string;
  /** Rename only if the item still has this etag. */
  readonly etag?: string;
}

export function define(command: Command, cli: CliContext, run = runItemRename): void {
  command
    .argument("<item>", "CONNECTION:/path, or an item's id")
    .argument("<name>", "its new name")
    .option("--etag <etag>", "only if the item still has this etag")
    .action((item: string, name: string, { etag }: { readonly etag?: string }) =>
      run(cli, { item, name, ...(etag === undefined ? {} : { etag }) }),
    );
}

/** Gives an item another name in its folder. A taken name is `name_collision`, an item that has changed `stale`. */
async function runItemRename(
  cli: CliContext,
  { item, name, etag }: ItemRenameOptions,
): Promise<void> {
  const found = await findItem(createItemFinder(cli), item);
  const renaming = cli.client.call(vault.renameItem, {
    params: { connection_id: found.connection.id, item_id: found.id },
    body: { new_name: name, ...(etag === undefined ? {} : { etag }) },
  });
  const { body } = await renaming.catch(refusingClearly(cli, item, found));
  await cli.output.done(body, `Renamed ${item} to ${body.name}.`);
}
