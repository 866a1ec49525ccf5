import { readFileSync } from "node:fs";
import { parse } from "yaml";
import {
  resolvePaths,
  resolveSettings,
  SettingsError,
} from "../../daemon/contract/resolve-settings.ts";
import type { SettingName } from "../../daemon/contract/settings.ts";
import { CliError } from "../errors.ts";
import type { CommonFlags } from "../flags.ts";
import { type ConfigSystem, readTextFile, toSurroundings } from "./config.ts";

/** Flags of one command by the name of the setting they give. */
export type SettingFlags = Readonly<Partial<Record<SettingName, unknown>>>;

/**
 * Every setting with where it came from. `more` are the flags that only some commands have, such as `--port`;
 * `fileText` stands for a config file that is not written yet.
 * @throws CliError `invalid_config`, one line for each mistake.
 */
export function readAllSettings(
  system: ConfigSystem,
  flags: CommonFlags,
  more: SettingFlags,
  fileText?: string,
): ReturnType<typeof resolveSettings> {
  const { home, config, url, profile, credentialStore } = flags;
  const input = {
    ...toSurroundings(system),
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
  try {
    const { configFile } = resolvePaths(input);
    return resolveSettings({
      ...input,
      filePath: configFile,
      fileText: fileText ?? readTextFile(configFile),
      parseFile: (text) => parse(text) as unknown,
    });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new CliError("invalid_config", error.message, {
      hint: 'see "croft config list" for what there is, "croft config path" for the file',
      cause: error,
    });
  }
}
