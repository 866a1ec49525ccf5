import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { defaultProfile } from "../../profile/profiles.ts";

export const operations = [] as const;
export const output = shape({ removed: "boolean", name: "string" });
export const writes = true;
export const destructive = true;
export const completions = { name: "profiles" } as const;

/** What the command was given. */
export interface ProfileRemoveOptions {
  readonly name: string;
}

export function define(command: Command, cli: CliContext, run = runProfileRemove): void {
  command.argument("<name>", "the profile").action((name: string) => run(cli, { name }));
}

/** Removes a profile with its credentials; sessions at the daemon go on (see `croft logout`). */
async function runProfileRemove(cli: CliContext, { name }: ProfileRemoveOptions): Promise<void> {
  const { profiles } = await cli.profiles.read();
  const profile = profiles[name];
  if (profile === undefined)
    throw new CliError("not_found", `there is no profile ${JSON.stringify(name)}`, {
      hint: '"croft profile list" shows them',
    });
  if (cli.flags.dryRun) throw new DryRun({ remove: { name } });
  await cli.prompts.confirm(`Remove the profile ${name} and its credentials?`);
  await cli.credentials.remove({ name, ...profile }, "forge");
  await cli.credentials.remove({ name, ...profile }, "vault");
  await cli.profiles.update(({ profiles: { [name]: _removed, ...rest }, ...file }) => ({
    ...file,
    profiles: rest,
    current: file.current === name ? defaultProfile : file.current,
  }));
  await cli.output.done({ removed: true, name }, `Removed the profile ${name}.`);
}
