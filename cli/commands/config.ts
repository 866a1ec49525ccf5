import type { ResolvedSetting } from "../../daemon/settings/resolve.ts";
import { listSettings, toKey } from "../../daemon/settings/settings.ts";
import { suggest } from "../../daemon/settings/suggest.ts";
import { findDaemonNotice } from "../client/target.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { type FieldType, shape, shapeList } from "../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List all settings with the origin of each value", () => listConfig),
  verb("get", "Show one setting", () => getConfig),
  verb("set", "Set a value in the config file", () => setConfig),
  verb("unset", "Remove a setting from the config file", () => unsetConfig),
  verb("path", "Show the paths of croft's files and folders", () => showConfigPath),
];

/** The fields of one setting. */
const settingFields: Readonly<Record<string, FieldType>> = {
  key: "string",
  value: {},
  source: { enum: ["flag", "environment", "environment_file", "file", "default"] },
  origin: "string?",
  secret: "boolean",
};

const listConfig = {
  operations: [],
  output: shapeList(settingFields),
  define(command, cli, run = runConfigList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints all settings as they are resolved; secrets as stars. */
async function runConfigList(cli: CliContext): Promise<void> {
  const { readAllSettings } = await import("../profile/settings.ts");
  const { values } = readAllSettings(cli.system, cli.flags, {});
  await cli.output.list(wholeList(values), settingColumns);
}

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

export interface ConfigGetOptions {
  readonly key: string;
}

export const getConfig = {
  operations: [],
  completions: { key: "settings" },
  output: shape(settingFields),
  define(command, cli, run = runConfigGet): void {
    command
      .argument("<key>", "the setting, such as public_url")
      .action((key: string) => run(cli, { key }));
  },
} satisfies CommandModule;

/** Prints one setting. @throws CliError `not_found` for an unknown setting */
async function runConfigGet(cli: CliContext, { key }: ConfigGetOptions): Promise<void> {
  const { readAllSettings } = await import("../profile/settings.ts");
  const { values } = readAllSettings(cli.system, cli.flags, {});
  const found = values.find((value) => value.key === key);
  if (found === undefined) {
    const near = suggest(
      key,
      values.map((value) => value.key),
    );
    throw new CliError("not_found", `there is no setting ${JSON.stringify(key)}${near}`, {
      hint: '"croft config list" shows all of them',
    });
  }
  await cli.output.resource(found, settingColumns);
}

export interface ConfigSetOptions {
  readonly key: string;
  /** Undefined removes the line from the file. */
  readonly value: string | undefined;
}

export const setConfig = {
  operations: [],
  completions: { key: "settings" },
  output: shape({ key: "string", value: {}, path: "string" }),
  writes: true,
  define(command, cli, run = runConfigSet): void {
    command
      .argument("<key>", "the setting, such as public_url")
      .argument("[value]", "its value; secrets are better given with --stdin")
      .option("--unset", "remove the setting from the file")
      .option("--stdin", "read the value from standard input")
      .action(async (key: string, value: string | undefined, flags: ConfigSetFlags) => {
        const { toSettingValue } = await import("../profile/edit-config.ts");
        await run(cli, { key, value: await toSettingValue(cli, key, value, flags) });
      });
  },
} satisfies CommandModule;

export const unsetConfig = {
  operations: [],
  completions: { key: "settings" },
  output: shape({ key: "string", value: {}, path: "string" }),
  writes: true,
  define(command, cli, run = runConfigSet): void {
    command
      .argument("<key>", "the setting, such as public_url")
      .action((key: string) => run(cli, { key, value: undefined }));
  },
} satisfies CommandModule;

interface ConfigSetFlags {
  readonly unset?: true;
  readonly stdin?: true;
}

/**
 * Changes one line of the config file and preserves the rest, with its comments. Writes nothing if the result would
 * be invalid. @throws CliError `invalid_config`
 */
async function runConfigSet(cli: CliContext, { key, value }: ConfigSetOptions): Promise<void> {
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

const showConfigPath = {
  operations: [],
  output: shape({
    home: "string?",
    config_file: "string",
    config: "string",
    data: "string",
    state: "string",
    cache: "string",
  }),
  define(command, cli, run = runConfigPath): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the absolute paths of croft's folders and its config file, whether they exist or not. */
async function runConfigPath(cli: CliContext): Promise<void> {
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
}
