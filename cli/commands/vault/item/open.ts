import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { createItemFinder, findItem } from "../find-item.ts";
import { refusingClearly } from "./find-source.ts";

export const operations = [vault.listConnections, vault.listItems, vault.openItem];
export const output = resourceOf(vault.openItem);
export const completions = { item: "items" } as const;

/** What the command was given. */
export interface ItemOpenOptions {
  readonly item: string;
}

export function define(command: Command, cli: CliContext, run = runItemOpen): void {
  command
    .argument("<item>", "CONNECTION:/path, or an item's id")
    .action((item: string) => run(cli, { item }));
}

/** Puts on record that an item is opened, and prints the address of its bytes; it takes the vault's access token. */
async function runItemOpen(cli: CliContext, { item }: ItemOpenOptions): Promise<void> {
  const found = await findItem(createItemFinder(cli), item);
  const asking = cli.client.call(vault.openItem, {
    params: { connection_id: found.connection.id, item_id: found.id },
  });
  const { body } = await asking.catch(refusingClearly(cli, item, found));
  const { url } = await cli.client.target();
  await cli.output.text(`${url}${body.url}\n`, body);
}
