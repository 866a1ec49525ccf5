// storage/tables/forge: rows of the forge's people, repositories and everything that hangs on them.
// Functions take `db` first, return camelCase records, and know no rules and no permissions.
// Start here: users and organizations are one table because they share one namespace.
// Every write of a user row goes through this file, which keeps the counts of the filters (user-facets.ts) in step, except
// for the counts of followers and stars (user-counts.ts).
import type { Queries, Transaction } from "../../../engine/database.ts";
import { inChunksOfIds } from "../../chunks.ts";
import { coded, flag, id, initial, integer, optional, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { deleteEmailsOf } from "./emails.ts";
import { subtractCountsOf, type UserCount } from "./user-counts.ts";
import { adjustFacet, nextUserId, toFacet } from "./user-facets.ts";
import {
  deleteSearchText,
  insertSearchText,
  replaceSearchText,
  type SearchText,
} from "./user-search.ts";
import { deleteSecretsOf } from "../home-secrets.ts";
import type { UserId } from "../ids.ts";

export type EmailNotifications = "enabled" | "andyourown" | "disabled";

/** An account of the forge: a person, or an organization. Times are epoch milliseconds. */
export const users = defineTable("forge_users", {
  id: id<UserId>(),
  kind: coded(["individual", "organization"], "organization"),
  /** As written by its owner; unique when case is ignored. */
  name: text(),
  lowerName: text(),
  fullName: text(),
  /** The primary address as written; empty for an organization. */
  email: text(),
  keepEmailPrivate: flag(),
  /** 0 is this server's own password store. */
  loginSource: integer(),
  loginName: text(),
  /** PHC string; empty when the account cannot sign in by password. */
  passwordHash: text(),
  mustChangePassword: flag(),
  isActive: flag(),
  isAdmin: flag(),
  isRestricted: flag(),
  prohibitLogin: flag(),
  twoFactorEnabled: flag(),
  allowGitHook: flag(),
  allowImportLocal: flag(),
  allowCreateOrganization: flag(),
  /** Most repositories this account may own; -1 is the server's default. */
  maxRepoCreation: integer(),
  visibility: coded(["public", "limited", "private"], "private"),
  website: text(),
  location: text(),
  description: text(),
  language: text(),
  /** Names the picture at `/avatars/{hash}`. */
  avatarHash: text(),
  /** Organizations: whether repository administrators may change team access. */
  repoAdminChangeTeamAccess: flag(),
  /** Words of the pages' settings; empty is the default. */
  theme: initial("", text()),
  diffViewStyle: initial("", text()),
  /** Whether only the account itself and site administrators see its activity. */
  keepActivityPrivate: initial(false, flag()),
  /** The mails that it gets about runs: about failures and recoveries, about all of its own runs, or no mails. */
  emailNotifications: initial("enabled", text<EmailNotifications>()),
  lastLoginAt: optional(integer()),
  createdAt: integer(),
  updatedAt: integer(),
  followerCount: initial(0, integer()),
  followingCount: initial(0, integer()),
  /** Repositories that the account has starred. */
  starCount: initial(0, integer()),
  /** The value by which lists filter (user-facets.ts). */
  facet: unread(integer()),
});
export type ForgeUser = RecordOf<typeof users>;

/** The members that a new account gets from the database. */
type DefaultMember =
  | "id"
  | "lowerName"
  | "lastLoginAt"
  | "theme"
  | "diffViewStyle"
  | "keepActivityPrivate"
  | "emailNotifications"
  | UserCount;

/** The columns of a new account; the id comes from the database. */
export type NewForgeUser = Omit<ForgeUser, DefaultMember>;

/** The columns of an account that may change. */
export type ForgeUserChanges = Partial<
  Omit<ForgeUser, "id" | "kind" | "createdAt" | "lowerName" | UserCount>
>;

/** Adds an account. Throws `conflict` (`forge_users.lower_name`) when the name is taken. */
export async function insertUser(tx: Transaction, user: NewForgeUser): Promise<ForgeUser> {
  const facet = toFacet(user);
  const lowerName = toLowerName(user.name);
  const added = await users.insert(tx, { ...user, id: await nextUserId(tx), lowerName, facet });
  await adjustFacet(tx, facet, 1);
  await insertSearchText(tx, added.id, toSearchText(added));
  return added;
}

/**
 * Writes the members that differ and returns the changed account. Does not set `updatedAt` itself. `before` must have
 * been read in the same transaction. Throws `conflict` when a name is taken.
 */
export async function updateUser(
  tx: Transaction,
  before: ForgeUser,
  changes: ForgeUserChanges,
): Promise<ForgeUser> {
  const name = changes.name ?? before.name;
  const after: ForgeUser = { ...before, ...changes, lowerName: toLowerName(name) };
  const members = Object.keys(changes) as (keyof ForgeUserChanges)[];
  if (members.every((member) => after[member] === before[member])) return after;
  const [facet, facetBefore] = [toFacet(after), toFacet(before)];
  await replaceSearchText(tx, before.id, toSearchText(before), toSearchText(after));
  await users.update(tx, { id: before.id }, { ...changes, lowerName: after.lowerName, facet });
  const moves = facet !== facetBefore;
  if (moves) await adjustFacet(tx, facetBefore, -1);
  await adjustFacet(tx, facet, moves ? 1 : 0);
  return after;
}

/**
 * Removes an account and, by foreign keys, the rows of this area that belong to it. `user` must have been read in the
 * same transaction.
 */
export async function deleteUser(tx: Transaction, user: ForgeUser): Promise<void> {
  await deleteSearchText(tx, user.id, toSearchText(user));
  await deleteEmailsOf(tx, user.id);
  await subtractCountsOf(tx, user.id);
  await deleteSecretsOf(tx, { kind: "owner", id: user.id });
  if ((await users.delete(tx, { id: user.id })) > 0) await adjustFacet(tx, toFacet(user), -1);
}

/** Notes a sign-in; changes no order and no count of the lists. */
export async function touchLastLogin(db: Queries, id: UserId, at: number): Promise<void> {
  await users.update(db, { id }, { lastLoginAt: at });
}

/** Replaces a password hash whose parameters are out of date. Returns false when the password changed meanwhile. */
export async function replacePasswordHash(
  db: Queries,
  id: UserId,
  previous: string,
  next: string,
): Promise<boolean> {
  return (await users.update(db, { id, passwordHash: previous }, { passwordHash: next })) > 0;
}

export const findUserById = (db: Queries, id: UserId): Promise<ForgeUser | undefined> =>
  users.find(db, { id });

/** Finds a person or an organization; case is ignored. */
export const findUserByName = (db: Queries, name: string): Promise<ForgeUser | undefined> =>
  users.find(db, { lowerName: toLowerName(name) });

/** The accounts with these ids, in no order; missing ids are left out. */
export async function listUsersByIds(db: Queries, ids: readonly UserId[]): Promise<ForgeUser[]> {
  return inChunksOfIds(ids, (id) => users.list(db, { id }));
}

/** Returns the form in which names are compared: ASCII letters in lower case, everything else unchanged. */
function toLowerName(name: string): string {
  return name.toLowerCase();
}

function toSearchText(user: ForgeUser): SearchText {
  const names = `${user.name}\n${user.fullName}`.toLowerCase();
  return { names, email: user.email.toLowerCase() };
}
