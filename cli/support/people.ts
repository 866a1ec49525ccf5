import type { z } from "zod";
import type { managedUser } from "../../daemon/contract/vault/admin.ts";
import { matchPeople, type Person } from "../../daemon/contract/people.ts";
import type { WireUser } from "../../daemon/contract/forge/accounts/users.ts";
import { forge, vault } from "../client/operations.ts";
import { forgePages, vaultPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { readAll } from "../output/pages.ts";
import type { FieldType } from "../output/spec.ts";

export type VaultAccount = z.output<typeof managedUser>;
export type KnownPerson = Person<WireUser, VaultAccount>;

/** An API of the daemon, which has accounts of its own. */
export type Side = "forge" | "vault";

export const onlyFlag = {
  "--only <side>": { help: "only the account of this API", choices: ["forge", "vault"] },
} as const;

/** Reads the accounts of both APIs, or of one, and joins them. */
export async function readPeople(cli: CliContext, only?: Side): Promise<readonly KnownPerson[]> {
  const { client } = cli;
  const users =
    only === "vault"
      ? []
      : await readAll(forgePages(client, forge.listUsers, { query: { sort: "id" } }));
  const accounts =
    only === "forge" ? [] : await readAll(vaultPages(client, vault.listUsers, { query: {} }));
  return matchPeople(users, accounts);
}

/**
 * Returns the person with a name or an e-mail address. @throws CliError `not_found`, and `conflict` when the accounts of one
 * name have different addresses: they may belong to two people
 */
export async function findPerson(
  cli: CliContext,
  word: string,
  only: Side | undefined,
): Promise<KnownPerson> {
  const wanted = word.toLowerCase();
  const hasWord = (...texts: readonly (string | undefined)[]) =>
    texts.some((text) => text?.toLowerCase() === wanted);
  const found = (await readPeople(cli, only)).filter(({ forge: user, vault: account }) =>
    hasWord(user?.login, user?.email, account?.handle, account?.email),
  );
  const [person] = found;
  if (person === undefined)
    throw new CliError("not_found", `there is no person ${JSON.stringify(word)}`, {
      hint: '"croft people list" shows them',
    });
  if (found.length > 1 || person.match === "name")
    throw new CliError(
      "conflict",
      `${JSON.stringify(word)} names accounts with different e-mail addresses, which may belong to two people`,
      { hint: '"croft people list" shows them; --only forge or --only vault selects one' },
    );
  return person;
}

/** A person as the commands print it. */
export interface ShownPerson {
  readonly name: string;
  /** By what the two accounts were matched. */
  readonly matched_by: string | null;
  readonly forge_username: string | null;
  readonly forge_email: string | null;
  readonly forge_admin: boolean | null;
  readonly forge_active: boolean | null;
  readonly vault_handle: string | null;
  readonly vault_email: string | null;
  readonly vault_admin: boolean | null;
  readonly vault_active: boolean | null;
  /** Whether the person has to choose a password of the vault first, as after an invitation. */
  readonly vault_must_choose: boolean | null;
}

export const personFields: Readonly<Record<keyof ShownPerson, FieldType>> = {
  name: "string",
  matched_by: "string?",
  forge_username: "string?",
  forge_email: "string?",
  forge_admin: "boolean?",
  forge_active: "boolean?",
  vault_handle: "string?",
  vault_email: "string?",
  vault_admin: "boolean?",
  vault_active: "boolean?",
  vault_must_choose: "boolean?",
};

/** Returns both sides of a person as fields. */
export function toShownPerson({ name, match, forge: user, vault: account }: KnownPerson) {
  return {
    name,
    matched_by: match ?? null,
    forge_username: user?.login ?? null,
    forge_email: user?.email ?? null,
    forge_admin: user?.is_admin ?? null,
    forge_active: user === undefined ? null : user.active && !user.prohibit_login,
    vault_handle: account?.handle ?? null,
    vault_email: account?.email ?? null,
    vault_admin: account === undefined ? null : account.role === "admin",
    vault_active: account?.is_active ?? null,
    vault_must_choose: account?.password_must_change ?? null,
  } satisfies ShownPerson;
}

export const personColumns: readonly Column<ShownPerson>[] = [
  { header: "name", cell: ({ name }) => name },
  {
    header: "forge",
    cell: (one) => toState(one.forge_username, one.forge_admin, one.forge_active),
  },
  {
    header: "vault",
    cell: (one) =>
      toState(one.vault_handle, one.vault_admin, one.vault_active, one.vault_must_choose),
  },
  { header: "email", cell: ({ forge_email: email, vault_email: other }) => toEmails(email, other) },
  { header: "matched by", cell: ({ matched_by: matchedBy }) => matchedBy },
];

function toState(
  name: string | null,
  isAdmin: boolean | null,
  isActive: boolean | null,
  mustChoose: boolean | null = null,
): string {
  if (name === null) return "-";
  const notes = [
    ...(isAdmin === true ? ["administrator"] : []),
    ...(isActive === false ? ["inactive"] : []),
    ...(mustChoose === true ? ["must choose a password"] : []),
  ];
  return notes.length === 0 ? name : `${name} (${notes.join(", ")})`;
}

function toEmails(one: string | null, other: string | null): string {
  const emails = [one, other].filter((each) => each !== null).map((each) => each.toLowerCase());
  return [...new Set(emails)].join(", ");
}

/** The sides that `--only` leaves. */
export const toSides = (only: Side | undefined): readonly Side[] =>
  only === undefined ? ["forge", "vault"] : [only];

/** Runs the second of two changes; its failure says what the first one has done. */
export async function second<T>(done: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (done === undefined || !(error instanceof CliError)) throw error;
    const hint = `${error.details.hint === undefined ? "" : `${error.details.hint}; `}${done}: repeat the command when the cause is mended`;
    throw new CliError(error.code, error.message, { ...error.details, hint, cause: error });
  }
}
