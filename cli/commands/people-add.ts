import type { AnswerOf } from "../../daemon/contract/endpoint.ts";
import { forge, type Operation, vault } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { shape, type FieldType } from "../output/spec.ts";
import { isSameName } from "../support/if-absent.ts";
import {
  type KnownPerson,
  onlyFlag,
  readPeople,
  second,
  type Side,
  toSides,
} from "../support/people.ts";
import { commandDetails } from "../tree/command.ts";

/** What happened on one side: `kept` is an account whose owner has a password already. */
type SideOutcome = "created" | "invited again" | "kept";

interface Added {
  readonly name: string;
  readonly email: string;
  readonly forge: SideOutcome | null;
  readonly vault: SideOutcome | null;
  /** Null when the link was mailed. */
  readonly link: string | null;
  readonly mailed: boolean;
  /** RFC 3339. */
  readonly expires_at: string;
}

const addedFields: Readonly<Record<keyof Added, FieldType>> = {
  name: "string",
  email: "string",
  forge: "string?",
  vault: "string?",
  link: "string?",
  mailed: "boolean",
  expires_at: "string",
};

export const addPerson = commandDetails({
  args: { "<name>": "the user name, the same on both sides" },
  flags: {
    "--email <address>": { help: "the person's e-mail address", required: true },
    "--full-name <name>": "the full name, which only the forge knows",
    "--admin": "an administrator; one of the vault has no documents",
    "--link": "print the link instead of mailing it",
    ...onlyFlag,
  },
  calls: [forge.listUsers, vault.listUsers, forge.invitePerson, vault.invitePerson],
  output: shape(addedFields),
  examples: [
    [
      "Invite a person; the link is mailed if a mail server is set up",
      "croft people add mira --email mira@example.org",
    ],
    [
      "Print the link, to hand it on",
      "croft people add mira --email mira@example.org --link --jq .link",
    ],
    [
      "Invite an administrator of the forge",
      "croft people add ada --email ada@example.org --admin --only forge",
    ],
  ],
  note: `The link opens a page on which the person chooses one password for both accounts. It works
for seven days. Repeat the command for another link.`,
  /** Makes accounts without a password and one link for both. Can be repeated until the person has chosen a password. */
  async run(cli, { name, email, only, link: asLink = false, ...rest }) {
    const sides = toSides(only);
    const existing = await assertFree(cli, { name, email }, sides);
    if (cli.flags.dryRun) throw new DryRun({ invite: { name, email, sides } });
    const person = { name, email, ...rest };
    const forgeSide = sides.includes("forge")
      ? await invite(cli, forge.invitePerson, toForgeBody(person), existing.forge)
      : undefined;
    const vaultSide = sides.includes("vault")
      ? await second(toDone(forgeSide), () =>
          invite(
            cli,
            vault.invitePerson,
            {
              handle: name,
              email,
              role: rest.admin === true ? "admin" : "user",
              notify: !asLink,
              forge_code: forgeSide?.made?.code,
            },
            existing.vault,
          ),
        )
      : undefined;
    let last = vaultSide?.made;
    // The forge mails its own link when the vault has none to mail it with.
    if (last === undefined && forgeSide?.made !== undefined)
      last = asLink
        ? forgeSide.made
        : (await invite(cli, forge.invitePerson, { ...toForgeBody(person), notify: true }, true))
            .made;
    if (last === undefined)
      throw new CliError("conflict", `${name} has a password already; nothing was changed`, {
        hint: `"croft vault admin user reset-password ${name}" mails a link for another one`,
      });
    const added: Added = {
      name,
      email,
      forge: forgeSide?.outcome ?? null,
      vault: vaultSide?.outcome ?? null,
      link: last.mailed ? null : last.link,
      mailed: last.mailed,
      expires_at: last.expires_at,
    };
    await cli.output.resource(added, addedColumns);
    if (!last.mailed && !asLink)
      cli.io.note("No mail server is set up (smtp_url): hand the link to the person yourself.");
  },
});

type Made = Extract<AnswerOf<InvitingEndpoint>, { readonly status: 201 }>["body"];
type InvitingEndpoint =
  | NonNullable<(typeof forge.invitePerson)["endpoint"]>
  | NonNullable<(typeof vault.invitePerson)["endpoint"]>;

interface Invited {
  readonly outcome: SideOutcome;
  /** Undefined for an account that was kept. */
  readonly made: Made | undefined;
}

/** Invites on one side. An account that the person has and that has a password is kept. */
async function invite<E extends InvitingEndpoint>(
  cli: CliContext,
  operation: Operation<E>,
  body: Readonly<Record<string, unknown>>,
  exists: boolean,
): Promise<Invited> {
  const answer: { readonly status: number; readonly body: unknown } = await cli.client.call(
    operation as Operation<never>,
    { body } as never,
    { accept: ({ status }) => exists && status === 409 },
  );
  if (answer.status === 409) return { outcome: "kept", made: undefined };
  const made = answer.body as Made;
  return { outcome: made.created ? "created" : "invited again", made };
}

interface NewPerson {
  readonly name: string;
  readonly email: string;
  readonly fullName?: string;
  readonly admin?: true;
}

const toForgeBody = ({ name, email, fullName, admin }: NewPerson) => ({
  username: name,
  email,
  full_name: fullName,
  admin,
  notify: false,
});

const toDone = (forgeSide: Invited | undefined) =>
  forgeSide?.made?.created === true
    ? "the forge account was made, that of the vault was not"
    : undefined;

/**
 * Returns on which sides the person has an account already. @throws CliError `conflict`, before anything is made, when the
 * name or the address belongs to another account
 */
async function assertFree(
  cli: CliContext,
  { name, email }: NewPerson,
  sides: readonly Side[],
): Promise<Readonly<Record<Side, boolean>>> {
  const people = await readPeople(cli, sides.length === 1 ? sides[0] : undefined);
  const has = { forge: false, vault: false };
  for (const side of sides) {
    for (const person of people) {
      const account = toAccount(person, side);
      if (account === undefined) continue;
      const hasName = isSameName(account.name, name);
      const hasEmail = isSameName(account.email, email);
      if (hasName && hasEmail) has[side] = true;
      else if (hasName || hasEmail)
        throw new CliError(
          "conflict",
          `the ${side} account ${account.name} (${account.email}) has the same ${hasName ? "name" : "e-mail address"}; nothing was changed`,
          { hint: `"croft people edit ${account.name} --only ${side}" changes it` },
        );
    }
  }
  return has;
}

function toAccount({ forge: user, vault: account }: KnownPerson, side: Side) {
  if (side === "forge") return user && { name: user.login, email: user.email };
  return account && { name: account.handle, email: account.email };
}

const addedColumns: readonly Column<Added>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "email", cell: ({ email }) => email },
  { header: "forge", cell: (added) => added.forge },
  { header: "vault", cell: (added) => added.vault },
  { header: "link", cell: ({ link, mailed }) => (mailed ? "mailed" : link) },
  { header: "expires", cell: ({ expires_at: expiresAt }) => time(expiresAt) },
];
