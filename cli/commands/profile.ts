import type { CliContext } from "../context.ts";
import { CliError, DryRun, usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { type FieldType, shape, shapeList } from "../output/spec.ts";
import { defaultProfile, isProfileName, type Profile } from "../profile/profiles.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the profiles", () => listProfiles, { aliases: ["ls"] }),
  verb("add", "Add a profile for another daemon or account", () => addProfile),
  verb("use", "Make a profile the default", () => useProfile),
  verb("remove", "Remove a profile and its credentials", () => removeProfile, {
    aliases: ["rm"],
  }),
];

/** A profile in the output. */
interface ShownProfile {
  readonly name: string;
  readonly in_use: boolean;
  /** Null: the daemon of this machine. */
  readonly url: string | null;
  readonly credential_store: string | null;
  readonly forge_username: string | null;
  readonly vault_email: string | null;
}

const profileFields: Readonly<Record<keyof ShownProfile, FieldType>> = {
  name: "string",
  in_use: "boolean",
  url: "string?",
  credential_store: "string?",
  forge_username: "string?",
  vault_email: "string?",
};

function toShownProfile(name: string, profile: Profile | undefined, current: string): ShownProfile {
  return {
    name,
    in_use: name === current,
    url: profile?.url ?? null,
    credential_store: profile?.store ?? null,
    forge_username: profile?.forge?.username ?? null,
    vault_email: profile?.vault?.email ?? null,
  };
}

const profileColumns: readonly Column<ShownProfile>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "in use", cell: (profile) => profile.in_use },
  { header: "url", cell: ({ url }) => url },
  { header: "forge", cell: (profile) => profile.forge_username },
  { header: "vault", cell: (profile) => profile.vault_email },
  { header: "store", cell: (profile) => profile.credential_store },
];

const listProfiles = {
  operations: [],
  output: shapeList(profileFields),
  define(command, cli, run = runProfileList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the profiles. The default profile always exists. */
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

/** The options of the command; the daemon's address is `--url`. */
export interface ProfileAddOptions {
  readonly name: string;
  readonly use: boolean;
  readonly ifAbsent?: true;
}

export const addProfile = {
  operations: [],
  output: shape(profileFields),
  writes: true,
  define(command, cli, run = runProfileAdd): void {
    addIfAbsentFlag(command)
      .argument("<name>", "a name for the profile")
      .option("--use", "make it the default profile")
      .action((name: string, { use, ...flags }: { readonly use?: true } & IfAbsentFlag) =>
        run(cli, { name, use: use === true, ...flags }),
      );
  },
} satisfies CommandModule;

/**
 * Adds a profile. Without `--url` the profile uses the daemon of this machine. @throws CliError `conflict` when it exists
 */
async function runProfileAdd(
  cli: CliContext,
  { name, use, ifAbsent }: ProfileAddOptions,
): Promise<void> {
  if (!isProfileName(name))
    throw usageError(
      `${JSON.stringify(name)} cannot be the name of a profile`,
      "letters, digits, . _ and -",
    );
  const config = await cli.config();
  const url = (config.urlSource === "flag" ? config.url : undefined) ?? null;
  const find = async () => (await cli.profiles.read()).profiles[name];
  const { value: profile } = await createIfAbsent(cli, {
    ifAbsent,
    title: `the profile ${JSON.stringify(name)}`,
    find,
    async create() {
      if ((await find()) !== undefined) throw alreadyThere(name);
      if (cli.flags.dryRun) throw new DryRun({ add: { name, url, use } });
      return addNew(cli, name, url);
    },
    settings: (existing) => [
      { flag: "--url", requested: url ?? undefined, existing: existing.url },
    ],
  });
  if (use && !cli.flags.dryRun) await cli.profiles.update((file) => ({ ...file, current: name }));
  const { current } = await cli.profiles.read();
  await cli.output.resource(toShownProfile(name, profile, current), profileColumns);
}

/** Adds a profile in one change of the file. @throws CliError `conflict` when another process has added it meanwhile */
async function addNew(cli: CliContext, name: string, url: string | null): Promise<Profile> {
  const made = cli.profiles.newProfile(url);
  await cli.profiles.update((file) => {
    if (file.profiles[name] !== undefined) throw alreadyThere(name);
    return { ...file, profiles: { ...file.profiles, [name]: made } };
  });
  return made;
}

function alreadyThere(name: string): CliError {
  return new CliError("conflict", `there is a profile ${JSON.stringify(name)} already`);
}

export interface ProfileUseOptions {
  readonly name: string;
}

export const useProfile = {
  operations: [],
  output: shape(profileFields),
  writes: true,
  completions: { name: "profiles" },
  define(command, cli, run = runProfileUse): void {
    command.argument("<name>", "the profile").action((name: string) => run(cli, { name }));
  },
} satisfies CommandModule;

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

interface ProfileRemoveOptions {
  readonly name: string;
}

const removeProfile = {
  operations: [],
  output: shape({ removed: "boolean", name: "string" }),
  writes: true,
  destructive: true,
  completions: { name: "profiles" },
  define(command, cli, run = runProfileRemove): void {
    command.argument("<name>", "the profile").action((name: string) => run(cli, { name }));
  },
} satisfies CommandModule;

/** Removes a profile with its credentials; sessions at the daemon stay valid (see `croft logout`). */
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
