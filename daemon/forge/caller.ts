// daemon/forge: the features of the forge API, one folder each. Start in api.ts, which finds the caller of a request and renders its errors.
import type { ForgeUser } from "../../storage/tables/forge/accounts/users.ts";
import type {
  UserId,
  TaskId,
  TokenId,
  KeyId,
  DeployKeyId,
  RepositoryId,
} from "../../storage/tables/forge/ids.ts";

/** The permissions of a job's token, which are independent of the user who started the run. */
export interface TaskGrant {
  readonly id: TaskId;
  /** The only repository that it may change; it may read public ones too. */
  readonly repositoryId: RepositoryId;
  readonly ownerId: UserId;
  /** Levels by unit, such as `contents`; an absent unit is denied. */
  readonly permissions: Readonly<Partial<Record<string, "read" | "write">>>;
}

/** The permissions of a deploy key. */
export interface DeployKeyGrant {
  readonly id: DeployKeyId;
  /** The only repository that it opens. */
  readonly repositoryId: RepositoryId;
  readonly access: "read" | "write";
}

/**
 * A user on whose behalf a request acts. With `task` the request comes from a job of this user, with `deployKey` from
 * the holder of a key of the user's repository; both have only the rights of their grant.
 */
export interface ActingUser extends ForgeUser {
  readonly task?: TaskGrant;
  readonly deployKey?: DeployKeyGrant;
}

/**
 * Returns whether the caller is this account itself. A job and a deploy key have no account: what is
 * allowed to a person by name, as an author or on a list, is not allowed to them.
 */
export function isSelf(user: ActingUser, id: UserId | undefined): boolean {
  return user.id === id && user.task === undefined && user.deployKey === undefined;
}

/** The authenticated caller of a forge route. */
export interface ForgeCaller {
  /**
   * The user on whose behalf the caller acts: the owner of the credentials, or a user whom a site administrator
   * impersonates.
   */
  readonly user: ActingUser;
  /** The owner of the credentials. */
  readonly actor: ActingUser;
  readonly method: "token" | "basic_password" | "basic_token" | "ssh_key";
  /** Undefined for a password. */
  readonly tokenId?: TokenId;
  /** The SSH key of an account; undefined for a deploy key. */
  readonly keyId?: KeyId;
  /** Tells whether the token has ended since it was found; absent for credentials that do not end by themselves. */
  readonly hasEnded?: () => boolean;
  /** The token's scope in normal form; undefined for a password, which is unrestricted. */
  readonly scope: string | undefined;
}
