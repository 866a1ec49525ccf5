import type { Command } from "commander";
import type { openItem as openItemEndpoint } from "../../../../daemon/contract/vault/cloud/items.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { listConnections } from "../find-connection.ts";
import { createItemFinder, findItem, listItems } from "../find-item.ts";
import { refusingClearly } from "./find-source.ts";

const openItem = operation<typeof openItemEndpoint>(
  "vault.cloud.items.open",
  "GET",
  "/api/cloud/connections/:connection_id/items/**:item_id/open",
);

export const operations = [listConnections, listItems, openItem];
export const output = resourceOf(openItem);
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
  const asking = cli.client.call(openItem, {
    params: { connection_id: found.connection.id, item_id: found.id },
  });
  const { body } = await asking.catch(refusingClearly(cli, item, found));
  const { url } = await cli.client.target();
  await cli.output.text(`${url}${body.url}\n`, body);
}
