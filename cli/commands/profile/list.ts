import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { wholeList } from "../../output/pages.ts";
import { shapeList } from "../../output/spec.ts";
import { defaultProfile } from "../../profile/profiles.ts";
import { profileColumns, profileFields, toShownProfile } from "./shown-profile.ts";

export const operations = [] as const;
export const output = shapeList(profileFields);

export function define(command: Command, cli: CliContext, run = runProfileList): void {
  command.action(() => run(cli));
}

/** Prints the profiles. The default one is always there. */
async function runProfileList(cli: CliContext): Promise<void> {
  const { current, profiles } = await cli.profiles.read();
  const named = Object.entries(profiles).map(([name, profile]) =>
    toShownProfile(name, profile, current),
  );
  const all =
    defaultProfile in profiles
      ? named
      : [toShownProfile(defaultProfile, undefined, current), ...named];
  await cli.output.list(wholeList(all), profileColumns);
}
