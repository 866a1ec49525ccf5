import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, paging, requiredText, signedInReplies, usernameParams } from "../common.ts";
import { newOrganizationBody, organizationEditBody, organizationShape } from "../accounts/orgs.ts";

export const organizationParams = z.object({ org: z.string() });
/** The refusals of a route below an organization. */
export const belowOrganization = { ...signedInReplies, 404: apiError } as const;

export const listVisibleOrganizations = endpoint({
  name: "forge.orgs.list",
  method: "GET",
  path: "/api/v1/orgs",
  summary: "The organizations that you may see, by name",
  gate: anyoneWithin("organization"),
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(organizationShape), ...signedInReplies },
});

export const createOwnOrganization = endpoint({
  name: "forge.orgs.create",
  method: "POST",
  path: "/api/v1/orgs",
  summary: "Create an organization that you own",
  gate: forgeUser("organization"),
  body: newOrganizationBody,
  replies: { 201: organizationShape, ...signedInReplies, 422: apiError },
});

export const editOrganization = endpoint({
  name: "forge.orgs.edit",
  method: "PATCH",
  path: "/api/v1/orgs/:org",
  summary: "Change an organization that you own; absent members stay as they are",
  gate: forgeUser("organization"),
  params: organizationParams,
  body: organizationEditBody,
  replies: { 200: organizationShape, ...belowOrganization, 422: apiError },
});

export const deleteOrganization = endpoint({
  name: "forge.orgs.delete",
  method: "DELETE",
  path: "/api/v1/orgs/:org",
  summary: "Delete an organization that you own and that owns no repositories and packages",
  gate: forgeUser("organization"),
  params: organizationParams,
  replies: { 204: empty, ...belowOrganization, 422: apiError },
});

export const renameOrganization = endpoint({
  name: "forge.orgs.rename",
  method: "POST",
  path: "/api/v1/orgs/:org/rename",
  summary: "Rename an organization that you own; its former name redirects",
  gate: forgeUser("organization"),
  params: organizationParams,
  body: z.object({ new_name: requiredText() }),
  replies: { 204: empty, ...belowOrganization, 422: apiError },
});

export const listOrganizationsOfUser = endpoint({
  name: "forge.users.orgs.list",
  method: "GET",
  path: "/api/v1/users/:username/orgs",
  summary: "The organizations of a user whose membership you may know, by name",
  gate: forgeUser("organization"),
  params: usernameParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(organizationShape), ...belowOrganization },
  apiOnly: '"croft org list" shows your own organizations',
});

/** The permissions of a user in an organization. */
const permissionsShape = z.object({
  is_owner: z.boolean(),
  is_admin: z.boolean(),
  can_write: z.boolean(),
  can_read: z.boolean(),
  can_create_repository: z.boolean(),
});

export const getOrganizationPermissions = endpoint({
  name: "forge.users.orgs.permissions",
  method: "GET",
  path: "/api/v1/users/:username/orgs/:org/permissions",
  summary: "The permissions of a user in an organization",
  gate: forgeUser("organization"),
  params: z.object({ username: z.string(), org: z.string() }),
  replies: { 200: permissionsShape, ...belowOrganization },
});

export const organizationEndpoints = {
  listVisibleOrganizations,
  createOwnOrganization,
  editOrganization,
  deleteOrganization,
  renameOrganization,
  listOrganizationsOfUser,
  getOrganizationPermissions,
};
