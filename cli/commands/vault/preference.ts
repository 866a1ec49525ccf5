import type { z } from "zod";
import type { preferences } from "../../../daemon/contract/vault/auth.ts";
import { vault } from "../../client/operations.ts";
import type { Column } from "../../output/cells.ts";
import { usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("get", "Show your preferences", {
    calls: [vault.viewPreferences],
    output: resourceOf(vault.viewPreferences),
    examples: [
      ["Show your preferences", "croft vault preference get"],
      ["Print where new documents are stored", "croft vault preference get --json"],
    ],
    async run(cli) {
      const { body } = await cli.client.call(vault.viewPreferences);
      await cli.output.resource(body, allColumns);
    },
  }),
  command("set", "Change your preferences", {
    args: {
      "[preference]": "default-storage or pdf-open-mode",
      "[value]": "for default-storage: internal, or a provider such as google_drive",
    },
    flags: {
      "--pdf-open-mode <mode>": "how PDF files open: in_app or new_tab",
      "--default-storage <backend>": "where new documents are stored",
    },
    note: "Example: croft vault preference set default-storage webdav",
    calls: [vault.editPreferences, vault.setDefaultStorage],
    output: resourceOf(vault.editPreferences, 200, { default_storage_backend: "string" }),
    examples: [
      ["Store new documents in a provider", "croft vault preference set default-storage webdav"],
      ["Open PDF files in a new tab", "croft vault preference set --pdf-open-mode new_tab"],
    ],
    /** Changes the caller's preferences and prints them. The server validates the values. */
    async run(cli, { preference, value, ...flags }) {
      const { pdfOpenMode, defaultStorage } = { ...flags, ...toOption(preference, value) };
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
    },
  }),
];

/** Reads a preference that is named by arguments. */
function toOption(
  name: string | undefined,
  value: string | undefined,
): { readonly pdfOpenMode?: string; readonly defaultStorage?: string } {
  if (name === undefined) return {};
  if (value === undefined) throw usageError(`${name} needs a value`);
  if (name === "default-storage") return { defaultStorage: value };
  if (name === "pdf-open-mode") return { pdfOpenMode: value };
  throw usageError(`unknown preference ${name}`, "use default-storage or pdf-open-mode");
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
