import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { size, time } from "../../../output/cells.ts";
import { usageError } from "../../../errors.ts";
import { wholeList } from "../../../output/pages.ts";
import { shapeList } from "../../../output/spec.ts";
import { createItemFinder, type WireItem } from "../find-item.ts";
import { toItemAddress } from "../item-address.ts";
import { findSource, refusingClearly } from "./find-source.ts";
import { readFolder } from "./read-folder.ts";

export const operations = [vault.listConnections, vault.listItems, vault.getItemDetail];
export const output = shapeList({
  path: "string",
  depth: "integer",
  kind: "string",
  name: "string",
  size: "integer?",
  modified_at: "string?",
  provider_item_id: "string",
});
export const completions = { folder: "items" } as const;

/** What the command was given. */
export interface ItemTreeOptions {
  readonly folder: string;
  /** How many levels are shown; undefined is all. */
  readonly depth?: number;
}

export function define(command: Command, cli: CliContext, run = runItemTree): void {
  command
    .argument("<folder>", "CONNECTION:/path, or a folder's id; CONNECTION:/ is the top")
    .option("--depth <levels>", "how many levels to show", toDepth)
    .action((folder: string, { depth }: { readonly depth?: number }) =>
      run(cli, { folder, ...(depth === undefined ? {} : { depth }) }),
    );
}

/** Prints everything below a folder, each folder followed by what is in it. */
async function runItemTree(
  cli: CliContext,
  { folder, depth = Number.POSITIVE_INFINITY }: ItemTreeOptions,
): Promise<void> {
  const found = await findSource(cli, createItemFinder(cli), toItemAddress(folder));
  const entries: TreeEntry[] = [];
  const connectionId = found.connection.id;
  if (found.item?.kind === "file") entries.push(toEntry(found.item, "", 1));
  else await walk(found.id, "", 1).catch(refusingClearly(cli, folder, found));
  await cli.output.list(wholeList(entries), [
    { header: "path", cell: ({ path }) => path },
    { header: "size", cell: (one) => size(one.size) },
    { header: "modified", cell: (one) => time(one.modified_at) },
  ]);

  async function walk(parent: string, above: string, level: number): Promise<void> {
    const { items } = await readFolder(cli, connectionId, parent, false);
    for (const item of items) {
      const entry = toEntry(item, above, level);
      entries.push(entry);
      if (item.kind === "folder" && level < depth)
        await walk(item.provider_item_id, entry.path, level + 1);
    }
  }
}

interface TreeEntry {
  /** From the folder that was asked for; a folder ends in a slash. */
  readonly path: string;
  readonly depth: number;
  readonly kind: string;
  readonly name: string;
  readonly size: number | null;
  readonly modified_at: string | null;
  readonly provider_item_id: string;
}

function toEntry(item: WireItem, above: string, depth: number): TreeEntry {
  return {
    path: `${above}${item.name}${item.kind === "folder" ? "/" : ""}`,
    depth,
    kind: item.kind,
    name: item.name,
    size: item.size,
    modified_at: item.modified_at,
    provider_item_id: item.provider_item_id,
  };
}

function toDepth(text: string): number {
  const depth = Number(text);
  if (Number.isInteger(depth) && depth > 0) return depth;
  throw usageError(`--depth takes a number from 1, not ${JSON.stringify(text)}`);
}
