import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { preferenceColumns } from "./preference-columns.ts";

export const operations = [vault.editPreferences];
export const output = resourceOf(vault.editPreferences);

/** What the command was given. */
export interface PreferenceSetOptions {
  /** The server knows which modes there are. */
  readonly pdfOpenMode: string;
}

export function define(command: Command, cli: CliContext, run = runPreferenceSet): void {
  command
    .requiredOption("--pdf-open-mode <mode>", "how PDF files open: in_app or new_tab")
    .action((options: PreferenceSetOptions) => run(cli, options));
}

/** Changes the caller's preferences and prints them. */
async function runPreferenceSet(
  cli: CliContext,
  { pdfOpenMode }: PreferenceSetOptions,
): Promise<void> {
  const { body } = await cli.client.call(vault.editPreferences, {
    body: { pdf_open_mode: pdfOpenMode as "in_app" | "new_tab" },
  });
  await cli.output.resource(body, preferenceColumns);
}
