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

/**
 * What a caller needs on the resource in the path of an operation. The binder opens the resource before it reads the
 * body, refuses the caller without the permission, and hands the handler what it opened.
 */
export type Permission = RepositoryPermission | OrganizationPermission | AccountPermission;

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

export const ownAccount: AccountPermission = { kind: "account" };
