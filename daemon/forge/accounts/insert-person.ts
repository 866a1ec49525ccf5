import { isConflict, type Transaction } from "../../../storage/engine/database.ts";
import { insertEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import { deleteRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import { type ForgeUser, insertUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeVisibility } from "../../../storage/tables/forge/accounts/user-facets.ts";
import { emailTaken, nameTaken } from "../refusals.ts";
import { toAvatarHash } from "./user.view.ts";

/** What differs between new accounts of people. */
export interface NewPerson {
  readonly username: string;
  readonly fullName: string;
  readonly email: string;
  /** Empty for an account without a password. */
  readonly passwordHash: string;
  readonly isAdmin: boolean;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly loginName?: string;
  readonly mustChangePassword?: boolean;
  readonly restricted?: boolean;
  readonly visibility?: ForgeVisibility;
}

/** Inserts the account of a person, with its address as a verified one. */
export async function insertPerson(tx: Transaction, person: NewPerson): Promise<ForgeUser> {
  const { username, email, createdAt } = person;
  await deleteRedirect(tx, username);
  const user = await insertUser(tx, {
    kind: "individual",
    name: username,
    fullName: person.fullName,
    email: email.toLowerCase(),
    keepEmailPrivate: false,
    loginSource: 0,
    loginName: person.loginName ?? "",
    passwordHash: person.passwordHash,
    mustChangePassword: person.mustChangePassword ?? false,
    isActive: true,
    isAdmin: person.isAdmin,
    isRestricted: person.restricted ?? false,
    prohibitLogin: false,
    twoFactorEnabled: false,
    allowGitHook: false,
    allowImportLocal: false,
    allowCreateOrganization: true,
    maxRepoCreation: -1,
    visibility: person.visibility ?? "public",
    website: "",
    location: "",
    description: "",
    language: "",
    avatarHash: toAvatarHash(email),
    repoAdminChangeTeamAccess: false,
    createdAt,
    updatedAt: createdAt,
  });
  await insertEmail(tx, { userId: user.id, email, isVerified: true, isPrimary: true });
  return user;
}

/** Returns the refusal of a name or address that a concurrent request took; any other error as it is. */
export function toTakenName(
  error: unknown,
  { username, email }: Pick<NewPerson, "username" | "email">,
): unknown {
  if (!isConflict(error)) return error;
  if (error.constraint?.includes("lower_email") === true) return emailTaken(email);
  return error.constraint?.includes("lower_name") === true ? nameTaken(username) : error;
}
