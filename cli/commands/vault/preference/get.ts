import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { preferenceColumns } from "./preference-columns.ts";

export const operations = [vault.viewPreferences];
export const output = resourceOf(vault.viewPreferences);

export function define(command: Command, cli: CliContext, run = runPreferenceGet): void {
  command.action(() => run(cli));
}

/** Prints the caller's preferences. */
async function runPreferenceGet(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.viewPreferences);
  await cli.output.resource(body, preferenceColumns);
}
