import { INVITATION_PAGE } from "./api-of.ts";

/** The account of a person in the forge, as far as it matters for finding the other one. */
interface ForgeSide {
  readonly login: string;
  readonly email: string;
}

/** The account of a person in the vault. */
interface VaultSide {
  readonly handle: string;
  readonly email: string;
}

/** Why two accounts count as those of one person. */
export type PersonMatch = "name and e-mail" | "e-mail" | "name";

/** A person: an account of each API, or of one. */
export interface Person<F extends ForgeSide = ForgeSide, V extends VaultSide = VaultSide> {
  readonly name: string;
  readonly forge: F | undefined;
  readonly vault: V | undefined;
  /** Undefined for a person with one account. */
  readonly match: PersonMatch | undefined;
}

/**
 * Joins the accounts of both APIs, which share no data: first those with the same e-mail address, then those with the same
 * name. Both ignore case. Returns the people by name.
 */
export function matchPeople<F extends ForgeSide, V extends VaultSide>(
  forge: readonly F[],
  vault: readonly V[],
): readonly Person<F, V>[] {
  const byEmail = new Map(vault.map((account) => [fold(account.email), account]));
  const pairs = new Map<F, V>();
  const taken = new Set<V>();
  const pair = (account: F, other: V | undefined) => {
    if (other === undefined || taken.has(other) || pairs.has(account)) return;
    pairs.set(account, other);
    taken.add(other);
  };
  for (const account of forge) pair(account, byEmail.get(fold(account.email)));
  const byName = new Map(vault.map((account) => [fold(account.handle), account]));
  for (const account of forge) pair(account, byName.get(fold(account.login)));
  return [
    ...forge.map((account) => toPerson<F, V>(account, pairs.get(account))),
    ...vault
      .filter((account) => !taken.has(account))
      .map((account) => toPerson<F, V>(undefined, account)),
  ].toSorted((one, other) => (fold(one.name) < fold(other.name) ? -1 : 1));
}

function toPerson<F extends ForgeSide, V extends VaultSide>(
  forge: F | undefined,
  vault: V | undefined,
): Person<F, V> {
  const name = forge?.login ?? vault?.handle ?? "";
  if (forge === undefined || vault === undefined) return { name, forge, vault, match: undefined };
  const hasEmail = fold(forge.email) === fold(vault.email);
  const hasName = fold(forge.login) === fold(vault.handle);
  const match = hasEmail ? (hasName ? "name and e-mail" : "e-mail") : "name";
  return { name, forge, vault, match };
}

const fold = (text: string): string => text.toLowerCase();

/** Codes of an invitation: one for each account that has no password yet. */
export interface InvitationCodes {
  readonly forge?: string | undefined;
  readonly vault?: string | undefined;
}

/** Returns the link of an invitation. `publicUrl` has no trailing slash. */
export function toInvitationLink(publicUrl: string, { forge, vault }: InvitationCodes): string {
  const query = new URLSearchParams();
  if (forge !== undefined) query.set("forge", forge);
  if (vault !== undefined) query.set("vault", vault);
  return `${publicUrl}${INVITATION_PAGE}?${query}`;
}
