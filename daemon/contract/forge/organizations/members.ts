import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, paging } from "../common.ts";
import { userShape } from "../accounts/users.ts";
import { belowOrganization, organizationParams } from "./organizations.ts";

const params = organizationParams.extend({ member: z.string() });

export const listMembers = endpoint({
  name: "forge.orgs.members.list",
  method: "GET",
  path: "/api/v1/orgs/:org/members",
  summary: "The members of an organization, by name; to others than members the public ones",
  gate: forgeUser("organization"),
  params: organizationParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(userShape), ...belowOrganization },
});

export const getMember = endpoint({
  name: "forge.orgs.members.get",
  method: "GET",
  path: "/api/v1/orgs/:org/members/:member",
  summary: "Whether a user is a member; to others than members, whether a public one",
  gate: forgeUser("organization"),
  params,
  replies: { 204: empty, ...belowOrganization },
  apiOnly: '"croft org member list" shows all of them',
});

export const deleteMember = endpoint({
  name: "forge.orgs.members.delete",
  method: "DELETE",
  path: "/api/v1/orgs/:org/members/:member",
  summary: "Remove a member from an organization and its teams",
  gate: forgeUser("organization"),
  params,
  replies: { 204: empty, ...belowOrganization, 422: apiError },
});

export const listPublicMembers = endpoint({
  name: "forge.orgs.public_members.list",
  method: "GET",
  path: "/api/v1/orgs/:org/public_members",
  summary: "The members of an organization who show their membership, by name",
  gate: anyoneWithin("organization"),
  params: organizationParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(userShape), ...belowOrganization },
});

export const getPublicMember = endpoint({
  name: "forge.orgs.public_members.get",
  method: "GET",
  path: "/api/v1/orgs/:org/public_members/:member",
  summary: "Whether a user is a public member",
  gate: anyoneWithin("organization"),
  params,
  replies: { 204: empty, ...belowOrganization },
  apiOnly: '"croft org member list --public" shows all of them',
});

export const publicizeMember = endpoint({
  name: "forge.orgs.public_members.put",
  method: "PUT",
  path: "/api/v1/orgs/:org/public_members/:member",
  summary: "Show a membership: your own, or as an owner of the organization",
  gate: forgeUser("organization"),
  params,
  replies: { 204: empty, ...belowOrganization },
});

export const concealMember = endpoint({
  name: "forge.orgs.public_members.delete",
  method: "DELETE",
  path: "/api/v1/orgs/:org/public_members/:member",
  summary: "Hide a membership: your own, or as an owner of the organization",
  gate: forgeUser("organization"),
  params,
  replies: { 204: empty, ...belowOrganization },
});

export const memberEndpoints = {
  listMembers,
  getMember,
  deleteMember,
  listPublicMembers,
  getPublicMember,
  publicizeMember,
  concealMember,
};
