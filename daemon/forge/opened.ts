import type { ForgeTeam } from "../../storage/tables/forge/accounts/teams.ts";
import type { ForgeUser } from "../../storage/tables/forge/accounts/users.ts";
import type { AnyEndpoint, PermissionOf } from "../contract/endpoint.ts";
import type {
  AccountPermission,
  OrganizationPermission,
  PackagesLevel,
  PackagesPermission,
  Permission,
  RepositoryPermission,
  TeamPermission,
} from "../contract/permission.ts";
import type { ForgeCaller } from "./caller.ts";
import type { OwnedRepository } from "./events.ts";

/** Permission on a repository; each level includes the levels before it. */
export type AccessLevel = "none" | "read" | "write" | "admin" | "owner";

/** The repository of a path, with the permission of the caller. */
export interface OpenedRepository extends OwnedRepository {
  readonly access: AccessLevel;
}

/** A caller's right to an operation on a repository. */
export interface RepositoryGrant {
  readonly caller: ForgeCaller | undefined;
  readonly permission: RepositoryPermission;
  /** Whether the operation changes something that an archived repository keeps as it is. */
  readonly isChange: boolean;
}

/** A repository that an operation has opened, with the right to it, which a transaction can check again. */
export interface GrantedRepository extends OpenedRepository {
  readonly grant: RepositoryGrant;
}

/** An organization with the role of the caller in it. Site administrators count as its owners. */
export interface OpenedOrganization {
  readonly organization: ForgeUser;
  readonly isMember: boolean;
  readonly isOwner: boolean;
}

/** An organization that an operation has opened, with the right to it, which a transaction can check again. */
export interface GrantedOrganization extends OpenedOrganization {
  readonly grant: {
    readonly caller: ForgeCaller | undefined;
    readonly permission: OrganizationPermission;
  };
}

/** A team with its organization and the role of the caller. */
export interface OpenedTeam extends OpenedOrganization {
  readonly team: ForgeTeam;
}

/** A team that an operation has opened, with the right to it, which a transaction can check again. */
export interface GrantedTeam extends OpenedTeam {
  readonly grant: {
    readonly caller: ForgeCaller;
    readonly permission: TeamPermission;
  };
}

/** The owner of packages that an operation has opened, with the right to them, which a transaction can check again. */
export interface GrantedPackages {
  readonly owner: ForgeUser;
  readonly access: PackagesLevel;
  readonly grant: {
    readonly caller: ForgeCaller | undefined;
    readonly permission: PackagesPermission;
  };
}

/** The account of the caller. */
export interface GrantedAccount {
  readonly account: ForgeUser;
}

/** What the binder opens for a permission. */
export type Granted<P extends Permission> = P extends RepositoryPermission
  ? GrantedRepository
  : P extends OrganizationPermission
    ? GrantedOrganization
    : P extends TeamPermission
      ? GrantedTeam
      : P extends PackagesPermission
        ? GrantedPackages
        : P extends AccountPermission
          ? GrantedAccount
          : never;

/** What the binder opens for an endpoint, which its handler gets as `opened`. */
export type OpenedOf<E extends AnyEndpoint> = Granted<PermissionOf<E>>;
