import type { BodyOf } from "../../contract/endpoint.ts";
import { avatarEndpoints } from "../../contract/forge/accounts/avatars.ts";
import { adminOrgEndpoints } from "../../contract/forge/accounts/orgs.ts";
import { isVisibility } from "../../contract/forge/common.ts";
import { memberEndpoints } from "../../contract/forge/organizations/members.ts";
import { organizationEndpoints } from "../../contract/forge/organizations/organizations.ts";
import type { Route } from "../../http/handle.ts";
import { toOrganizationView } from "../accounts/organization.view.ts";
import type { NewOrganization, Organizations } from "./organizations.service.ts";
import { toUserView } from "../accounts/user.view.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Members } from "./members.service.ts";
import {
  type OrganizationEdit,
  type OwnOrganizations,
  toPermissionsView,
} from "./own-organizations.service.ts";

/** Routes of organizations, of both administrators and owners, and of their members. */
export function organizationRoutes(services: {
  readonly organizations: Organizations;
  readonly ownOrganizations: OwnOrganizations;
  readonly members: Members;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    ...allOrganizationRoutes(services),
    ...ownOrganizationRoutes(services),
    ...memberRoutes(services),
  ];
}

function allOrganizationRoutes({
  organizations,
  urls,
}: {
  readonly organizations: Organizations;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    handle(adminOrgEndpoints.listOrganizations, async ({ caller, query }) => {
      const { users: found, total } = await organizations.list(query, caller);
      return { status: 200, body: found.map((each) => toOrganizationView(each, urls)), total };
    }),
    handle(adminOrgEndpoints.listOwnOrganizations, async ({ caller, query }) => {
      const { organizations: page, total } = await organizations.listOwn(query, caller);
      return { status: 200, body: page.map((each) => toOrganizationView(each, urls)), total };
    }),
    handle(adminOrgEndpoints.createOrganization, async ({ params, body }) => {
      // The administrators' request has neither an address nor the access of teams.
      const input = { ...toNewOrganization(body), email: "", repoAdminChangeTeamAccess: false };
      const made = await organizations.create(params.username, input);
      return { status: 201, body: toOrganizationView(made, urls) };
    }),
    handle(adminOrgEndpoints.getOrganization, async ({ caller, params }) => ({
      status: 200,
      body: toOrganizationView(await organizations.get(params.org, caller), urls),
    })),
  ];
}

function ownOrganizationRoutes({
  ownOrganizations,
  urls,
}: {
  readonly ownOrganizations: OwnOrganizations;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    handle(organizationEndpoints.listVisibleOrganizations, async ({ caller, query }) => {
      const { users, total } = await ownOrganizations.listVisible(query, caller);
      return { status: 200, body: users.map((each) => toOrganizationView(each, urls)), total };
    }),
    handle(organizationEndpoints.createOwnOrganization, async ({ caller, body }) => {
      const made = await ownOrganizations.create(toNewOrganization(body), caller);
      return { status: 201, body: toOrganizationView(made, urls) };
    }),
    handle(organizationEndpoints.editOrganization, async ({ caller, params, body }) => {
      const edited = await ownOrganizations.edit(params.org, toEdit(body), caller);
      return { status: 200, body: toOrganizationView(edited, urls) };
    }),
    handle(organizationEndpoints.deleteOrganization, async ({ caller, params }) => {
      await ownOrganizations.remove(params.org, caller);
      return { status: 204 };
    }),
    handle(organizationEndpoints.renameOrganization, async ({ caller, params, body }) => {
      await ownOrganizations.rename(params.org, body.new_name, caller);
      return { status: 204 };
    }),
    handle(avatarEndpoints.setOrganizationAvatar, async ({ caller, params, body }) => {
      await ownOrganizations.setAvatar(params.org, body.image, caller);
      return { status: 204 };
    }),
    handle(avatarEndpoints.deleteOrganizationAvatar, async ({ caller, params }) => {
      await ownOrganizations.removeAvatar(params.org, caller);
      return { status: 204 };
    }),
    handle(organizationEndpoints.listOrganizationsOfUser, async ({ caller, params, query }) => {
      const found = await ownOrganizations.listOf(params.username, query, caller);
      const body = found.organizations.map((each) => toOrganizationView(each, urls));
      return { status: 200, body, total: found.total };
    }),
    handle(organizationEndpoints.getOrganizationPermissions, async ({ caller, params }) => {
      const { username, org } = params;
      const permissions = await ownOrganizations.getPermissions(username, org, caller);
      return { status: 200, body: toPermissionsView(permissions) };
    }),
  ];
}

function memberRoutes({
  members,
  urls,
}: {
  readonly members: Members;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    handle(memberEndpoints.listMembers, async ({ caller, params, query }) => {
      const window = { ...query, isPublicOnly: false };
      const { users, total } = await members.list(params.org, window, caller);
      return { status: 200, body: users.map((user) => toUserView(user, caller.user, urls)), total };
    }),
    handle(memberEndpoints.getMember, async ({ caller, params }) => {
      await members.assertIsOne(params.org, params.member, caller, false);
      return { status: 204 };
    }),
    handle(memberEndpoints.deleteMember, async ({ caller, params }) => {
      await members.remove(params.org, params.member, caller);
      return { status: 204 };
    }),
    handle(memberEndpoints.listPublicMembers, async ({ caller, params, query }) => {
      const window = { ...query, isPublicOnly: true };
      const { users, total } = await members.list(params.org, window, caller);
      const body = users.map((user) => toUserView(user, caller?.user, urls));
      return { status: 200, body, total };
    }),
    handle(memberEndpoints.getPublicMember, async ({ caller, params }) => {
      await members.assertIsOne(params.org, params.member, caller, true);
      return { status: 204 };
    }),
    handle(memberEndpoints.publicizeMember, async ({ caller, params }) => {
      await members.setPublic(params.org, params.member, true, caller);
      return { status: 204 };
    }),
    handle(memberEndpoints.concealMember, async ({ caller, params }) => {
      await members.setPublic(params.org, params.member, false, caller);
      return { status: 204 };
    }),
  ];
}

function toNewOrganization(
  body: BodyOf<typeof organizationEndpoints.createOwnOrganization>,
): NewOrganization {
  return {
    name: body.username,
    fullName: body.full_name ?? "",
    email: body.email ?? "",
    description: body.description ?? "",
    website: body.website ?? "",
    location: body.location ?? "",
    visibility: toVisibility(body.visibility) ?? "public",
    repoAdminChangeTeamAccess: body.repo_admin_change_team_access ?? false,
  };
}

function toEdit(body: BodyOf<typeof organizationEndpoints.editOrganization>): OrganizationEdit {
  return {
    fullName: body.full_name ?? undefined,
    email: body.email ?? undefined,
    description: body.description ?? undefined,
    website: body.website ?? undefined,
    location: body.location ?? undefined,
    visibility: toVisibility(body.visibility),
    repoAdminChangeTeamAccess: body.repo_admin_change_team_access ?? undefined,
  };
}

function toVisibility(word: string | null | undefined) {
  return word != null && isVisibility(word) ? word : undefined;
}
