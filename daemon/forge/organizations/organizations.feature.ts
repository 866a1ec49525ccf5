// daemon/forge/organizations: organizations that users run, with members, teams and the repositories of teams.
// Start here: the factory of the services. organization-access.ts has the rules for seeing and owning an organization or a team.
import { createKeysetCursors } from "../../../storage/tables/forge/accounts/keyset-cursors.ts";
import type { ForgeFeature } from "../feature.ts";
import type { Repositories } from "../repositories/repositories.service.ts";
import type { RepositoryLists } from "../repositories/repository-lists.service.ts";
import type { ForgeUrls } from "../urls.ts";
import { createMembers } from "./members.service.ts";
import { organizationRoutes } from "./organizations.routes.ts";
import { createOrganizations, type OrganizationsDeps } from "./organizations.service.ts";
import { createOwnOrganizations, type OwnOrganizationsDeps } from "./own-organizations.service.ts";
import { createTeamRepositories } from "./team-repositories.service.ts";
import { teamRoutes } from "./teams.routes.ts";
import { createTeams } from "./teams.service.ts";

export interface ForgeOrganizationsDeps
  extends
    Omit<OrganizationsDeps, "cursors">,
    Omit<OwnOrganizationsDeps, "cursors" | "organizations"> {
  readonly repositories: Pick<Repositories, "get">;
  readonly lists: RepositoryLists;
  readonly urls: ForgeUrls;
}

/** Organizations, their members, and their teams with their repositories. */
export function createForgeOrganizations(deps: ForgeOrganizationsDeps) {
  const { db, repositories, lists, urls } = deps;
  const cursors = createKeysetCursors();
  const organizations = createOrganizations({ ...deps, cursors });
  return {
    routes: [
      ...organizationRoutes({
        organizations,
        ownOrganizations: createOwnOrganizations({ ...deps, cursors, organizations }),
        members: createMembers({ db }),
        urls,
      }),
      ...teamRoutes({
        teams: createTeams(deps),
        teamRepositories: createTeamRepositories({ db, lists }),
        repositories,
        urls,
      }),
    ],
  } satisfies ForgeFeature;
}
