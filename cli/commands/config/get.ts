import type { Command } from "commander";
import { suggest } from "../../../daemon/settings/suggest.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { settingColumns, settingFields } from "./list.ts";

export const operations = [] as const;
export const completions = { key: "settings" } as const;
export const output = shape(settingFields);

/** What the command was given. */
export interface ConfigGetOptions {
  readonly key: string;
}

export function define(command: Command, cli: CliContext, run = runConfigGet): void {
  command
    .argument("<key>", "the setting, such as public_url")
    .action((key: string) => run(cli, { key }));
}

/** Prints one setting. @throws CliError `not_found` for a key that is no setting */
async function runConfigGet(cli: CliContext, { key }: ConfigGetOptions): Promise<void> {
  const { readAllSettings } = await import("../../profile/settings.ts");
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
