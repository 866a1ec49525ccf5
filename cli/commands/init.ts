import { describeStrengthRules, findWeakness } from "../../daemon/contract/password-rules.ts";
import { forge, vault } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun, toCliError } from "../errors.ts";
import { shape, toObjectSchema } from "../output/spec.ts";
import { toDaemonFailure } from "../support/daemon-failures.ts";
import { readNewSecret } from "../support/secrets.ts";
import { version } from "../version.ts";
import { commandDetails } from "../tree/command.ts";

export const init = commandDetails({
  flags: {
    "--username <name>": "name of the administrator of forge and vault",
    "--email <address>": "the administrator's e-mail address",
    "--password-stdin": "read the administrator's password from standard input",
  },
  output: shape({
    home: "string",
    forge: toObjectSchema({ username: "string", token: "string" }),
    vault: toObjectSchema({ handle: "string", email: "string" }),
  }),
  writes: true,
  takesValuesOf: [vault.register, forge.createUser],
  prompted: ["--username", "--email", "--password-stdin"],
  examples: [
    [
      "Initialise a home with a password from a file",
      "croft init --username keeper --email keeper@example.org --password-stdin < password.txt",
    ],
    [
      "Initialise a home in another folder",
      "croft init --home other --username otto --email otto@example.org --password-stdin < password.txt",
    ],
  ],
  /**
   * Creates a home: data directory, master key, and the administrators of forge and vault. Stores the forge token for
   * the profile in use. @throws CliError `already_initialised`; nothing is changed then
   */
  async run(cli, { passwordStdin, ...rest }) {
    const options = { ...rest, passwordFromInput: passwordStdin === true };

    const { readAllSettings } = await import("../profile/settings.ts");
    const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
    const username = options.username ?? (await cli.prompts.text("User name:", "--username"));
    const email = options.email ?? (await cli.prompts.text("E-mail address:", "--email"));
    if (cli.flags.dryRun)
      throw new DryRun({ initialise: { home: paths.dataDirectory, username, email } });
    const password = await readNewSecret(cli, {
      fromInput: options.passwordFromInput,
      question: "Password:",
      flag: "--password-stdin",
      rules: `${describeStrengthRules()}.`,
      findProblem: findWeakness,
    });
    const { initialise } = await import("../../daemon/main.ts");
    const { pid, userId, stderr, processMark } = cli.system;
    const made = await initialise(
      {
        settings,
        paths,
        version,
        clock: cli.clock,
        process: { pid, mark: processMark(pid), userId },
        logTo: stderr,
      },
      { username, email, password },
    ).catch((error: unknown) => {
      throw (
        toRefusedFlags(error) ??
        toDaemonFailure(error, { conflict: "already_initialised", invalid_argument: "invalid" })
      );
    });
    const isStored = await keepForgeToken(cli, made.forge);
    // A screen is seen and recorded by others; a pipe is how scripts get the token.
    const isHidden = isStored && cli.io.isOutputTerminal;
    await cli.output.resource(made, [
      { header: "home", cell: ({ home }) => home },
      { header: "forge user", cell: ({ forge }) => forge.username },
      { header: "forge token", cell: ({ forge }) => (isHidden ? STORED : forge.token) },
      { header: "vault user", cell: ({ vault }) => `${vault.handle} (${vault.email})` },
    ]);
    cli.io.note(
      '"croft daemon start" starts the daemon, "croft git setup" lets git use the forge, "croft vault register" makes an account for your own files: the vault\'s administrator has none.',
    );
  },
});

const flagOfValue: Readonly<Record<string, string>> = {
  username: "--username",
  email: "--email",
  password: "--password-stdin",
};

/** The refused values of an error of the daemon's own code, whose class would load the daemon. */
interface RefusedValues {
  readonly failures?: readonly {
    readonly loc: readonly (string | number)[];
    readonly msg: string;
  }[];
}

/** Returns the failure that names the flag of each refused value; undefined for another error. */
function toRefusedFlags(error: unknown): CliError | undefined {
  if (!(error instanceof Error) || error.name !== "AppError") return undefined;
  const { data } = error as Error & { readonly data?: RefusedValues };
  const problems = data?.failures?.map(
    ({ loc, msg }) => `${flagOfValue[String(loc.at(-1))] ?? String(loc.at(-1))}: ${msg}`,
  );
  return problems === undefined ? undefined : new CliError("invalid", problems.join("; "));
}

/** Takes the place of a token that later commands read from the credential store. */
export const STORED = "stored for your next commands";

/** Stores the forge token, and returns whether it is stored. The home exists already, so a failure is only a warning. */
export async function keepForgeToken(
  cli: CliContext,
  { username, token }: { readonly username: string; readonly token: string },
): Promise<boolean> {
  try {
    await cli.credentials.chooseStore(await cli.profiles.inUse());
    const profile = await cli.profiles.inUse();
    const { defaultUrl } = await cli.config();
    const url = profile.url ?? defaultUrl;
    await cli.credentials.write(profile, "forge", { token, token_id: null, is_first: true, url });
    await cli.profiles.updateProfile(profile.name, (one) => ({ ...one, forge: { username } }));
    return true;
  } catch (error) {
    cli.io.warn(`The forge token was not stored for later commands: ${toCliError(error).message}`);
    return false;
  }
}
