import type { Command } from "commander";
import { createContext, type CliContext } from "../context.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { shapeList, toObjectSchema } from "../output/spec.ts";
import { neverStopping } from "../report.ts";
import { toReference, type CommandReference } from "../reference.ts";
import { loadAllCommands } from "../tree.ts";

const namedList = {
  type: "array",
  items: toObjectSchema({ name: "string", description: "string" }),
};

export const operations = [] as const;
export const output = shapeList({
  command: "string",
  summary: "string",
  usage: "string",
  aliases: { type: "array", items: { type: "string" } },
  arguments: namedList,
  flags: namedList,
  operations: { type: "array", items: { type: "string" } },
});

export function define(command: Command, cli: CliContext, run = runCommands): void {
  command.action(() => run(cli));
}

/** Prints every command with its arguments, flags and the operations that it calls. */
async function runCommands(cli: CliContext): Promise<void> {
  const loaded = await loadAllCommands(createContext(cli.system, neverStopping));
  const references = loaded.filter(({ hidden }) => !hidden).map(toReference);
  await cli.output.list(wholeList(references), columns);
}

const columns: readonly Column<CommandReference>[] = [
  { header: "command", cell: ({ command }) => command },
  { header: "summary", cell: ({ summary }) => summary },
];
