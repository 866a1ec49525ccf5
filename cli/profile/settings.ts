import { readFileSync } from "node:fs";
import { parse } from "yaml";
import {
  findUnknownVariables,
  resolvePaths,
  resolveSettings,
  SettingsError,
} from "../../daemon/settings/resolve.ts";
import type { SettingPaths } from "../../daemon/settings/paths.ts";
import type { SettingName } from "../../daemon/settings/settings.ts";
import { CliError } from "../errors.ts";
import type { CommonFlags } from "../flags.ts";
import { isSet } from "../io.ts";
import { type ConfigSystem, readTextFile, toPathEnvironment } from "./config-file.ts";

/** Flags of one command by the name of the setting they give. */
export type SettingFlags = Readonly<Partial<Record<SettingName, unknown>>>;

/** @throws CliError `invalid_config` for each `CROFT_` variable that nothing reads: the daemon would run without it. */
export function assertKnownVariables({ env }: Pick<ConfigSystem, "env">): void {
  const problems = findUnknownVariables(env);
  if (problems.length === 0) return;
  orInvalid(() => {
    throw new SettingsError(problems);
  });
}

/**
 * Resolves every setting with its source. `more` are the flags that only some commands have, such as `--port`; `fileText`
 * replaces the text of the config file.
 * @throws CliError `invalid_config`, one line for each mistake, or when the config file that was named is not there.
 */
export function readAllSettings(
  system: ConfigSystem,
  flags: CommonFlags,
  more: SettingFlags,
  fileText?: string,
): ReturnType<typeof resolveSettings> {
  const input = toInput(system, flags, more);
  return orInvalid(() => {
    const { configFile } = resolvePaths(input);
    const text = fileText ?? readTextFile(configFile);
    if (text === undefined && isChosen(system, flags))
      throw new CliError("invalid_config", `there is no config file ${configFile}`, {
        hint: "make it, or leave out --config and CROFT_CONFIG for the usual place",
      });
    if (text !== undefined && text.length > largestConfig)
      throw new CliError("invalid_config", `${configFile} is too large for a config file`, {
        hint: "name the right file with --config or CROFT_CONFIG",
      });
    return resolveSettings({
      ...input,
      filePath: configFile,
      fileText: text,
      parseFile: parseConfig,
    });
  });
}

/** Resolves the folders and the path of the config file, which need not exist. @throws CliError `invalid_config` */
export function readPaths(system: ConfigSystem, flags: CommonFlags): SettingPaths {
  return orInvalid(() => resolvePaths(toInput(system, flags, {})));
}

function toInput(system: ConfigSystem, flags: CommonFlags, more: SettingFlags) {
  const { home, config, url, profile, credentialStore } = flags;
  const unknown = new Set(findUnknownVariables(system.env).map(({ key }) => key));
  const env = Object.fromEntries(Object.entries(system.env).filter(([name]) => !unknown.has(name)));
  return {
    ...toPathEnvironment(system),
    // The program warns of unknown variables; a misspelled one must not stop commands that do not need it.
    env,
    flags: {
      ...more,
      home,
      config,
      url,
      profile,
      credentialStore,
      noInput: flags.input ? undefined : true,
    },
    readFile: (path: string) => readFileSync(path, "utf8"),
  };
}

function orInvalid<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const isOfFile = error.problems.some(({ origin }) => !/^(?:--|CROFT_)/.test(origin));
    throw new CliError("invalid_config", error.message, {
      hint: isOfFile
        ? 'correct or remove it ("croft config path" names the file); then "croft config list" shows all settings'
        : 'correct or remove it; then "croft config list" shows all settings',
      cause: error,
    });
  }
}

/** Whether the config file was named explicitly; the default one need not exist. */
function isChosen({ env }: ConfigSystem, { config }: CommonFlags): boolean {
  return config !== undefined || isSet(env["CROFT_CONFIG"]) || isSet(env["CROFT_CONFIG_FILE"]);
}

/** Far more than all settings need. */
const largestConfig = 1024 * 1024;

function parseConfig(text: string): unknown {
  try {
    // The parser would print warnings with their values to standard error.
    return parse(text, { logLevel: "error" }) as unknown;
  } catch (error) {
    throw new Error(toYamlReason(error as Error), { cause: error });
  }
}

/** Returns a YAML error with its position on one line, without source excerpt and values. */
export function toYamlReason({ message }: Error): string {
  if (message.includes("multiple documents")) return "it holds more than one document";
  return (message.split(":\n", 1)[0] ?? message).replace(/^(Unresolved alias[^:]*):.*/s, "$1");
}
