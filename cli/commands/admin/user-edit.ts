import type { WireUser } from "../../../daemon/contract/forge/accounts/users.ts";
import { forge, type InputOf } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { readTrueOrFalse } from "../../support/flag-values.ts";
import { createIfAbsent, isSameName, ifAbsentFlag } from "../../support/if-absent.ts";
import { randomPassword, readNewSecret } from "../../support/secrets.ts";
import { userColumns } from "../../support/users.ts";
import { commandDetails } from "../../tree/command.ts";

export const createUser = commandDetails({
  flags: {
    ...ifAbsentFlag,
    "--username <name>": { help: "the user's name", required: true },
    "--email <address>": { help: "the user's e-mail address", required: true },
    "--full-name <name>": "the user's full name",
    "--password-stdin": "read the password from standard input",
    "--random-password": "generate a password and print it with the user",
    "--must-change-password": "the password must be changed at the first sign-in",
    "--no-must-change-password": "the password need not be changed",
    "--visibility <visibility>": "public, limited or private",
    "--restricted": "the user sees only explicitly shared objects",
  },
  calls: [forge.createUser, forge.getUser, forge.getOrganization],
  output: resourceOf(forge.createUser, 201, { password: "string" }),
  takesValuesOf: [forge.createUser],
  prompted: ["--password-stdin or --random-password"],
  examples: [
    [
      "Create a user with a random password",
      "croft admin user create --username mira --email mira@example.org --random-password",
    ],
    [
      "Create a user whose password may stay",
      "croft admin user create --username mira --email mira@example.org --password-stdin --no-must-change-password < password.txt",
    ],
    [
      "In a script that may run again",
      "croft admin user create --username mira --email mira@example.org --random-password --if-absent --json",
    ],
  ],
  /** Creates a user of the forge. A generated password is shown only here. */
  async run(cli, options) {
    const { username, passwordStdin, randomPassword: random } = options;
    if (passwordStdin === true && random === true)
      throw usageError("--password-stdin and --random-password exclude each other");
    const from = passwordStdin === true ? "input" : random === true ? "random" : "person";
    let shown: string | undefined;
    const { value } = await createIfAbsent<WireUser>(cli, {
      ifAbsent: options.ifAbsent,
      title: `the user ${username}`,
      find: () => findUser(cli, username),
      create: async () => {
        const password = await readFirstPassword(cli, from);
        const made = await cli.client.call(forge.createUser, {
          body: {
            username,
            email: options.email,
            password,
            full_name: options.fullName,
            must_change_password: options.mustChangePassword,
            visibility: options.visibility,
            restricted: options.restricted,
          },
        });
        if (from === "random") shown = password;
        return made.body;
      },
      settings: (existing) => [
        {
          flag: "--email",
          requested: options.email.toLowerCase(),
          existing: existing.email.toLowerCase(),
        },
        { flag: "--full-name", requested: options.fullName, existing: existing.full_name },
        { flag: "--visibility", requested: options.visibility, existing: existing.visibility },
        { flag: "--restricted", requested: options.restricted, existing: existing.restricted },
      ],
      editedBy: "croft admin user edit",
    });
    if (shown === undefined) return cli.output.resource(value, userColumns);
    const password = shown;
    await cli.output.resource({ ...value, password }, [
      ...userColumns,
      { header: "password", cell: () => password },
    ]);
  },
});

async function readFirstPassword(
  cli: CliContext,
  from: "input" | "random" | "person",
): Promise<string> {
  if (from === "random") return randomPassword(cli.system.random);
  return readNewSecret(cli, {
    fromInput: from === "input",
    question: "Password:",
    flag: "--password-stdin or --random-password",
  });
}

/**
 * Returns a user by the current name. A former name, which redirects, is free for a new user. An organization, which
 * the API shows like a user, does not count.
 */
async function findUser(cli: CliContext, username: string): Promise<WireUser | undefined> {
  const { body } = await cli.client.call(forge.getUser, { params: { username } });
  if (!isSameName(body.login, username)) return undefined;
  const { status } = await cli.client.call(
    forge.getOrganization,
    { params: { org: username } },
    { accept: (answer) => answer.status === 404 },
  );
  return status === 200 ? undefined : body;
}

/** The changed members; undefined members keep their values. */
type UserChanges = Omit<
  NonNullable<InputOf<typeof forge.editUser>["body"]>,
  "login_name" | "password"
> & { readonly login_name: string | undefined };

type UserEditFlags = Readonly<Record<string, string | true | undefined>>;

export const editUser = commandDetails({
  args: { "<username>": "the user's name" },
  flags: {
    "--email <address>": "the primary e-mail address",
    "--full-name <name>": "the full name; empty to clear it",
    "--website <url>": "the website; empty to clear it",
    "--location <text>": "the location; empty to clear it",
    "--description <text>": "the description; empty to clear it",
    "--visibility <visibility>": "public, limited or private",
    "--password-stdin": "read a new password from standard input",
    "--random-password": "generate a new password and print it with the user",
    "--must-change-password <true|false>": "change the password at the next sign-in",
    "--active <true|false>": "whether the account is active",
    "--admin <true|false>": "whether the user is a site administrator",
    "--restricted <true|false>": "whether the user sees only explicitly shared objects",
    "--prohibit-login <true|false>": "whether signing in is forbidden",
    "--allow-create-organization <true|false>": "whether the user may create organizations",
    "--allow-git-hook <true|false>": "whether the user may edit git hooks",
    "--allow-import-local <true|false>": "whether the user may import local repositories",
    "--max-repo-creation <number>": "limit of own repositories; -1 is the server's default",
    "--source-id <id>": "the login source",
    "--login-name <name>": "the name at the login source",
  },
  calls: [forge.editUser, forge.getUser, forge.getCurrentUser],
  output: resourceOf(forge.editUser, 200, { password: "string" }),
  destructive: true,
  examples: [
    ["Make a user an administrator", "croft admin user edit mira --admin true"],
    ["Forbid a user to sign in", "croft admin user edit mira --prohibit-login true"],
  ],
  /** Changes an account. A generated password is shown only here. */
  async run(cli, { username, ...flags }) {
    const { passwordStdin, randomPassword: random } = flags;
    if (passwordStdin === true && random === true)
      throw usageError("--password-stdin and --random-password exclude each other");
    const from = passwordStdin === true ? "input" : random === true ? "random" : undefined;
    const changes = toChanges(flags);
    if (from === undefined && Object.values(changes).every((value) => value === undefined))
      throw usageError("nothing to change", "give at least one flag of those that --help lists");
    await confirmOwnLockout(cli, username, changes);
    const password = await readPassword(cli, from);
    // The API overwrites the login name with every edit, so the current one is sent back.
    const loginName = changes.login_name ?? (await findLoginName(cli, username));
    const { body } = await cli.client.call(forge.editUser, {
      params: { username },
      body: { ...changes, login_name: loginName, password },
    });
    if (from !== "random" || password === undefined) return cli.output.resource(body, userColumns);
    await cli.output.resource({ ...body, password }, [
      ...userColumns,
      { header: "password", cell: () => password },
    ]);
  },
});

/** Asks before callers take away their own sign-in or rights: only another administrator can give these back. */
async function confirmOwnLockout(
  cli: CliContext,
  username: string,
  { active, admin, prohibit_login: prohibited }: UserChanges,
): Promise<void> {
  const loss =
    active === false
      ? "Deactivate"
      : prohibited === true
        ? "Prohibit signing in of"
        : admin === false
          ? "Take the administrator's rights of"
          : undefined;
  if (loss === undefined || cli.flags.dryRun) return;
  const { body } = await cli.client.call(forge.getCurrentUser, {});
  if (isSameName(body.login, username))
    await cli.prompts.confirm(
      `${loss} ${body.login}, your own account? Only another administrator can undo it.`,
    );
}

async function readPassword(
  cli: CliContext,
  from: "input" | "random" | undefined,
): Promise<string | undefined> {
  if (from === undefined) return undefined;
  if (from === "random") return randomPassword(cli.system.random);
  const flag = "--password-stdin or --random-password";
  return readNewSecret(cli, { fromInput: true, question: "New password:", flag });
}

/** Returns the name at the login source. The API refuses an empty one, so the default is the user's own name. */
export async function findLoginName(cli: CliContext, username: string): Promise<string> {
  const { body } = await cli.client.call(forge.getUser, { params: { username } });
  return body.login_name === "" ? body.login : body.login_name;
}

function toChanges(flags: UserEditFlags): UserChanges {
  const text = (name: string) => {
    const value = flags[name];
    return value === true ? undefined : value;
  };
  const choice = (name: string, flag: string) => readTrueOrFalse(flag, text(name));
  return {
    email: text("email"),
    full_name: text("fullName"),
    website: text("website"),
    location: text("location"),
    description: text("description"),
    visibility: text("visibility"),
    must_change_password: choice("mustChangePassword", "--must-change-password"),
    active: choice("active", "--active"),
    admin: choice("admin", "--admin"),
    restricted: choice("restricted", "--restricted"),
    prohibit_login: choice("prohibitLogin", "--prohibit-login"),
    allow_create_organization: choice("allowCreateOrganization", "--allow-create-organization"),
    allow_git_hook: choice("allowGitHook", "--allow-git-hook"),
    allow_import_local: choice("allowImportLocal", "--allow-import-local"),
    max_repo_creation: toNumber("--max-repo-creation", text("maxRepoCreation")),
    source_id: toNumber("--source-id", text("sourceId")),
    login_name: text("loginName"),
  };
}

function toNumber(flag: string, word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  if (!/^-?\d{1,15}$/.test(word))
    throw usageError(`${flag} takes a whole number, not ${JSON.stringify(word)}`);
  return Number(word);
}
