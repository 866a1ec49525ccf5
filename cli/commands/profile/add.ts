import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { isProfileName } from "../../profile/profiles.ts";
import { profileColumns, profileFields, toShownProfile } from "./shown-profile.ts";

export const operations = [] as const;
export const output = shape(profileFields);
export const writes = true;

/** What the command was given; the daemon's address is `--url`. */
export interface ProfileAddOptions {
  readonly name: string;
  readonly use: boolean;
}

export function define(command: Command, cli: CliContext, run = runProfileAdd): void {
  command
    .argument("<name>", "a name for the profile")
    .option("--use", "use it from here on")
    .action((name: string, flags: { readonly use?: true }) =>
      run(cli, { name, use: flags.use === true }),
    );
}

/** Adds a profile. Without `--url` it is for the daemon of this machine. @throws CliError `conflict` when it exists */
async function runProfileAdd(cli: CliContext, { name, use }: ProfileAddOptions): Promise<void> {
  if (!isProfileName(name))
    throw usageError(
      `${JSON.stringify(name)} cannot be the name of a profile`,
      "letters, digits, . _ and -",
    );
  const { profiles } = await cli.profiles.read();
  if (name in profiles)
    throw new CliError("conflict", `there is a profile ${JSON.stringify(name)} already`);
  const config = await cli.config();
  const url = (config.urlSource === "flag" ? config.url : undefined) ?? null;
  if (cli.flags.dryRun) throw new DryRun({ add: { name, url, use } });
  const added = await cli.profiles.updateProfile(name, (profile) => ({ ...profile, url }));
  if (use) await cli.profiles.update((file) => ({ ...file, current: name }));
  const { current } = await cli.profiles.read();
  await cli.output.resource(toShownProfile(name, added, current), profileColumns);
}
