import type { z } from "zod";
import type { preferences } from "../../../daemon/contract/vault/auth.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { usageError } from "../../errors.ts";
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

async function runPreferenceGet(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.viewPreferences);
  await cli.output.resource(body, allColumns);
}

export interface PreferenceSetOptions {
  /** The server validates the mode. */
  readonly pdfOpenMode?: string;
  /** `internal` or a provider; the server validates it. */
  readonly defaultStorage?: string;
}

export const setPreference = {
  operations: [vault.editPreferences, vault.setDefaultStorage],
  output: resourceOf(vault.editPreferences, 200, { default_storage_backend: "string" }),
  define(command, cli, run = runPreferenceSet): void {
    command
      .argument("[preference]", "default-storage or pdf-open-mode")
      .argument("[value]", "for default-storage: internal, or a provider such as google_drive")
      .option("--pdf-open-mode <mode>", "how PDF files open: in_app or new_tab")
      .option("--default-storage <backend>", "where new documents are stored")
      .addHelpText("after", "\nExample: croft vault preference set default-storage webdav")
      .action((name: string | undefined, value: string | undefined, flags: PreferenceSetOptions) =>
        run(cli, { ...flags, ...toOption(name, value) }),
      );
  },
} satisfies CommandModule;

/** Reads a preference that is named by arguments. */
function toOption(name: string | undefined, value: string | undefined): PreferenceSetOptions {
  if (name === undefined) return {};
  if (value === undefined) throw usageError(`${name} needs a value`);
  if (name === "default-storage") return { defaultStorage: value };
  if (name === "pdf-open-mode") return { pdfOpenMode: value };
  throw usageError(`unknown preference ${name}`, "use default-storage or pdf-open-mode");
}

/** Changes the caller's preferences and prints them. */
async function runPreferenceSet(
  cli: CliContext,
  { pdfOpenMode, defaultStorage }: PreferenceSetOptions,
): Promise<void> {
  let changed: Shown | undefined;
  if (pdfOpenMode !== undefined)
    changed = (
      await cli.client.call(vault.editPreferences, {
        body: { pdf_open_mode: pdfOpenMode as "in_app" | "new_tab" },
      })
    ).body;
  if (defaultStorage !== undefined)
    changed = (
      await cli.client.call(vault.setDefaultStorage, { body: { backend: defaultStorage } })
    ).body;
  if (changed === undefined)
    throw usageError("nothing to set", "name a preference: default-storage or pdf-open-mode");
  await cli.output.resource(
    changed,
    changed.default_storage_backend === undefined ? preferenceColumns : allColumns,
  );
}

type Shown = z.output<typeof preferences> & { readonly default_storage_backend?: string };

/** Preferences, line by line. */
const preferenceColumns: readonly Column<z.output<typeof preferences>>[] = [
  { header: "pdf_open_mode", cell: ({ pdf_open_mode: mode }) => mode },
];

const allColumns: readonly Column<Shown>[] = [
  ...preferenceColumns,
  { header: "default storage", cell: (one) => one.default_storage_backend },
];
