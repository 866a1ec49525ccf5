import type { NewForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { NewForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** The row of a person of whom nothing is known but the name. */
export function newUserRow(name: string, more: Partial<NewForgeUser> = {}): NewForgeUser {
  return {
    kind: "individual",
    name,
    fullName: "",
    email: `${name}@example.org`,
    keepEmailPrivate: false,
    loginSource: 0,
    loginName: "",
    passwordHash: "",
    mustChangePassword: false,
    isActive: true,
    isAdmin: false,
    isRestricted: false,
    prohibitLogin: false,
    twoFactorEnabled: false,
    allowGitHook: false,
    allowImportLocal: false,
    allowCreateOrganization: true,
    maxRepoCreation: -1,
    visibility: "public",
    website: "",
    location: "",
    description: "",
    language: "",
    avatarHash: "",
    repoAdminChangeTeamAccess: false,
    createdAt: 0,
    updatedAt: 0,
    ...more,
  };
}

/** The row of an empty repository in its owner's folder. */
export function newRepositoryRow(
  owner: { readonly id: UserId; readonly name: string },
  name: string,
  more: Partial<NewForgeRepository> = {},
): NewForgeRepository {
  return {
    ownerId: owner.id,
    name,
    description: "",
    isPrivate: false,
    isTemplate: false,
    settings: {},
    isEmpty: true,
    branchCount: 0,
    defaultBranch: "main",
    objectFormat: "sha1",
    trustModel: "default",
    licenses: [],
    sizeKib: 0,
    path: `${owner.name}/${name}.git`,
    needsMove: false,
    ...more,
  };
}
