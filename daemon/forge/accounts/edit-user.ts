import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import { findEmail, replacePrimaryEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import { deleteRedirect, putRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import {
  findUserByName,
  type ForgeUser,
  type ForgeUserChanges,
  updateUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { hasOtherActiveSiteAdmin } from "../../../storage/tables/forge/accounts/user-lists.ts";
import type { ForgeVisibility } from "../../../storage/tables/forge/accounts/user-facets.ts";
import { endUnreadable } from "../../../storage/tables/forge/repositories/unreadable.ts";
import { AppError } from "../../errors.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import type { BrokenRule, PasswordRules } from "./password-rules.ts";
import {
  emailTaken,
  lastAdmin,
  nameTakenText,
  targetIsOrganization,
  userNotFound,
} from "../refusals.ts";
import { assertUsableName, findEmailFault } from "./names.ts";
import { type AccountDependents, isActiveAdmin } from "./remove-user.ts";
import { toAvatarHash } from "./user.view.ts";

/** Changes of an account. Undefined members stay as they are. */
export interface UserEdit {
  readonly sourceId: number | undefined;
  readonly loginName: string;
  readonly email: string | undefined;
  /** Empty leaves the password as it is. */
  readonly password: string | undefined;
  readonly changes: Pick<
    Partial<Undefinable<ForgeUser>>,
    | "fullName"
    | "mustChangePassword"
    | "website"
    | "location"
    | "description"
    | "isActive"
    | "isAdmin"
    | "allowGitHook"
    | "allowImportLocal"
    | "maxRepoCreation"
    | "prohibitLogin"
    | "allowCreateOrganization"
    | "isRestricted"
  > & { readonly visibility?: ForgeVisibility | undefined };
}

type Undefinable<T> = { readonly [K in keyof T]: T[K] | undefined };

/**
 * Edits an account in one transaction. Throws `unprocessable` for an unknown login source,
 * `invalid_argument` for the password, a malformed address and the last active administrator, `conflict` for an
 * address in use.
 */
export async function editUser(
  {
    db,
    passwords,
    rules,
  }: {
    readonly db: Database;
    readonly passwords: PasswordHasher;
    readonly rules: PasswordRules;
  },
  username: string,
  edit: UserEdit,
): Promise<ForgeUser> {
  if (edit.sourceId !== undefined && edit.sourceId !== 0)
    throw new AppError("unprocessable", `login source does not exist [id: ${edit.sourceId}]`);
  const { password = "" } = edit;
  const broken = password === "" ? undefined : await rules.findBroken(password);
  if (broken !== undefined)
    throw new AppError("invalid_argument", toBrokenText(broken, rules.lengthMin));
  const passwordHash = password === "" ? undefined : await passwords.hash(password);
  try {
    return await db.transaction((tx) => applyEdit(tx, username, edit, passwordHash));
  } catch (error) {
    if (isConflict(error) && error.constraint?.includes("lower_email"))
      throw emailTaken(edit.email ?? "");
    throw error;
  }
}

/** The text of a broken rule in an edit. */
function toBrokenText({ rule, text }: BrokenRule, lengthMin: number): string {
  if (rule === "length") return `password must be at least ${lengthMin} characters`;
  if (rule === "characters") return "password not complex enough";
  return rule === "breach" ? "password has been pwned" : `password ${text}`;
}

async function applyEdit(
  tx: Transaction,
  username: string,
  edit: UserEdit,
  passwordHash: string | undefined,
): Promise<ForgeUser> {
  const before = await findUserByName(tx, username);
  if (before === undefined) throw userNotFound(username);
  if (before.kind === "organization") return updateOrganization(tx, before, edit);
  const email = await toNewEmail(tx, before, edit.email);
  await assertAdministratorRemains(tx, before, edit.changes);
  if (email !== undefined) await replacePrimaryEmail(tx, before.id, email);
  const edited = await updateUser(tx, before, {
    ...definedOf(edit.changes),
    loginName: edit.loginName,
    ...(email === undefined
      ? {}
      : { email: email.toLowerCase(), avatarHash: toFollowingAvatar(before, email) }),
    ...(passwordHash === undefined ? {} : { passwordHash }),
    updatedAt: tx.now,
  });
  if (before.isAdmin !== edited.isAdmin || before.isRestricted !== edited.isRestricted)
    await endUnreadable(tx, { userId: before.id });
  if (before.visibility !== edited.visibility) await endUnreadable(tx, { ownerId: before.id });
  return edited;
}

/**
 * Refuses to demote, deactivate or lock out the last site administrator who can sign in: only file access to the home
 * could undo it. Gitea refuses the demotion alone.
 */
async function assertAdministratorRemains(
  tx: Transaction,
  before: ForgeUser,
  changes: UserEdit["changes"],
): Promise<void> {
  if (!isActiveAdmin(before)) return;
  const { isAdmin = true, isActive = true, prohibitLogin = false } = changes;
  if (isAdmin && isActive && !prohibitLogin) return;
  if (await hasOtherActiveSiteAdmin(tx, before.id)) return;
  throw lastAdmin("invalid_argument", before, isAdmin ? "deactivate" : "delete");
}

/** Edits the profile of an organization, which has no address, password or rights. */
async function updateOrganization(
  tx: Transaction,
  before: ForgeUser,
  edit: UserEdit,
): Promise<ForgeUser> {
  if (edit.email !== undefined && edit.email.toLowerCase() !== before.email.toLowerCase())
    throw targetIsOrganization();
  const { fullName, website, location, description, visibility } = edit.changes;
  const edited = await updateUser(tx, before, {
    ...definedOf({ fullName, website, location, description, visibility }),
    updatedAt: tx.now,
  });
  if (before.visibility !== edited.visibility) await endUnreadable(tx, { ownerId: before.id });
  return edited;
}

/** Returns the new address, undefined if it is the present one. */
async function toNewEmail(
  tx: Transaction,
  before: ForgeUser,
  email: string | undefined,
): Promise<string | undefined> {
  if (email === undefined || email.toLowerCase() === before.email.toLowerCase()) return undefined;
  const fault = findEmailFault(email);
  if (fault !== undefined) throw new AppError("invalid_argument", fault);
  // A secondary address of the same user counts as in use.
  if ((await findEmail(tx, email)) !== undefined) throw emailTaken(email);
  return email;
}

/** A picture that was derived from the old address is derived from the new one; any other stays. */
function toFollowingAvatar(before: ForgeUser, email: string): string {
  const isDefault = before.avatarHash === toAvatarHash(before.email);
  return isDefault ? toAvatarHash(email) : before.avatarHash;
}

function definedOf(changes: UserEdit["changes"]): ForgeUserChanges {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

/**
 * Renames a user, or an organization when `kind` says so. The old name redirects, unless only its
 * case changed. Idempotent for the present name. Throws `unprocessable` for an account of another kind, an invalid name
 * and a taken one, and what `find` throws, which returns the account in the transaction of the change.
 */
export async function renameUser(
  {
    db,
    dependents,
    kind = "individual",
  }: {
    readonly db: Database;
    readonly dependents: readonly AccountDependents[];
    readonly kind?: ForgeUser["kind"];
  },
  find: (tx: Transaction) => Promise<ForgeUser>,
  newName: string,
): Promise<void> {
  const taken = () => new AppError("unprocessable", nameTakenText(newName));
  try {
    await db.transaction(async (tx) => {
      const user = await find(tx);
      if (user.kind !== kind) throw targetIsOrganization();
      if (user.name === newName) return;
      assertUsableName(newName);
      const owner = await findUserByName(tx, newName);
      if (owner !== undefined && owner.id !== user.id) throw taken();
      await rename(tx, user, newName, dependents);
    });
  } catch (error) {
    throw isConflict(error) && error.constraint?.includes("lower_name") ? taken() : error;
  }
}

async function rename(
  tx: Transaction,
  user: ForgeUser,
  newName: string,
  dependents: readonly AccountDependents[],
): Promise<void> {
  if (newName.toLowerCase() !== user.lowerName) {
    await deleteRedirect(tx, newName);
    await putRedirect(tx, user.lowerName, user.id);
  }
  const renamed = await updateUser(tx, user, { name: newName, updatedAt: tx.now });
  for (const dependent of dependents) await dependent.rename?.(tx, renamed, user.name);
}
