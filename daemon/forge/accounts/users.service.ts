import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import {
  findEmail,
  listEmails,
  type OwnedEmail,
} from "../../../storage/tables/forge/accounts/emails.ts";
import type { KeysetCursors } from "../../../storage/tables/forge/accounts/keyset-cursors.ts";
import { isMember } from "../../../storage/tables/forge/accounts/orgs.ts";
import { searchPeople } from "../../../storage/tables/forge/accounts/people-search.ts";
import {
  hasAnyIndividual,
  listUsers,
  type UserListQuery,
  type UserPage,
} from "../../../storage/tables/forge/accounts/user-lists.ts";
import { findUserByName, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeVisibility } from "../../../storage/tables/forge/accounts/user-facets.ts";
import { AppError } from "../../errors.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import type { ForgeCaller } from "../caller.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { emailTaken, nameTaken, userNotFound } from "../refusals.ts";
import type { AccountDependents } from "./remove-user.ts";
import { editUser, renameUser, type UserEdit } from "./edit-user.ts";
import { insertPerson, toTakenName } from "./insert-person.ts";
import { assertUsableName, findEmailFault } from "./names.ts";
import type { PasswordRules } from "./password-rules.ts";
import { removeUser } from "./remove-user.ts";
import { isPublicOnly } from "./scopes.ts";
import { type UserId, toUserId } from "../../../storage/tables/forge/ids.ts";

/** A user account to be created. */
export interface NewUser {
  readonly sourceId: number;
  readonly loginName: string;
  readonly username: string;
  readonly fullName: string;
  readonly email: string;
  readonly password: string;
  readonly mustChangePassword: boolean;
  /** Queue a welcome mail. */
  readonly notify: boolean;
  readonly restricted: boolean;
  readonly visibility: ForgeVisibility;
  readonly isAdmin: boolean;
  /** Epoch milliseconds; undefined is now. */
  readonly createdAt: number | undefined;
  /** Refuses with `conflict` when an account exists already. */
  readonly isFirst?: boolean;
}

export type Users = ReturnType<typeof createUsers>;

export interface UsersDeps {
  readonly db: Database;
  /** Cached cursors of long lists. */
  readonly cursors: KeysetCursors;
  readonly clock: () => number;
  readonly passwords: PasswordHasher;
  readonly rules: PasswordRules;
  /** Queues the mail to a new user, in the transaction that creates the account. */
  readonly queueWelcomeMail?: ((tx: Transaction, user: ForgeUser) => Promise<void>) | undefined;
  readonly repositories?: AccountDependents | undefined;
  readonly packages?: AccountDependents | undefined;
}

/** The texts of broken rules at the creation of a user. */
const brokenTexts = {
  length: "PasswordIsRequired",
  size: "PasswordIsRequired",
  characters: "PasswordComplexity",
  breach: "PasswordPwned",
} as const;

/** The accounts of the forge, for site administrators. */
export function createUsers(deps: UsersDeps) {
  const { db, cursors, clock, passwords, rules, queueWelcomeMail, repositories, packages } = deps;
  return {
    /**
     * Returns a page of people and organizations, and the count of all matches. A public-only token gets public accounts;
     * the same holds for `searchEmails`.
     */
    async search(query: UserListQuery, window: PageWindow, caller: ForgeCaller): Promise<UserPage> {
      if (!isPublicOnly(caller)) return listUsers(db, query, toRows(window), cursors);
      if ((query.visibility ?? "public") !== "public") return { users: [], total: 0 };
      return listUsers(db, { ...query, visibility: "public" }, toRows(window), cursors);
    },

    /**
     * Creates a user with a verified primary address. Throws, in this order, `unprocessable` for an
     * unknown login source, `invalid_argument` for the password, `unprocessable` for name and address, `conflict` for
     * a taken
     * name or address.
     */
    async create(input: NewUser): Promise<ForgeUser> {
      if (input.sourceId !== 0)
        throw new AppError("unprocessable", `login source does not exist [id: ${input.sourceId}]`);
      const broken = await rules.findBroken(input.password);
      if (broken !== undefined) throw new AppError("invalid_argument", brokenTexts[broken.rule]);
      assertUsableName(input.username);
      const fault = findEmailFault(input.email);
      if (fault !== undefined) throw new AppError("unprocessable", fault);
      // Checked before the expensive hash, and again by the constraints.
      if ((await findUserByName(db, input.username)) !== undefined) throw nameTaken(input.username);
      if ((await findEmail(db, input.email)) !== undefined) throw emailTaken(input.email);
      const passwordHash = await passwords.hash(input.password);
      try {
        return await db.transaction(async (tx) => {
          if (input.isFirst === true && (await hasAnyIndividual(tx)))
            throw new AppError("conflict", "The forge already has accounts.");
          const createdAt = input.createdAt ?? clock();
          const user = await insertPerson(tx, { ...input, passwordHash, createdAt });
          if (input.notify) await queueWelcomeMail?.(tx, user);
          return user;
        });
      } catch (error) {
        throw toTakenName(error, input);
      }
    },

    /** See `editUser`. */
    edit: (username: string, edit: UserEdit): Promise<ForgeUser> => editUser(deps, username, edit),
    /** See `renameUser`. */
    rename: (username: string, newName: string): Promise<void> =>
      renameUser(
        { db, dependents: [repositories, packages].filter((each) => each !== undefined) },
        async (tx) => {
          const user = await findUserByName(tx, username);
          if (user === undefined) throw userNotFound(username);
          return user;
        },
        newName,
      ),
    /** See `removeUser`. */
    remove: (
      username: string,
      how: { readonly callerId: UserId; readonly purge: boolean },
    ): Promise<void> => removeUser({ db, repositories, packages }, username, how),

    /** Returns a page of the addresses whose text or owner matches the term, and the count of all matches. */
    searchEmails: (
      term: string,
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<{ readonly emails: readonly OwnedEmail[]; readonly total: number }> =>
      listEmails(db, term, toRows(window), isPublicOnly(caller)),

    /**
     * Returns the account of this name. Throws `not_found` if it is hidden from the caller, `forbidden` if the caller's
     * token is public-only.
     */
    async get(username: string, caller: ForgeCaller | undefined): Promise<ForgeUser> {
      const user = await findUserByName(db, username);
      if (user === undefined || !(await isKnownTo(db, user, caller?.user)))
        throw userNotFound(username);
      if (isPublicOnly(caller) && user.visibility !== "public")
        throw new AppError("forbidden", "token scope is limited to public users");
      return user;
    },

    /**
     * Returns a page of the individuals that match the term and that the caller may see. An `id` other than 0 selects one
     * account.
     */
    searchVisible: (
      search: { readonly term: string; readonly id: number },
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<UserPage> =>
      searchPeople(
        db,
        {
          ...search,
          id: toUserId(search.id),
          viewer: caller?.user,
          isPublicOnly: isPublicOnly(caller),
        },
        toRows(window),
      ),

    /** Returns whether no user exists yet. */
    isEmpty: async (): Promise<boolean> => !(await hasAnyIndividual(db)),
  };
}

/**
 * Returns whether an account's visibility lets a viewer see it: public to all, limited to signed-in users who are not
 * restricted, private to the account itself and to site administrators. Does not consider membership of an
 * organization.
 */
export function isVisibleTo(account: ForgeUser, viewer: ForgeUser | undefined): boolean {
  if (account.visibility === "public") return true;
  if (viewer === undefined) return false;
  if (viewer.isAdmin || viewer.id === account.id) return true;
  return account.visibility === "limited" && !viewer.isRestricted;
}

/** Returns whether a viewer may know of an account: by its visibility, or as a member of an organization. */
export async function isKnownTo(
  db: Queries,
  account: ForgeUser,
  viewer: ForgeUser | undefined,
): Promise<boolean> {
  if (isVisibleTo(account, viewer)) return true;
  if (viewer === undefined || account.kind !== "organization") return false;
  return isMember(db, account.id, viewer.id);
}

/**
 * Returns the account of a name. Throws `not_found` if it is hidden from the caller, `forbidden` if it is not public
 * and the caller's token is public-only.
 */
export async function getVisibleAccount(
  db: Queries,
  name: string,
  caller: ForgeCaller | undefined,
): Promise<ForgeUser> {
  const account = await findUserByName(db, name);
  if (account === undefined || !(await isKnownTo(db, account, caller?.user)))
    throw userNotFound(name);
  if (isPublicOnly(caller) && account.visibility !== "public")
    throw new AppError("forbidden", "token scope is limited to public users");
  return account;
}
