import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { z } from "zod";
import type { itemDetail } from "../../../../daemon/contract/vault/cloud/shapes.ts";
import type { CliContext } from "../../../context.ts";
import { type Column, size, time } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";
import { createItemFinder, findItem } from "../find-item.ts";
import { refusingClearly } from "./find-source.ts";

export const operations = [vault.listConnections, vault.listItems, vault.getItemDetail];
export const output = resourceOf(vault.getItemDetail);
export const completions = { item: "items" } as const;

/** What the command was given. */
export interface ItemViewOptions {
  readonly item: string;
}

export function define(command: Command, cli: CliContext, run = runItemView): void {
  command
    .argument("<item>", "CONNECTION:/path, or an item's id")
    .action((item: string) => run(cli, { item }));
}

/** Prints what is known of an item; the provider is not asked for it. */
async function runItemView(cli: CliContext, { item }: ItemViewOptions): Promise<void> {
  const found = await findItem(createItemFinder(cli), item);
  const asking = cli.client.call(vault.getItemDetail, {
    params: { connection_id: found.connection.id, item_id: found.id },
  });
  const { body } = await asking.catch(refusingClearly(cli, item, found));
  await cli.output.resource(body, detailColumns);
}

const detailColumns: readonly Column<z.output<typeof itemDetail>>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "kind", cell: ({ kind }) => kind },
  { header: "location", cell: ({ location }) => location },
  { header: "connection", cell: ({ display_name: name }) => name },
  { header: "size", cell: (one) => size(one.size) },
  { header: "modified", cell: ({ modified_at: modifiedAt }) => time(modifiedAt) },
  { header: "type", cell: ({ content_type: contentType }) => contentType },
  { header: "etag", cell: ({ etag }) => etag },
  { header: "analysis", cell: ({ analysis_status: status }) => status },
  { header: "topics", cell: ({ topics }) => topics },
  { header: "stale", cell: ({ is_stale: isStale }) => isStale },
  { header: "id", cell: ({ provider_item_id: id }) => id },
];
