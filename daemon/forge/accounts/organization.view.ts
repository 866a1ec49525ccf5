import type { ForgeUser } from "../../../storage/tables/forge/users.ts";
import type { WireOrganization } from "../../contract/forge/admin-orgs.ts";
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
