import type { Command } from "commander";
import { commands } from "../commands.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { findCommand } from "../find-command.ts";
import { toJson } from "../output/sanitize.ts";
import type { OutputSpec } from "../output/spec.ts";

export const operations = [] as const;
export const completions = { words: "commands" } as const;
export const output: OutputSpec = { kind: "any" };

/** What the command was given. */
export interface SchemaOptions {
  readonly words: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runSchema): void {
  command
    .argument("<words...>", "the command, such as: admin user list")
    .action((words: readonly string[]) => run(cli, { words }));
}

/** Prints the JSON Schema of what a command prints with `--json`. */
async function runSchema(cli: CliContext, { words }: SchemaOptions): Promise<void> {
  const { verb, rest } = await findCommand(words, commands);
  if (verb === undefined || rest.length > 0)
    throw usageError(`"croft ${words.join(" ")}" is no command`, '"croft commands" lists them');
  const { toOutputSchema } = await import("../output/schema.ts");
  const schema = toOutputSchema((await verb.load()).output);
  if (schema === undefined)
    throw new CliError("unsupported", `the output of "croft ${words.join(" ")}" has no fixed form`);
  await cli.output.text(`${toJson(schema, 2)}\n`, schema);
}
