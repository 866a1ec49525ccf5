// daemon/forge/organizations: organizations that users run, with members, teams and the repositories of teams.
// Start here: the factory of the services. organization-access.ts has the rules for seeing and owning an organization or a team.
import { createKeysetCursors } from "../../../storage/tables/forge/accounts/keyset-cursors.ts";
import type { Route } from "../../http/handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { createMembers } from "./members.service.ts";
import { organizationRoutes } from "./organizations.routes.ts";
import { createOrganizations, type OrganizationsDeps } from "./organizations.service.ts";
import { createOwnOrganizations, type OwnOrganizationsDeps } from "./own-organizations.service.ts";
import { teamRoutes } from "./teams.routes.ts";
import { createTeams } from "./teams.service.ts";

export interface ForgeOrganizationsDeps
  extends
    Omit<OrganizationsDeps, "cursors">,
    Omit<OwnOrganizationsDeps, "cursors" | "organizations"> {
  readonly urls: ForgeUrls;
}

/** Returns every route of organizations, their members and their teams, except the repositories of teams. */
export function createForgeOrganizationRoutes(deps: ForgeOrganizationsDeps): Route[] {
  const { db, urls } = deps;
  const cursors = createKeysetCursors();
  const organizations = createOrganizations({ ...deps, cursors });
  return [
    ...organizationRoutes({
      organizations,
      ownOrganizations: createOwnOrganizations({ ...deps, cursors, organizations }),
      members: createMembers({ db }),
      urls,
    }),
    ...teamRoutes({ teams: createTeams({ db }), urls }),
  ];
}
