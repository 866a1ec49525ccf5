import type { CliContext } from "../context.ts";
import { CliError, DryRun, usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { type FieldType, shape, shapeList } from "../output/spec.ts";
import { defaultProfile, isProfileName, type Profile } from "../profile/profiles.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const profileFields: Readonly<Record<keyof ShownProfile, FieldType>> = {
  name: "string",
  in_use: "boolean",
  url: "string?",
  credential_store: "string?",
  forge_username: "string?",
  vault_email: "string?",
};

export const entries: readonly Entry[] = [
  command("list", "List the profiles", {
    aliases: ["ls"],
    output: shapeList(profileFields),
    examples: [
      ["List the profiles", "croft profile list"],
      ["Print their names", "croft profile list --jq '.[].name'"],
    ],
    /** Prints the profiles. The default profile always exists. */
    async run(cli) {
      const { current, profiles } = await cli.profiles.read();
      const named = Object.entries(profiles).map(([name, profile]) =>
        toShownProfile(name, profile, current),
      );
      const all =
        defaultProfile in profiles
          ? named
          : [toShownProfile(defaultProfile, undefined, current), ...named];
      await cli.output.list(wholeList(all), profileColumns);
    },
  }),
  command("add", "Add a profile for another daemon or account", {
    args: { "<name>": "a name for the profile" },
    flags: { ...ifAbsentFlag, "--use": "make it the default profile" },
    output: shape(profileFields),
    writes: true,
    examples: [
      [
        "Add a profile for another daemon",
        "croft profile add work --url https://croft.example.org",
      ],
      [
        "Add it and use it from here on",
        "croft profile add work --url https://croft.example.org --use",
      ],
      [
        "In a script that may run again",
        "croft profile add work --url https://croft.example.org --if-absent",
      ],
    ],
    /**
     * Adds a profile. Without `--url` the profile uses the daemon of this machine. @throws CliError `conflict` when it exists
     */
    async run(cli, { name, use = false, ifAbsent }) {
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
      if (use && !cli.flags.dryRun)
        await cli.profiles.update((file) => ({ ...file, current: name }));
      const { current } = await cli.profiles.read();
      await cli.output.resource(toShownProfile(name, profile, current), profileColumns);
    },
  }),
  command("use", "Make a profile the default", {
    args: { "<name>": "the profile" },
    output: shape(profileFields),
    writes: true,
    completions: { name: "profiles" },
    examples: [
      ["Use a profile", "croft profile use default"],
      ["Go back to it from a script", "croft profile use default --quiet"],
    ],
    /** Makes a profile the one that commands use. @throws CliError `not_found` */
    async run(cli, { name }) {
      const { profiles } = await cli.profiles.read();
      const profile = profiles[name];
      if (profile === undefined && name !== defaultProfile)
        throw new CliError("not_found", `there is no profile ${JSON.stringify(name)}`, {
          hint: '"croft profile list" shows them',
        });
      if (cli.flags.dryRun) throw new DryRun({ use: { name } });
      await cli.profiles.update((file) => ({ ...file, current: name }));
      await cli.output.resource(toShownProfile(name, profile, name), profileColumns);
    },
  }),
  command("remove", "Remove a profile and its credentials", {
    aliases: ["rm"],
    args: { "<name>": "the profile" },
    output: shape({ removed: "boolean", name: "string" }),
    writes: true,
    destructive: true,
    completions: { name: "profiles" },
    examples: [
      ["Remove a profile and its credentials", "croft profile remove default --yes"],
      ["Show what would be removed", "croft profile remove default --dry-run"],
    ],
    /** Removes a profile with its credentials; sessions at the daemon stay valid (see `croft logout`). */
    async run(cli, { name }) {
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
    },
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
