import {
  ADMIN_ACCESS,
  type ForgeTeam,
  repositoryUnits,
} from "../../../storage/tables/forge/accounts/teams.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  teamPermissions,
  type WireOrganization,
  type WireTeam,
} from "../../contract/forge/accounts/orgs.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";

/** An organization. */
export function toOrganizationView(organization: ForgeUser, urls: ForgeUrls): WireOrganization {
  return {
    id: organization.id,
    name: organization.name,
    full_name: organization.fullName,
    email: organization.email,
    avatar_url: toUrl(urls, `/avatars/${organization.avatarHash}`),
    description: organization.description,
    website: organization.website,
    location: organization.location,
    visibility: organization.visibility,
    repo_admin_change_team_access: organization.repoAdminChangeTeamAccess,
    username: organization.name,
  };
}

/**
 * Converts a team. Every unit of an administering team has its permission, except external trackers and wikis, which
 * are read-only.
 */
export function toTeamView(team: ForgeTeam, organization: ForgeUser, urls: ForgeUrls): WireTeam {
  const permission = teamPermissions[team.access] ?? "none";
  const units = repositoryUnits.flatMap((unit): [string, string][] => {
    if (team.access >= ADMIN_ACCESS)
      return [[unit, unit.startsWith("repo.ext_") ? "read" : permission]];
    const word = teamPermissions[team.units.get(unit) ?? 0];
    return team.units.has(unit) && word !== undefined ? [[unit, word]] : [];
  });
  return {
    id: team.id,
    name: team.name,
    description: team.description,
    organization: toOrganizationView(organization, urls),
    includes_all_repositories: team.includesAllRepositories,
    permission,
    units: units.map(([unit]) => unit),
    units_map: Object.fromEntries(units),
    can_create_org_repo: team.canCreateRepositories,
    visibility: team.visibility,
  };
}
