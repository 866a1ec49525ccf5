import type { z } from "zod";
import type { preferences } from "../../../daemon/contract/vault/auth.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { resourceOf } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("get", "Show your preferences", () => getPreference),
  verb("set", "Change your preferences", () => setPreference),
];

const getPreference = {
  operations: [vault.viewPreferences],
  output: resourceOf(vault.viewPreferences),
  define(command, cli, run = runPreferenceGet): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's preferences. */
async function runPreferenceGet(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.viewPreferences);
  await cli.output.resource(body, preferenceColumns);
}

export interface PreferenceSetOptions {
  /** The server knows which modes there are. */
  readonly pdfOpenMode: string;
}

export const setPreference = {
  operations: [vault.editPreferences],
  output: resourceOf(vault.editPreferences),
  define(command, cli, run = runPreferenceSet): void {
    command
      .requiredOption("--pdf-open-mode <mode>", "how PDF files open: in_app or new_tab")
      .action((options: PreferenceSetOptions) => run(cli, options));
  },
} satisfies CommandModule;

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

/** Preferences, line by line. */
const preferenceColumns: readonly Column<z.output<typeof preferences>>[] = [
  { header: "pdf_open_mode", cell: ({ pdf_open_mode: mode }) => mode },
];
