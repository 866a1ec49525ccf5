import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { shape } from "../../../output/spec.ts";
import { createItemFinder } from "../find-item.ts";
import { type ItemAddress, noSuchItem, toAddressText, toPathAddress } from "../item-address.ts";

export const operations = [vault.listConnections, vault.listItems, vault.createFolder];
export const output = shape({
  kind: "string",
  provider_item_id: "string",
  name: "string",
  parent_ref: "string?",
});
export const completions = { folder: "items" } as const;

/** What the command was given. */
export interface ItemMkdirOptions {
  readonly folder: Extract<ItemAddress, { kind: "path" }>;
}

export function define(command: Command, cli: CliContext, run = runItemMkdir): void {
  command
    .argument("<folder>", "CONNECTION:/path/NAME; the folder above must exist")
    .action((folder: string) => run(cli, { folder: toPathAddress(folder) }));
}

/** Makes a folder. The vault gives it a counter when its name is taken, and the answer says the name that it got. */
async function runItemMkdir(cli: CliContext, { folder }: ItemMkdirOptions): Promise<void> {
  const name = folder.path.at(-1);
  if (name === undefined) throw usageError("the folder has no name", "write CONNECTION:/path/NAME");
  const above = folder.path.slice(0, -1);
  const parent = await createItemFinder(cli).find({ ...folder, path: above });
  if (parent.item?.kind === "file") throw noSuchItem(folder.connection, above);
  const { body } = await cli.client.call(vault.createFolder, {
    params: { connection_id: parent.connection.id },
    body: { parent_ref: parent.id, name },
  });
  if (body.kind !== "folder")
    throw new CliError("unexpected_answer", "the daemon's answer is unknown");
  await cli.output.done(body, `Made ${toAddressText(folder.connection, [...above, body.name])}.`);
}
