import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { sanitizeText } from "../../../output/sanitize.ts";
import { createItemFinder } from "../find-item.ts";
import { toItemAddress } from "../item-address.ts";
import { streamItem } from "./receive/stream-item.ts";

export const operations = [vault.listConnections, vault.listItems, vault.downloadItem];
export const output = { kind: "bytes" } as const;
export const completions = { items: "items" } as const;

/** What the command was given. */
export interface ItemCatOptions {
  readonly items: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runItemCat): void {
  command
    .argument("<items...>", "CONNECTION:/path/to/file, or an item's id")
    .action((items: readonly string[]) => run(cli, { items }));
}

/** Writes the bytes of files to standard output, one after the other. A terminal gets text only, unless forced. */
async function runItemCat(cli: CliContext, { items }: ItemCatOptions): Promise<void> {
  if (cli.output.isMachine)
    throw usageError("bytes do not go with machine output", "leave the output flags away");
  const isFiltered = cli.io.isOutputTerminal && !cli.flags.force;
  const finder = createItemFinder(cli);
  for (const word of items) {
    const { connection, id, item } = await finder.find(toItemAddress(word));
    if (id === "" || item?.kind === "folder")
      throw new CliError("unsupported", `${word} is a folder; only files have bytes`);
    const params = { connection_id: connection.id, item_id: id };
    const opened = await cli.client.download(vault.downloadItem, { params });
    try {
      if (isFiltered && !isText(opened.headers["content-type"]))
        throw usageError(
          "the terminal would show raw bytes",
          '"croft vault item download" writes a file, --force shows them anyway',
        );
      const write = isFiltered ? textWriter(cli) : (chunk: Uint8Array) => cli.io.write(chunk);
      await streamItem(cli, { params, name: word, opened }, write);
    } finally {
      opened.stream.destroy();
    }
  }
}

/** Writes chunks of UTF-8 text without the characters that a terminal acts on. */
function textWriter(cli: CliContext): (chunk: Uint8Array) => Promise<void> {
  const decoder = new TextDecoder();
  return (chunk) => cli.io.write(sanitizeText(decoder.decode(chunk, { stream: true })));
}

function isText(contentType: unknown): boolean {
  return /^(text\/|application\/(json|xml|yaml)\b)/.test(String(contentType ?? ""));
}
