import type { Command } from "commander";
import type { analyzeItem as analyzeItemEndpoint } from "../../../../daemon/contract/vault/cloud/items.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { listConnections } from "../find-connection.ts";
import { createItemFinder, findItem, listItems } from "../find-item.ts";
import { refusingClearly } from "./find-source.ts";

const analyzeItem = operation<typeof analyzeItemEndpoint>(
  "vault.cloud.items.analyze",
  "POST",
  "/api/cloud/connections/:connection_id/items/**:item_id/analyze",
);

export const operations = [listConnections, listItems, analyzeItem];
export const output = resourceOf(analyzeItem, 202);
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
  const asking = cli.client.call(analyzeItem, {
    params: { connection_id: found.connection.id, item_id: found.id },
  });
  const { body } = await asking.catch(refusingClearly(cli, item, found));
  await cli.output.done(body, `${item} waits to be analysed.`);
}
