import type { Command } from "commander";
import type { moveItem as moveItemEndpoint } from "../../../../daemon/contract/vault/cloud-items.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { listConnections } from "../find-connection.ts";
import { createItemFinder, listItems } from "../find-item.ts";
import {
  type ItemAddress,
  toAddressText,
  toFolderAddress,
  toItemAddress,
} from "../item-address.ts";
import { toClearRefusal } from "./find-source.ts";
import { getItemDetail } from "./view.ts";

export const moveItem = operation<typeof moveItemEndpoint>(
  "vault.cloud.items.move",
  "POST",
  "/api/cloud/connections/:connection_id/items/**:item_id/move",
);

export const operations = [listConnections, listItems, getItemDetail, moveItem];
export const output = resourceOf(moveItem);
export const completions = { item: "items" } as const;

/** What the command was given. */
export interface ItemMoveOptions {
  readonly item: string;
  readonly folder: Extract<ItemAddress, { kind: "path" }>;
  /** Move only if the item still has this etag. */
  readonly etag?: string;
}

export function define(command: Command, cli: CliContext, run = runItemMove): void {
  command
    .argument("<item>", "CONNECTION:/path, or an item's id")
    .argument("<folder>", "CONNECTION:/folder that it is put into")
    .option("--etag <etag>", "only if the item still has this etag")
    .action((item: string, folder: string, { etag }: { readonly etag?: string }) =>
      run(cli, {
        item,
        folder: toFolderAddress(folder),
        ...(etag === undefined ? {} : { etag }),
      }),
    );
}

/** Puts an item into another folder of its connection, under its name. */
export async function runItemMove(
  cli: CliContext,
  { item, folder, etag }: ItemMoveOptions,
): Promise<void> {
  const finder = createItemFinder(cli);
  const found = await finder.find(toItemAddress(item));
  const target = await finder.find(folder);
  const moving = cli.client.call(moveItem, {
    params: { connection_id: found.connection.id, item_id: found.id },
    body: {
      destination_parent_ref: target.id,
      destination_connection_id: target.connection.id,
      ...(etag === undefined ? {} : { etag }),
    },
  });
  const { body } = await moving.catch(async (error: unknown) => {
    throw await toClearRefusal(cli, item, found, error);
  });
  await cli.output.done(body, `Moved ${item} to ${toAddressText(folder.connection, folder.path)}.`);
}
