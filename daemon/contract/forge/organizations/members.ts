import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import { organization } from "../../permission.ts";
import { userShape } from "../accounts/users.ts";
import { organizationParams } from "./organizations.ts";

export const memberEndpoints = {
  ...resource(
    {
      name: "forge.orgs.members",
      path: "/api/v1/orgs/:org/members",
      params: organizationParams,
      id: { member: z.string() },
      shape: userShape,
      gate: forgeUser("organization"),
      on: organization("viewer"),
    },
    ({ list, remove, operation }) => ({
      listMembers: list(
        "The members of an organization, by name; to others than members the public ones",
      ),
      getMember: operation({
        as: "get",
        method: "GET",
        item: true,
        summary: "Whether a user is a member; to others than members, whether a public one",
        replies: { 204: empty },
        apiOnly: '"croft org member list" shows all of them',
      }),
      deleteMember: remove("Remove a member from an organization and its teams", {
        refuses: [422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs.public_members",
      path: "/api/v1/orgs/:org/public_members",
      params: organizationParams,
      id: { member: z.string() },
      shape: userShape,
      gate: openTo("organization"),
      on: organization("viewer"),
    },
    ({ list, remove, operation }) => ({
      listPublicMembers: list("The members of an organization who show their membership, by name"),
      getPublicMember: operation({
        as: "get",
        method: "GET",
        item: true,
        summary: "Whether a user is a public member",
        replies: { 204: empty },
        apiOnly: '"croft org member list --public" shows all of them',
      }),
      publicizeMember: operation({
        as: "put",
        method: "PUT",
        item: true,
        summary: "Show a membership: your own, or as an owner of the organization",
        replies: { 204: empty },
        on: organization("member"),
      }),
      concealMember: remove("Hide a membership: your own, or as an owner of the organization", {
        on: organization("member"),
      }),
    }),
  ),
};
