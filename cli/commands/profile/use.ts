import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { defaultProfile } from "../../profile/profiles.ts";
import { profileColumns, profileFields, toShownProfile } from "./shown-profile.ts";

export const operations = [] as const;
export const output = shape(profileFields);
export const writes = true;
export const completions = { name: "profiles" } as const;

/** What the command was given. */
export interface ProfileUseOptions {
  readonly name: string;
}

export function define(command: Command, cli: CliContext, run = runProfileUse): void {
  command.argument("<name>", "the profile").action((name: string) => run(cli, { name }));
}

/** Makes a profile the one that commands use. @throws CliError `not_found` */
async function runProfileUse(cli: CliContext, { name }: ProfileUseOptions): Promise<void> {
  const { profiles } = await cli.profiles.read();
  const profile = profiles[name];
  if (profile === undefined && name !== defaultProfile)
    throw new CliError("not_found", `there is no profile ${JSON.stringify(name)}`, {
      hint: '"croft profile list" shows them',
    });
  if (cli.flags.dryRun) throw new DryRun({ use: { name } });
  await cli.profiles.update((file) => ({ ...file, current: name }));
  await cli.output.resource(toShownProfile(name, profile, name), profileColumns);
}
