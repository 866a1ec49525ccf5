import { forge, vault } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { DryRun, usageError } from "../errors.ts";
import { wholeList } from "../output/pages.ts";
import { shape, shapeList } from "../output/spec.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import {
  findPerson,
  type KnownPerson,
  onlyFlag,
  personColumns,
  personFields,
  readPeople,
  second,
  toShownPerson,
} from "../support/people.ts";
import { command } from "../tree/command.ts";
import type { Entry } from "../tree/entry.ts";

const nameArgument = { "<name>": "the person's name or e-mail address, on either side" } as const;

export const entries: readonly Entry[] = [
  command("list", "List people with their accounts of forge and vault", {
    aliases: ["ls"],
    flags: onlyFlag,
    calls: [forge.listUsers, vault.listUsers],
    output: shapeList(personFields),
    examples: [
      ["List everybody", "croft people list"],
      [
        "Find people with an account on one side only",
        "croft people list --jq '.[] | select(.matched_by == null) | .name'",
      ],
    ],
    /** Prints the accounts of both APIs, matched by e-mail address and then by name. */
    async run(cli, { only }) {
      const people = await readPeople(cli, only);
      await cli.output.list(wholeList(people.map(toShownPerson)), personColumns);
    },
  }),
  command(
    "add",
    "Invite a person to forge and vault",
    async () => (await import("./people-add.ts")).addPerson,
  ),
  command("edit", "Edit both accounts of a person", {
    args: nameArgument,
    flags: {
      "--rename <name>": "another user name, the same on both sides",
      "--email <address>": "the e-mail address",
      "--full-name <name>": "the full name, which only the forge knows; empty to clear it",
      "--admin <true|false>": "whether the person is an administrator",
      "--active <true|false>": "whether the person may sign in",
      ...onlyFlag,
    },
    calls: [
      forge.listUsers,
      vault.listUsers,
      vault.editUser,
      vault.setUserStatus,
      forge.editUser,
      forge.renameUser,
    ],
    output: shape(personFields),
    destructive: true,
    examples: [
      ["Change the address on both sides", "croft people edit mira --email mira@example.org"],
      ["Keep a person from signing in", "croft people edit mira --active false --yes"],
      [
        "Make a person an administrator of the forge",
        "croft people edit mira --admin true --only forge",
      ],
    ],
    /** Changes the account of the vault, then that of the forge. A call that failed between them can be repeated. */
    async run(cli, { name, only, ...flags }) {
      const changes: Changes = {
        name: flags.rename,
        email: flags.email,
        fullName: flags.fullName,
        isAdmin: readTrueOrFalse("--admin", flags.admin),
        isActive: readTrueOrFalse("--active", flags.active),
      };
      if (Object.values(changes).every((value) => value === undefined))
        throw usageError("nothing to change", "give at least one flag of those that --help lists");
      const person = await findPerson(cli, name, only);
      if (cli.flags.dryRun) throw new DryRun({ edit: { person: person.name, ...changes } });
      await confirmLoss(cli, person, changes);
      const edited = await editSides(cli, person, changes);
      await cli.output.resource(toShownPerson(edited), personColumns);
    },
  }),
  command("remove", "Delete both accounts of a person", {
    aliases: ["rm"],
    args: nameArgument,
    flags: {
      "--purge":
        "also delete the person's repositories, packages and organizations; without it, a forge account that owns any stays",
      ...onlyFlag,
    },
    calls: [
      forge.listUsers,
      vault.listUsers,
      forge.listUserRepositories,
      vault.viewUserQuota,
      forge.deleteUser,
      vault.deleteUser,
    ],
    output: shape({ removed: "boolean", name: "string", forge: "boolean", vault: "boolean" }),
    destructive: true,
    examples: [
      ["Delete both accounts", "croft people remove mira --confirm mira"],
      [
        "Delete them with everything that the person owns",
        "croft people remove mira --purge --confirm mira",
      ],
      ["Delete the account of the vault", "croft people remove mira --only vault --confirm mira"],
    ],
    /** Deletes the account of the forge, then that of the vault. A call that failed between them can be repeated. */
    async run(cli, { name, purge = false, only }) {
      const person = await findPerson(cli, name, only);
      const { forge: user, vault: account } = person;
      const lost = await describeLoss(cli, person, purge);
      if (cli.flags.dryRun) throw new DryRun({ remove: { person: person.name, lost } });
      for (const line of lost) cli.io.note(line);
      await cli.prompts.confirm(`Remove ${person.name}?`, person.name);
      if (user !== undefined)
        await cli.client.call(forge.deleteUser, {
          params: { username: user.login },
          query: { purge },
        });
      if (account !== undefined)
        await second(
          user === undefined
            ? undefined
            : "the forge account was removed, that of the vault was not",
          () => cli.client.call(vault.deleteUser, { params: { id: account.id } }),
        );
      await cli.output.done(
        {
          removed: true,
          name: person.name,
          forge: user !== undefined,
          vault: account !== undefined,
        },
        `Removed ${person.name}.`,
      );
    },
  }),
];

interface Changes {
  readonly name: string | undefined;
  readonly email: string | undefined;
  readonly fullName: string | undefined;
  readonly isAdmin: boolean | undefined;
  readonly isActive: boolean | undefined;
}

async function confirmLoss(
  cli: CliContext,
  { name }: KnownPerson,
  { isAdmin, isActive }: Changes,
): Promise<void> {
  if (isActive === false)
    await cli.prompts.confirm(
      `Deactivate ${name}? All sessions end, and the tokens of the vault are deleted.`,
    );
  else if (isAdmin === false)
    await cli.prompts.confirm(`Take the administrator's rights of ${name}?`);
}

/** The vault comes first: its rules refuse more than those of the forge. */
async function editSides(
  cli: CliContext,
  person: KnownPerson,
  changes: Changes,
): Promise<KnownPerson> {
  const { forge: user, vault: account } = person;
  const editedAccount = account && (await editVaultSide(cli, account, changes));
  const editedUser =
    user &&
    (await second(
      account === undefined
        ? undefined
        : "the vault account was changed, that of the forge was not",
      () => editForgeSide(cli, user, changes),
    ));
  const name = editedUser?.login ?? editedAccount?.handle ?? person.name;
  return { ...person, name, forge: editedUser, vault: editedAccount };
}

async function editVaultSide(
  cli: CliContext,
  { id, ...account }: NonNullable<KnownPerson["vault"]>,
  { name, email, isAdmin, isActive }: Changes,
): Promise<NonNullable<KnownPerson["vault"]>> {
  let edited = { id, ...account };
  const params = { id };
  if (isActive !== undefined)
    edited = (await cli.client.call(vault.setUserStatus, { params, body: { is_active: isActive } }))
      .body;
  const role = isAdmin === undefined ? undefined : isAdmin ? "admin" : "user";
  if (name !== undefined || email !== undefined || role !== undefined)
    edited = (
      await cli.client.call(vault.editUser, { params, body: { handle: name, email, role } })
    ).body;
  return edited;
}

async function editForgeSide(
  cli: CliContext,
  user: NonNullable<KnownPerson["forge"]>,
  { name, email, fullName, isAdmin, isActive }: Changes,
): Promise<NonNullable<KnownPerson["forge"]>> {
  const { body: edited } = await cli.client.call(forge.editUser, {
    params: { username: user.login },
    body: {
      // The API overwrites the login name with every edit, so the current one is sent back.
      login_name: user.login_name === "" ? user.login : user.login_name,
      email,
      full_name: fullName,
      admin: isAdmin,
      active: isActive,
      prohibit_login: isActive === true ? false : undefined,
    },
  });
  if (name === undefined || name === user.login) return edited;
  await cli.client.call(forge.renameUser, {
    params: { username: user.login },
    body: { new_username: name },
  });
  return { ...edited, login: name };
}

/** What a removal deletes, a line for each side. */
async function describeLoss(
  cli: CliContext,
  { forge: user, vault: account }: KnownPerson,
  purge: boolean,
): Promise<string[]> {
  const lines: string[] = [];
  if (user !== undefined) {
    const { headers } = await cli.client.call(forge.listUserRepositories, {
      params: { username: user.login },
      query: { limit: 1 },
    });
    const count = Number(headers["x-total-count"] ?? 0);
    const owned = count === 1 ? "1 repository" : `${count} repositories`;
    lines.push(
      purge
        ? `Forge account ${user.login}: deleted with its ${owned}, packages, comments and organizations without another owner.`
        : `Forge account ${user.login}: deleted with its tokens and keys. It owns ${owned}; it stays if it owns anything.`,
    );
  }
  if (account !== undefined) {
    const { body } = await cli.client.call(vault.viewUserQuota, { params: { id: account.id } });
    lines.push(
      `Vault account ${account.handle}: deleted with its documents (${body.used_bytes} bytes), connections and sessions. Files of connected storage and audit records stay.`,
    );
  }
  return lines;
}
