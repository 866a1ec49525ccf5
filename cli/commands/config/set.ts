import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { DryRun } from "../../errors.ts";
import { shape } from "../../output/spec.ts";

export const operations = [] as const;
export const completions = { key: "settings" } as const;
export const output = shape({ key: "string", value: {}, path: "string" });
export const writes = true;

/** What the command was given. */
export interface ConfigSetOptions {
  readonly key: string;
  /** Undefined takes the line out of the file. */
  readonly value: string | undefined;
}

export function define(command: Command, cli: CliContext, run = runConfigSet): void {
  command
    .argument("<key>", "the setting, such as public_url")
    .argument("[value]", "its value; secrets are better given with --stdin")
    .option("--unset", "take the setting out of the file")
    .option("--stdin", "read the value from standard input")
    .action(async (key: string, value: string | undefined, flags: ConfigSetFlags) => {
      const { toSettingValue } = await import("./edit-config.ts");
      await run(cli, { key, value: await toSettingValue(cli, key, value, flags) });
    });
}

interface ConfigSetFlags {
  readonly unset?: true;
  readonly stdin?: true;
}

/**
 * Changes one line of the config file and leaves the rest, comments too, as it is. Nothing is written when the file
 * could not be used afterwards. @throws CliError `invalid_config`
 */
async function runConfigSet(cli: CliContext, { key, value }: ConfigSetOptions): Promise<void> {
  const { editConfig } = await import("./edit-config.ts");
  const { readPaths } = await import("../../profile/settings.ts");
  const { configFile } = readPaths(cli.system, cli.flags);
  const { text, printed } = editConfig(cli, configFile, key, value);
  const what = { key, value: printed, path: configFile };
  if (cli.flags.dryRun) throw new DryRun({ set: what });
  const { writePrivateFile } = await import("../../profile/write-private-file.ts");
  await writePrivateFile(configFile, text);
  const sentence =
    value === undefined ? `Took ${key} out of ${configFile}.` : `Set ${key} in ${configFile}.`;
  await cli.output.done(what, sentence);
}
