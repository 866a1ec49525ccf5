import type { Database } from "../../../storage/engine/database.ts";
import { type ForgeUser, listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import { listRepositoriesOfMember } from "../../../storage/tables/forge/repositories/lists.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  type RepositorySearch,
  searchRepositories,
} from "../../../storage/tables/forge/repositories/search.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { getVisibleAccount } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedOrganization } from "../opened.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { findAccess } from "./access.ts";
import { withParents } from "./parents.ts";
import type { RepositoryDetails } from "./repository.view.ts";

/** A page of repositories, and the count of all matches. */
export interface RepositoryPage {
  readonly repositories: readonly RepositoryDetails[];
  readonly total: number;
}

export type RepositoryLists = ReturnType<typeof createRepositoryLists>;

/** Lists of repositories. They never contain one that the caller may not read. */
export function createRepositoryLists({ db }: { readonly db: Database }) {
  return {
    /** Returns a page of the repositories that the caller owns or reaches through a team, by name. */
    async listOwn(caller: ForgeCaller, window: PageWindow): Promise<RepositoryPage> {
      const { user } = caller;
      const { repositories, total } = await listRepositoriesOfMember(db, user.id, {
        ...toRows(window),
        isPublicOnly: isPublicOnly(caller),
      });
      return { repositories: await see(repositories, caller), total };
    },

    /**
     * Returns a page of an account's repositories, last updated first. Throws `not_found` for an account that is hidden
     * from the caller, `forbidden` for a non-public one with a public-only token.
     */
    async listOf(
      name: string,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<RepositoryPage> {
      return latestOf(await getVisibleAccount(db, name, caller), window, caller);
    },

    /** As `listOf`, for an organization. */
    listOfOrganization: (
      { organization }: GrantedOrganization,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<RepositoryPage> => latestOf(organization, window, caller),

    search,
    /** Adds counts and the permission of the viewer to repositories that the viewer may read. */
    toDetails: see,
  };

  async function latestOf(
    { id }: ForgeUser,
    window: PageWindow,
    caller: ForgeCaller | undefined,
  ): Promise<RepositoryPage> {
    return search(
      {
        ownerId: id,
        term: "",
        includesDescription: false,
        isPublicOnly: false,
        sort: "updated",
        descending: true,
      },
      window,
      caller,
    );
  }

  async function search(
    search: Omit<RepositorySearch, "reader">,
    window: PageWindow,
    caller: ForgeCaller | undefined,
  ): Promise<RepositoryPage> {
    const query = {
      ...search,
      reader: caller?.user,
      isPublicOnly: search.isPublicOnly || isPublicOnly(caller),
    };
    const { repositories, total } = await searchRepositories(db, query, toRows(window));
    return { repositories: await see(repositories, caller), total };
  }

  async function see(
    found: readonly ForgeRepository[],
    caller: Pick<ForgeCaller, "user" | "scope"> | undefined,
  ): Promise<RepositoryDetails[]> {
    const ownerIds = [...new Set(found.map(({ ownerId }) => ownerId))];
    const owners = new Map((await listUsersByIds(db, ownerIds)).map((owner) => [owner.id, owner]));
    const watchers = await countWatchers(
      db,
      found.map(({ id }) => id),
    );
    const repositories: RepositoryDetails[] = [];
    for (const repository of found) {
      const owner = owners.get(repository.ownerId);
      // Deleted between two queries.
      if (owner === undefined) continue;
      const access = await findAccess(db, { repository, owner }, caller?.user);
      const watching = watchers.get(repository.id) ?? 0;
      const isSignedIn = caller !== undefined;
      repositories.push({ repository, owner, watchers: watching, access, isSignedIn });
    }
    return withParents(db, repositories, caller);
  }
}
