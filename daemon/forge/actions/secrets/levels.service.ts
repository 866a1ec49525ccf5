import type { Database, Queries } from "../../../../storage/engine/database.ts";
import {
  type ActionLevel,
  instanceLevel,
} from "../../../../storage/tables/forge/actions/levels.ts";
import type { ForgeRepository } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../../errors.ts";
import { isPublicOnly } from "../../accounts/scopes.ts";
import type { ForgeCaller } from "../../caller.ts";
import { openRepository } from "../../repositories/open-repository.ts";
import { openAsOwner, openOrganization } from "../../organizations/organization-access.ts";
import { notFound } from "../../refusals.ts";
import { reaches } from "../../repositories/access.ts";
import type { RepositoryPath } from "../../repositories/repositories.service.ts";
import { hasActions } from "../runs/workflow-files.ts";

/**
 * Returns the level of a request, and throws when the caller may not change what it has. Called in the transaction of the
 * change, so that a right that ends meanwhile does not count.
 */
export type OpenLevel = (db: Queries) => Promise<ActionLevel> | ActionLevel;

/** Opens the levels of secrets, variables and runners for their owners. */
export type ActionLevels = ReturnType<typeof createActionLevels>;

export function createActionLevels({ db }: { readonly db: Database }) {
  return {
    ofInstance: instanceLevel,

    /** The level of the caller's own repositories. Throws `forbidden` for a public-only token. */
    ofUser(caller: ForgeCaller): ActionLevel {
      if (isPublicOnly(caller))
        throw new AppError("forbidden", "token scope is limited to public users");
      return { ownerId: caller.user.id, repositoryId: undefined };
    },

    /**
     * The level of a repository. Throws `not_found` for one that the caller may not read or that has no workflows,
     * `forbidden` for a caller who does not own it.
     * @param queries the transaction of a change
     */
    async ofRepository(
      path: RepositoryPath,
      caller: ForgeCaller,
      queries: Queries = db,
    ): Promise<ActionLevel> {
      const owned = await openRepository(queries, path, caller, "/actions");
      if (!hasActions(owned.repository)) throw notFound();
      if (!reaches(owned.access, "owner"))
        throw new AppError("forbidden", "user should be the owner of the repository");
      return { ownerId: undefined, repositoryId: owned.repository.id };
    },

    /** The level of an organization. Throws `not_found` for a hidden one, `forbidden` for a caller who does not own it. */
    async ofOrganization(
      name: string,
      caller: ForgeCaller,
      queries: Queries = db,
    ): Promise<ActionLevel> {
      const { organization } = await openAsOwner(queries, name, caller, "/actions");
      return { ownerId: organization.id, repositoryId: undefined };
    },

    /** The level of an organization that the caller is a member of. Throws as `ofOrganization` does. */
    async ofMember(name: string, caller: ForgeCaller): Promise<ActionLevel> {
      const opened = await openOrganization(db, name, caller, "/actions");
      if (!opened.isMember && !opened.isOwner)
        throw new AppError("forbidden", "Must be an organization member");
      return { ownerId: opened.organization.id, repositoryId: undefined };
    },
  };
}

/** Returns the levels that apply to a repository; a later one overrides an earlier one. */
export function toLevelsOf(repository: ForgeRepository): readonly ActionLevel[] {
  return [
    instanceLevel,
    { ownerId: repository.ownerId, repositoryId: undefined },
    { ownerId: undefined, repositoryId: repository.id },
  ];
}
