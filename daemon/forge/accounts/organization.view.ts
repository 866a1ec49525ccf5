import type { ForgeTeam } from "../../../storage/tables/forge/accounts/orgs.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  teamPermissions,
  type WireOrganization,
  type WireTeam,
} from "../../contract/forge/accounts/orgs.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";

/** An organization (forge behaviour, 7.2). */
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

/** A team of an organization: what it may do, it may in every part of a repository. */
export function toTeamView(team: ForgeTeam, organization: ForgeUser, urls: ForgeUrls): WireTeam {
  const permission = teamPermissions[team.access] ?? "none";
  return {
    id: team.id,
    name: team.name,
    description: "",
    organization: toOrganizationView(organization, urls),
    includes_all_repositories: team.includesAllRepositories,
    permission,
    units: [...repositoryUnits],
    units_map: Object.fromEntries(repositoryUnits.map((unit) => [unit, permission])),
    can_create_org_repo: team.canCreateRepositories,
    visibility: "private",
  };
}

const repositoryUnits = [
  "repo.code",
  "repo.issues",
  "repo.ext_issues",
  "repo.pulls",
  "repo.releases",
  "repo.wiki",
  "repo.ext_wiki",
  "repo.projects",
  "repo.packages",
  "repo.actions",
] as const;
