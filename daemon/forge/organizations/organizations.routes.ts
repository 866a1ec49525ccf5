import type { BodyOf } from "../../contract/endpoint.ts";
import { avatarEndpoints } from "../../contract/forge/accounts/avatars.ts";
import { adminOrgEndpoints } from "../../contract/forge/accounts/orgs.ts";
import { isVisibility } from "../../contract/forge/common.ts";
import { memberEndpoints } from "../../contract/forge/organizations/members.ts";
import { organizationEndpoints } from "../../contract/forge/organizations/organizations.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { toOrganizationView } from "../accounts/organization.view.ts";
import type { NewOrganization, Organizations } from "./organizations.service.ts";
import { toUserView } from "../accounts/user.view.ts";
import { serve, serveSome } from "../handle.ts";
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
  const toPage = (found: readonly Parameters<typeof toOrganizationView>[0][], total: number) =>
    page(
      found.map((each) => toOrganizationView(each, urls)),
      total,
    );
  return serve(adminOrgEndpoints, {
    listOrganizations: async ({ caller, query }) => {
      const { users, total } = await organizations.list(query, caller);
      return toPage(users, total);
    },
    listOwnOrganizations: async ({ caller, query }) => {
      const { organizations: own, total } = await organizations.listOwn(query, caller);
      return toPage(own, total);
    },
    createOrganization: async ({ params, body }) => {
      // The administrators' request has neither an address nor the access of teams.
      const input = { ...toNewOrganization(body), email: "", repoAdminChangeTeamAccess: false };
      return toOrganizationView(await organizations.create(params.username, input), urls);
    },
    getOrganization: async ({ opened }) => toOrganizationView(opened.organization, urls),
  });
}

function ownOrganizationRoutes({
  ownOrganizations,
  urls,
}: {
  readonly ownOrganizations: OwnOrganizations;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    ...serve(organizationEndpoints, {
      listVisibleOrganizations: async ({ caller, query }) => {
        const { users, total } = await ownOrganizations.listVisible(query, caller);
        return page(
          users.map((each) => toOrganizationView(each, urls)),
          total,
        );
      },
      createOwnOrganization: async ({ caller, body }) =>
        toOrganizationView(await ownOrganizations.create(toNewOrganization(body), caller), urls),
      editOrganization: async ({ opened, body }) =>
        toOrganizationView(await ownOrganizations.edit(opened, toEdit(body)), urls),
      deleteOrganization: ({ opened }) => ownOrganizations.remove(opened),
      renameOrganization: ({ opened, body }) => ownOrganizations.rename(opened, body.new_name),
      listOrganizationsOfUser: async ({ caller, params, query }) => {
        const found = await ownOrganizations.listOf(params.username, query, caller);
        return page(
          found.organizations.map((each) => toOrganizationView(each, urls)),
          found.total,
        );
      },
      getOrganizationPermissions: async ({ opened, caller, params }) =>
        toPermissionsView(await ownOrganizations.getPermissions(opened, params.username, caller)),
    }),
    ...serveSome(avatarEndpoints, {
      setOrganizationAvatar: ({ opened, body }) => ownOrganizations.setAvatar(opened, body.image),
      deleteOrganizationAvatar: ({ opened }) => ownOrganizations.removeAvatar(opened),
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
  return serve(memberEndpoints, {
    listMembers: async ({ opened, caller, query }) => {
      const { users, total } = await members.list(
        opened,
        { ...query, isPublicOnly: false },
        caller,
      );
      return page(
        users.map((user) => toUserView(user, caller.user, urls)),
        total,
      );
    },
    getMember: ({ opened, caller, params }) =>
      members.assertIsOne(opened, params.member, caller, false),
    deleteMember: ({ opened, caller, params }) => members.remove(opened, params.member, caller),
    listPublicMembers: async ({ opened, caller, query }) => {
      const { users, total } = await members.list(opened, { ...query, isPublicOnly: true }, caller);
      return page(
        users.map((user) => toUserView(user, caller?.user, urls)),
        total,
      );
    },
    getPublicMember: ({ opened, caller, params }) =>
      members.assertIsOne(opened, params.member, caller, true),
    publicizeMember: ({ opened, caller, params }) =>
      members.setPublic(opened, params.member, true, caller),
    concealMember: ({ opened, caller, params }) =>
      members.setPublic(opened, params.member, false, caller),
  });
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
