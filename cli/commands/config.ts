import type { ResolvedSetting } from "../../daemon/settings/resolve.ts";
import { listSettings, toKey } from "../../daemon/settings/settings.ts";
import { findDaemonNotice } from "../client/target.ts";
import type { CliContext } from "../context.ts";
import { DryRun } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { type FieldType, shape, shapeList } from "../output/spec.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

/** The fields of one setting. */
const settingFields: Readonly<Record<string, FieldType>> = {
  key: "string",
  value: {},
  source: { enum: ["flag", "environment", "environment_file", "file", "default"] },
  origin: "string?",
  secret: "boolean",
};

export const entries: readonly Entry[] = [
  command("list", "List all settings with the origin of each value", {
    output: shapeList(settingFields),
    examples: [
      ["List all settings", "croft config list"],
      [
        "Print those that are not the default",
        "croft config list --jq '.[] | select(.source != \"default\") | .key'",
      ],
    ],
    /** Prints all settings as they are resolved; secrets as stars. */
    async run(cli) {
      const { readAllSettings } = await import("../profile/settings.ts");
      const { values } = readAllSettings(cli.system, cli.flags, {});
      await cli.output.list(wholeList(values), settingColumns);
    },
  }),
  command("get", "Show one setting", {
    args: { "<key>": "the setting, such as public_url" },
    completions: { key: "settings" },
    output: shape(settingFields),
    examples: [
      ["Show a setting", "croft config get port"],
      ["Print its value", "croft config get port --jq .value"],
    ],
    /** Prints one setting. @throws CliError `not_found` for an unknown setting */
    async run(cli, { key }) {
      const { readAllSettings } = await import("../profile/settings.ts");
      const { values } = readAllSettings(cli.system, cli.flags, {});
      const found = values.find((value) => value.key === key);
      if (found === undefined) {
        const { unknownSetting } = await import("../profile/edit-config.ts");
        const keys = values.map((value) => value.key);
        throw unknownSetting(key, keys);
      }
      await cli.output.resource(found, settingColumns);
    },
  }),
  command("set", "Set a value in the config file", {
    args: {
      "<key>": "the setting, such as public_url",
      "[value]": "its value; secrets are better given with --stdin",
    },
    flags: { "--stdin": "read the value from standard input" },
    completions: { key: "settings" },
    output: shape({ key: "string", value: {}, path: "string" }),
    writes: true,
    examples: [
      ["Set a value", "croft config set log_level debug"],
      [
        "Back up the home every night to a bucket",
        "croft config set backup_url 's3://backups/laptop?endpoint=https://nas.lan:9000'",
      ],
    ],
    /**
     * Changes one line of the config file and preserves the rest, with its comments. Writes nothing if the result would
     * be invalid. @throws CliError `invalid_config`
     */
    async run(cli, { key, value, ...flags }) {
      const { toSettingValue } = await import("../profile/edit-config.ts");
      await runConfigSet(cli, key, await toSettingValue(cli, key, value, flags));
    },
  }),
  command("unset", "Remove a setting from the config file", {
    args: { "<key>": "the setting, such as public_url" },
    completions: { key: "settings" },
    output: shape({ key: "string", value: {}, path: "string" }),
    writes: true,
    examples: [
      ["Take a value out of the file", "croft config unset log_level"],
      ["See what would change", "croft config unset log_level --dry-run"],
    ],
    /**
     * Removes one line of the config file and preserves the rest, with its comments. Writes nothing if the result would
     * be invalid. @throws CliError `invalid_config`, `not_found` for a key that is no setting and not in the file
     */
    async run(cli, { key }) {
      await runConfigSet(cli, key, undefined);
    },
  }),
  command("path", "Show the paths of croft's files and folders", {
    output: shape({
      home: "string?",
      config_file: "string",
      config: "string",
      data: "string",
      state: "string",
      cache: "string",
    }),
    examples: [
      ["Show files and folders", "croft config path"],
      ["Print the data folder", "croft config path --jq .data_directory"],
    ],
    /** Prints the absolute paths of croft's folders and its config file, whether they exist or not. */
    async run(cli) {
      const { readPaths } = await import("../profile/settings.ts");
      // Does not read the settings, so that it works while the file is invalid.
      const paths = readPaths(cli.system, cli.flags);
      const shown = {
        home: paths.home ?? null,
        config_file: paths.configFile,
        config: paths.configDirectory,
        data: paths.dataDirectory,
        state: paths.stateDirectory,
        cache: paths.cacheDirectory,
      };
      await cli.output.resource(shown, [
        { header: "config file", cell: (at) => at.config_file },
        { header: "config", cell: (at) => at.config },
        { header: "data", cell: (at) => at.data },
        { header: "state", cell: (at) => at.state },
        { header: "cache", cell: (at) => at.cache },
      ]);
    },
  }),
];

const settingColumns: readonly Column<ResolvedSetting>[] = [
  { header: "key", cell: ({ key }) => key },
  { header: "value", cell: ({ value }) => toText(value) },
  { header: "source", cell: ({ source }) => source },
  { header: "origin", cell: ({ origin }) => origin },
];

function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(String).join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * Changes one line of the config file and preserves the rest, with its comments; an undefined value removes it. Writes nothing
 * if the result would be invalid. @throws CliError `invalid_config`
 */
async function runConfigSet(
  cli: CliContext,
  key: string,
  value: string | undefined,
): Promise<void> {
  const { changeConfig } = await import("../profile/edit-config.ts");
  const { readPaths } = await import("../profile/settings.ts");
  const { configFile, dataDirectory } = readPaths(cli.system, cli.flags);
  const printed = await changeConfig(cli, configFile, key, value);
  const result = { key, value: printed, path: configFile };
  if (cli.flags.dryRun) throw new DryRun({ set: result });
  const sentence =
    value === undefined ? `Removed ${key} from ${configFile}.` : `Set ${key} in ${configFile}.`;
  await cli.output.done(result, sentence);
  if (findDaemonNotice(dataDirectory, cli.system) !== undefined && !isClients(key))
    cli.io.note('The running daemon uses it after "croft daemon restart".');
}

/** Whether only the command line reads a setting. */
function isClients(key: string): boolean {
  return listSettings().some(
    ([name, { group }]) => toKey(name) === key && group === "Command line",
  );
}
