import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { createItemFinder, findItem } from "../find-item.ts";
import { refusingClearly } from "./find-source.ts";

export const operations = [vault.listConnections, vault.listItems, vault.analyzeItem];
export const output = resourceOf(vault.analyzeItem, 202);
export const completions = { item: "items" } as const;

/** What the command was given. */
export interface ItemAnalyzeOptions {
  readonly item: string;
}

export function define(command: Command, cli: CliContext, run = runItemAnalyze): void {
  command
    .argument("<item>", "CONNECTION:/path/to/file, or an item's id")
    .action((item: string) => run(cli, { item }));
}

/** Asks for an item's text to be extracted and classified; "croft vault item view" shows how far it is. */
async function runItemAnalyze(cli: CliContext, { item }: ItemAnalyzeOptions): Promise<void> {
  const found = await findItem(createItemFinder(cli), item);
  const asking = cli.client.call(vault.analyzeItem, {
    params: { connection_id: found.connection.id, item_id: found.id },
  });
  const { body } = await asking.catch(refusingClearly(cli, item, found));
  await cli.output.done(body, `${item} waits to be analysed.`);
}
