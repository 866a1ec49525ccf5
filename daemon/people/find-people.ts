import type { z } from "zod";
import { adminUserEndpoints } from "../contract/forge/accounts/admin-users.ts";
import type { WireUser } from "../contract/forge/accounts/users.ts";
import { matchPeople, type Person } from "../contract/people.ts";
import { type managedUser, vaultAdminEndpoints } from "../contract/vault/admin.ts";
import type { CallOperation } from "../pages/operations.ts";
import { PEOPLE } from "../vault/pages/admin-tabs.tsx";

export type KnownPerson = Person<WireUser, z.output<typeof managedUser>>;

/** The calls of a page as the administrators of both sides. */
export interface BothSides {
  readonly forge: CallOperation;
  readonly vault: CallOperation;
}

/** Accounts of each side that are read for the list; a search narrows it down. */
export const ACCOUNTS_MAX = 500;
const FORGE_PAGE = 50;
const VAULT_PAGE = 100;

/** Reads the accounts of both sides that match a text, and joins them. */
export async function findPeople(
  { forge, vault }: BothSides,
  q: string,
): Promise<{ readonly people: readonly KnownPerson[]; readonly isCut: boolean }> {
  const users: WireUser[] = [];
  const accounts: z.output<typeof managedUser>[] = [];
  let isCut = false;
  for (let page = 1; ; page += 1) {
    const query = { q, page: String(page), limit: String(FORGE_PAGE), sort: "name" };
    const { body, total = 0 } = await forge(adminUserEndpoints.listUsers, { query });
    users.push(...body);
    isCut ||= total > ACCOUNTS_MAX;
    if (body.length === 0 || users.length >= Math.min(total, ACCOUNTS_MAX)) break;
  }
  for (let page = 1; ; page += 1) {
    const paging = { page: String(page), per_page: String(VAULT_PAGE) };
    const query = q === "" ? paging : { ...paging, q };
    const { body } = await vault(vaultAdminEndpoints.listUsers, { query });
    accounts.push(...body.items);
    isCut ||= body.total > ACCOUNTS_MAX;
    if (body.items.length === 0 || accounts.length >= Math.min(body.total, ACCOUNTS_MAX)) break;
  }
  return { people: matchPeople(users, accounts), isCut };
}

/** A person is found again by one of its accounts. */
export const toKey = ({ forge, vault }: KnownPerson): string =>
  forge === undefined ? `vault:${vault?.handle ?? ""}` : `forge:${forge.login}`;

export const toPersonPath = (person: KnownPerson): string =>
  `${PEOPLE}/${encodeURIComponent(toKey(person))}`;

export function toForgeState(user: WireUser): string {
  return [
    user.login,
    ...(user.is_admin ? ["administrator"] : []),
    ...(user.active && !user.prohibit_login ? [] : ["may not sign in"]),
  ].join(", ");
}

export function toVaultState(account: z.output<typeof managedUser>): string {
  return [
    account.handle,
    ...(account.role === "admin" ? ["administrator"] : []),
    ...(account.is_active ? [] : ["may not sign in"]),
    ...(account.password_must_change ? ["has to choose a password"] : []),
  ].join(", ");
}
