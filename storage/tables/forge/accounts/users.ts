// storage/tables/forge: rows of the forge's people, repositories and everything that hangs on them.
// Functions take `db` first, return camelCase records, and know no rules and no permissions.
// Start here: users and organizations are one table because they share one namespace.
// Every write of a user row goes through this file, which keeps the counts of the filters (user-facets.ts) in step, except
// for the counts of followers and stars (user-counts.ts).
import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import { deleteEmailsOf } from "./emails.ts";
import { subtractCountsOf, type UserCount } from "./user-counts.ts";
import { adjustFacet, type ForgeVisibility, nextUserId, toFacet } from "./user-facets.ts";
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
export interface ForgeUser {
  readonly id: UserId;
  readonly kind: "individual" | "organization";
  /** As written by its owner; unique when case is ignored. */
  readonly name: string;
  readonly lowerName: string;
  readonly fullName: string;
  /** The primary address as written; empty for an organization. */
  readonly email: string;
  readonly keepEmailPrivate: boolean;
  /** 0 is this server's own password store. */
  readonly loginSource: number;
  readonly loginName: string;
  /** PHC string; empty when the account cannot sign in by password. */
  readonly passwordHash: string;
  readonly mustChangePassword: boolean;
  readonly isActive: boolean;
  readonly isAdmin: boolean;
  readonly isRestricted: boolean;
  readonly prohibitLogin: boolean;
  readonly twoFactorEnabled: boolean;
  readonly allowGitHook: boolean;
  readonly allowImportLocal: boolean;
  readonly allowCreateOrganization: boolean;
  /** Most repositories this account may own; -1 is the server's default. */
  readonly maxRepoCreation: number;
  readonly visibility: ForgeVisibility;
  readonly website: string;
  readonly location: string;
  readonly description: string;
  readonly language: string;
  /** Names the picture at `/avatars/{hash}`. */
  readonly avatarHash: string;
  /** Organizations: whether repository administrators may change team access. */
  readonly repoAdminChangeTeamAccess: boolean;
  /** Words of the pages' settings; empty is the default. */
  readonly theme: string;
  readonly diffViewStyle: string;
  /** Whether only the account itself and site administrators see its activity. */
  readonly keepActivityPrivate: boolean;
  /** The mails that it gets about runs: about failures and recoveries, about all of its own runs, or no mails. */
  readonly emailNotifications: EmailNotifications;
  readonly lastLoginAt: number | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly followerCount: number;
  readonly followingCount: number;
  /** Repositories that the account has starred. */
  readonly starCount: number;
}

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
  const record: ForgeUser = {
    ...user,
    id: await nextUserId(tx),
    lowerName: toLowerName(user.name),
    lastLoginAt: undefined,
    theme: "",
    diffViewStyle: "",
    keepActivityPrivate: false,
    emailNotifications: "enabled",
    followerCount: 0,
    followingCount: 0,
    starCount: 0,
  };
  const values = { ...toRow(record), facet: toFacet(record) };
  const columns = Object.keys(values);
  await tx.run(
    `INSERT INTO forge_users (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ...Object.values(values),
  );
  await adjustFacet(tx, toFacet(record), 1);
  await insertSearchText(tx, record.id, toSearchText(record));
  return record;
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
  const oldRow: Row = { ...toRow(before), facet: toFacet(before) };
  const changed = Object.entries({ ...toRow(after), facet: toFacet(after) }).filter(
    ([column, value]) => oldRow[column] !== value,
  );
  if (changed.length === 0) return after;
  await replaceSearchText(tx, before.id, toSearchText(before), toSearchText(after));
  await tx.run(
    `UPDATE forge_users SET ${changed.map(([column]) => `${column} = ?`).join(", ")} WHERE id = ?`,
    ...changed.map(([, value]) => value),
    before.id,
  );
  const moves = toFacet(before) !== toFacet(after);
  if (moves) await adjustFacet(tx, toFacet(before), -1);
  await adjustFacet(tx, toFacet(after), moves ? 1 : 0);
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
  const { changes } = await tx.run("DELETE FROM forge_users WHERE id = ?", user.id);
  if (changes > 0) await adjustFacet(tx, toFacet(user), -1);
}

/** Notes a sign-in; changes no order and no count of the lists. */
export async function touchLastLogin(db: Queries, id: UserId, at: number): Promise<void> {
  await db.run("UPDATE forge_users SET last_login_at = ? WHERE id = ?", at, id);
}

/** Replaces a password hash whose parameters are out of date, unless the password changed meanwhile. */
export async function replacePasswordHash(
  db: Queries,
  id: UserId,
  previous: string,
  next: string,
): Promise<void> {
  await db.run(
    "UPDATE forge_users SET password_hash = ? WHERE id = ? AND password_hash = ?",
    next,
    id,
    previous,
  );
}

export async function findUserById(db: Queries, id: UserId): Promise<ForgeUser | undefined> {
  const row = await db.get<UserRow>(`SELECT ${userColumns} FROM forge_users WHERE id = ?`, id);
  return row && toUser(row);
}

/** Finds a person or an organization; case is ignored. */
export async function findUserByName(db: Queries, name: string): Promise<ForgeUser | undefined> {
  const row = await db.get<UserRow>(
    `SELECT ${userColumns} FROM forge_users WHERE lower_name = ?`,
    toLowerName(name),
  );
  return row && toUser(row);
}

/** The accounts with these ids, in no order; missing ids are left out. */
export async function listUsersByIds(db: Queries, ids: readonly UserId[]): Promise<ForgeUser[]> {
  const unique = [...new Set(ids)];
  const users: ForgeUser[] = [];
  // Chunks keep the number of distinct statements, and so of cached ones, small.
  for (let at = 0; at < unique.length; at += idsPerQuery) {
    const chunk = unique.slice(at, at + idsPerQuery);
    const padded = [...chunk, ...Array<number>(idsPerQuery - chunk.length).fill(-1)];
    const rows = await db.all<UserRow>(
      `SELECT ${userColumns} FROM forge_users WHERE id IN (${padded.map(() => "?").join(", ")})`,
      ...padded,
    );
    users.push(...rows.map(toUser));
  }
  return users;
}

/** Returns the form in which names are compared: ASCII letters in lower case, everything else unchanged. */
function toLowerName(name: string): string {
  return name.toLowerCase();
}

function toSearchText(user: ForgeUser): SearchText {
  const names = `${user.name}\n${user.fullName}`.toLowerCase();
  return { names, email: user.email.toLowerCase() };
}

/** The columns of `UserRow`, for statements of other files of this folder; `prefix` is a table alias with its dot. */
export const toUserColumns = (prefix = ""): string =>
  columnNames.map((column) => `${prefix}${column}`).join(", ");

const idsPerQuery = 50;

/** A row of forge_users. */
export interface UserRow {
  id: UserId;
  kind: number;
  name: string;
  lower_name: string;
  full_name: string;
  email: string;
  keep_email_private: number;
  login_source: number;
  login_name: string;
  password_hash: string;
  must_change_password: number;
  is_active: number;
  is_admin: number;
  is_restricted: number;
  prohibit_login: number;
  two_factor_enabled: number;
  allow_git_hook: number;
  allow_import_local: number;
  allow_create_organization: number;
  max_repo_creation: number;
  visibility: number;
  website: string;
  location: string;
  description: string;
  language: string;
  avatar_hash: string;
  repo_admin_change_team_access: number;
  theme: string;
  diff_view_style: string;
  keep_activity_private: number;
  email_notifications: EmailNotifications;
  follower_count: number;
  following_count: number;
  star_count: number;
  last_login_at: number | null;
  created_at: number;
  updated_at: number;
}

const columnNames = [
  "id",
  "kind",
  "name",
  "lower_name",
  "full_name",
  "email",
  "keep_email_private",
  "login_source",
  "login_name",
  "password_hash",
  "must_change_password",
  "is_active",
  "is_admin",
  "is_restricted",
  "prohibit_login",
  "two_factor_enabled",
  "allow_git_hook",
  "allow_import_local",
  "allow_create_organization",
  "max_repo_creation",
  "visibility",
  "website",
  "location",
  "description",
  "language",
  "avatar_hash",
  "repo_admin_change_team_access",
  "theme",
  "diff_view_style",
  "keep_activity_private",
  "email_notifications",
  "follower_count",
  "following_count",
  "star_count",
  "last_login_at",
  "created_at",
  "updated_at",
] as const satisfies (keyof UserRow)[];

const userColumns = toUserColumns();
const visibilities = ["public", "limited", "private"] as const;

/** A row as a record. */
export function toUser(row: UserRow): ForgeUser {
  return {
    id: row.id,
    kind: row.kind === 0 ? "individual" : "organization",
    name: row.name,
    lowerName: row.lower_name,
    fullName: row.full_name,
    email: row.email,
    keepEmailPrivate: row.keep_email_private === 1,
    loginSource: row.login_source,
    loginName: row.login_name,
    passwordHash: row.password_hash,
    mustChangePassword: row.must_change_password === 1,
    isActive: row.is_active === 1,
    isAdmin: row.is_admin === 1,
    isRestricted: row.is_restricted === 1,
    prohibitLogin: row.prohibit_login === 1,
    twoFactorEnabled: row.two_factor_enabled === 1,
    allowGitHook: row.allow_git_hook === 1,
    allowImportLocal: row.allow_import_local === 1,
    allowCreateOrganization: row.allow_create_organization === 1,
    maxRepoCreation: row.max_repo_creation,
    visibility: visibilities[row.visibility] ?? "private",
    website: row.website,
    location: row.location,
    description: row.description,
    language: row.language,
    avatarHash: row.avatar_hash,
    repoAdminChangeTeamAccess: row.repo_admin_change_team_access === 1,
    theme: row.theme,
    diffViewStyle: row.diff_view_style,
    keepActivityPrivate: row.keep_activity_private === 1,
    emailNotifications: row.email_notifications,
    followerCount: row.follower_count,
    followingCount: row.following_count,
    starCount: row.star_count,
    lastLoginAt: row.last_login_at ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toRow(user: ForgeUser): UserRow {
  return {
    id: user.id,
    kind: user.kind === "individual" ? 0 : 1,
    name: user.name,
    lower_name: user.lowerName,
    full_name: user.fullName,
    email: user.email,
    keep_email_private: Number(user.keepEmailPrivate),
    login_source: user.loginSource,
    login_name: user.loginName,
    password_hash: user.passwordHash,
    must_change_password: Number(user.mustChangePassword),
    is_active: Number(user.isActive),
    is_admin: Number(user.isAdmin),
    is_restricted: Number(user.isRestricted),
    prohibit_login: Number(user.prohibitLogin),
    two_factor_enabled: Number(user.twoFactorEnabled),
    allow_git_hook: Number(user.allowGitHook),
    allow_import_local: Number(user.allowImportLocal),
    allow_create_organization: Number(user.allowCreateOrganization),
    max_repo_creation: user.maxRepoCreation,
    visibility: visibilities.indexOf(user.visibility),
    website: user.website,
    location: user.location,
    description: user.description,
    language: user.language,
    avatar_hash: user.avatarHash,
    repo_admin_change_team_access: Number(user.repoAdminChangeTeamAccess),
    theme: user.theme,
    diff_view_style: user.diffViewStyle,
    keep_activity_private: Number(user.keepActivityPrivate),
    email_notifications: user.emailNotifications,
    follower_count: user.followerCount,
    following_count: user.followingCount,
    star_count: user.starCount,
    last_login_at: user.lastLoginAt ?? null,
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  };
}
