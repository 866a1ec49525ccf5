// cli/commands: one file per command, one folder per noun; the noun's own file lists its commands.
// May import: the context's types, client/operation.ts, output/, errors; contract values as types only.
// Start with any file; the recipe is at the top of cli/program.ts.
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { shape } from "../output/spec.ts";
import { version } from "../version.ts";

export const operations = [] as const;
export const output = shape({ version: "string", node: "string", platform: "string" });

export function define(command: Command, cli: CliContext, run = runVersion): void {
  command.action(() => run(cli));
}

/** Prints the version of croft, of Node and of the platform. */
async function runVersion(cli: CliContext): Promise<void> {
  const { nodeVersion, platform } = cli.system;
  const facts = { version, node: nodeVersion, platform };
  await cli.output.text(`croft ${version}\n`, facts);
}
