/**
 * The parts of a repository that have permissions of their own; `any`: a permission on one part is enough.
 * `issues_or_pulls`: that of the kind of the issue in the path, or else of either kind.
 */
export type RepositoryPart =
  | "code"
  | "issues"
  | "pulls"
  | "issues_or_pulls"
  | "releases"
  | "wiki"
  | "actions"
  | "any";

/** The permissions on a repository; each includes those before it. */
export type RepositoryLevel = "read" | "write" | "admin" | "owner";

/** The roles in an organization: a user who may see it, a member, and an owner. */
export type OrganizationRole = "viewer" | "member" | "owner";

/** The roles for a team: a user who may see the team, and an owner of its organization. */
export type TeamRole = "viewer" | "owner";

/** The permissions on the packages of an owner; `write` includes `read`. */
export type PackagesLevel = "read" | "write";

/**
 * What a caller needs on the resource in the path of an operation. The binder opens the resource before it reads the
 * body, refuses the caller without the permission, and hands the handler what it opened.
 */
export type Permission =
  | RepositoryPermission
  | OrganizationPermission
  | TeamPermission
  | PackagesPermission
  | AccountPermission;

/** A permission on one part of the repository in the path. */
export interface RepositoryPermission {
  readonly kind: "repository";
  readonly part: RepositoryPart;
  readonly level: RepositoryLevel;
  /** Set where the part may be turned off. */
  readonly evenOff?: true;
  /**
   * Set where the service checks the level, because it depends on more than the repository: an author may change their
   * own comment. The binder then requires `read`.
   */
  readonly checkedBy?: "service";
}

/** A role in the organization in the path. */
export interface OrganizationPermission {
  readonly kind: "organization";
  readonly role: OrganizationRole;
}

/** A role for the team in the path. */
export interface TeamPermission {
  readonly kind: "team";
  readonly role: TeamRole;
}

/** A permission on the packages of the owner in the path, a user or an organization. */
export interface PackagesPermission {
  readonly kind: "packages";
  readonly level: PackagesLevel;
}

/** The caller's own account, without a path; a token for public things only is refused. */
export interface AccountPermission {
  readonly kind: "account";
}

/** The permission `level` on a part of the repository in the path. An operation other than GET refuses an archived repository. */
export const repository = (
  part: RepositoryPart,
  level: RepositoryLevel,
  more: Pick<RepositoryPermission, "evenOff" | "checkedBy"> = {},
): RepositoryPermission => ({ kind: "repository", part, level, ...more });

/** A role in the organization in the path. */
export const organization = (role: OrganizationRole): OrganizationPermission => ({
  kind: "organization",
  role,
});

/** A role for the team in the path. */
export const team = (role: TeamRole): TeamPermission => ({ kind: "team", role });

/** The permission `level` on the packages of the owner in the path. */
export const packages = (level: PackagesLevel): PackagesPermission => ({ kind: "packages", level });

/** Reading the packages of the owner in the path, and changing them. */
export const packagesOfOwner = { read: packages("read"), change: packages("write") } as const;

export const ownAccount: AccountPermission = { kind: "account" };
