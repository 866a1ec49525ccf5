import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import { findEmail, insertEmail } from "../../../storage/tables/forge/emails.ts";
import { deleteRedirect } from "../../../storage/tables/forge/redirects.ts";
import {
  listUsers,
  type UserListQuery,
  type UserPage,
} from "../../../storage/tables/forge/user-lists.ts";
import {
  findUserByName,
  type ForgeUser,
  type ForgeVisibility,
  hasAnyIndividual,
  insertUser,
} from "../../../storage/tables/forge/users.ts";
import { AppError } from "../../errors.ts";
import type { PasswordHasher } from "../../password-hasher.ts";
import { emailTaken, nameTaken, userNotFound } from "../refusals.ts";
import { assertUsableName, findEmailFault } from "./names.ts";
import { toAvatarHash } from "./user.view.ts";

/** What a person's account is made of. */
export interface WantedUser {
  readonly sourceId: number;
  readonly loginName: string;
  readonly username: string;
  readonly fullName: string;
  readonly email: string;
  readonly password: string;
  readonly mustChangePassword: boolean;
  /** Tell the person by mail. */
  readonly notify: boolean;
  readonly restricted: boolean;
  readonly visibility: ForgeVisibility;
  readonly isAdmin: boolean;
  /** Epoch milliseconds; undefined is now. */
  readonly createdAt: number | undefined;
}

export interface Users {
  /** A page of people and organizations as the query selects them, and the count of all matches. */
  search(
    query: UserListQuery,
    window: { readonly page: number; readonly limit: number },
  ): Promise<UserPage>;
  /**
   * Creates a person with a verified primary address (forge behaviour, 8.2). Refuses, in this order, with
   * `unprocessable` for an unknown login source, `invalid_argument` for the password, `unprocessable` for the name
   * and the address, `conflict` for a taken name or address.
   */
  create(wanted: WantedUser): Promise<ForgeUser>;
  /** The account of this name. Refuses with `not_found`. */
  get(username: string): Promise<ForgeUser>;
  /** Whether nobody has an account yet. */
  isEmpty(): Promise<boolean>;
}

export interface UsersDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly passwords: PasswordHasher;
  /** Has a person told of a new account, in the transaction that makes it. */
  readonly announceAccount?: (tx: Transaction, user: ForgeUser) => Promise<void>;
}

const PASSWORD_BYTES_MIN = 8;

export function createUsers({ db, clock, passwords, announceAccount }: UsersDeps): Users {
  return {
    search: (query, { page, limit }) =>
      // A page number so large that its offset is no exact number is past every end.
      listUsers(db, query, { limit, offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER) }),

    async create(wanted) {
      if (wanted.sourceId !== 0)
        throw new AppError("unprocessable", `login source does not exist [id: ${wanted.sourceId}]`);
      if (Buffer.byteLength(wanted.password) < PASSWORD_BYTES_MIN)
        throw new AppError("invalid_argument", "PasswordIsRequired");
      assertUsableName(wanted.username);
      const fault = findEmailFault(wanted.email);
      if (fault !== undefined) throw new AppError("unprocessable", fault);
      // Asked before the costly hash, and once more by the constraints.
      if ((await findUserByName(db, wanted.username)) !== undefined) throw nameTaken(wanted.username);
      if ((await findEmail(db, wanted.email)) !== undefined) throw emailTaken(wanted.email);
      const passwordHash = await passwords.hash(wanted.password);
      try {
        return await db.transaction((tx) => insertPerson(tx, wanted, passwordHash));
      } catch (error) {
        if (!isConflict(error)) throw error;
        throw error.constraint?.includes("email") ? emailTaken(wanted.email) : nameTaken(wanted.username);
      }
    },

    async get(username) {
      const user = await findUserByName(db, username);
      if (user === undefined) throw userNotFound(username);
      return user;
    },

    isEmpty: async () => !(await hasAnyIndividual(db)),
  };

  async function insertPerson(
    tx: Transaction,
    wanted: WantedUser,
    passwordHash: string,
  ): Promise<ForgeUser> {
    const createdAt = wanted.createdAt ?? clock();
    await deleteRedirect(tx, wanted.username);
    const user = await insertUser(tx, {
      kind: "individual",
      name: wanted.username,
      fullName: wanted.fullName,
      email: wanted.email,
      keepEmailPrivate: false,
      loginSource: 0,
      loginName: wanted.loginName,
      passwordHash,
      mustChangePassword: wanted.mustChangePassword,
      isActive: true,
      isAdmin: wanted.isAdmin,
      isRestricted: wanted.restricted,
      prohibitLogin: false,
      twoFactorEnabled: false,
      allowGitHook: false,
      allowImportLocal: false,
      allowCreateOrganization: true,
      maxRepoCreation: -1,
      visibility: wanted.visibility,
      website: "",
      location: "",
      description: "",
      language: "",
      avatarHash: toAvatarHash(wanted.email),
      repoAdminChangeTeamAccess: false,
      createdAt,
      updatedAt: createdAt,
    });
    await insertEmail(tx, { userId: user.id, email: user.email, isVerified: true, isPrimary: true });
    if (wanted.notify) await announceAccount?.(tx, user);
    return user;
  }
}
