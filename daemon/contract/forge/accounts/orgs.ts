import { z } from "zod";
import { anyoneWithin, endpoint, forgeUser, siteAdmin } from "../../endpoint.ts";
import {
  apiError,
  bindingNames,
  optionalFlag,
  optionalText,
  optionalVisibility,
  paging,
  requiredText,
  signedInReplies,
  usernameParams,
  visibilityWords,
  wireId,
} from "../common.ts";
import { isUserName, isWebUrl } from "../rules.ts";

/** An organization; `name` and `username` are the same. */
export const organizationShape = z.object({
  id: wireId,
  name: z.string(),
  full_name: z.string(),
  email: z.string(),
  avatar_url: z.string(),
  description: z.string(),
  website: z.string(),
  location: z.string(),
  visibility: z.enum(visibilityWords),
  repo_admin_change_team_access: z.boolean(),
  username: z.string(),
});
export type WireOrganization = z.output<typeof organizationShape>;

/** Permissions of teams, from least to most. */
export const teamPermissions = ["none", "read", "write", "admin", "owner"] as const;

/** A team of an organization. */
export const teamShape = z.object({
  id: wireId,
  name: z.string(),
  description: z.string(),
  organization: organizationShape,
  includes_all_repositories: z.boolean(),
  permission: z.enum(teamPermissions),
  units: z.array(z.string()),
  units_map: z.record(z.string(), z.string()),
  can_create_org_repo: z.boolean(),
  visibility: z.enum(visibilityWords),
});
export type WireTeam = z.output<typeof teamShape>;

/** Texts and settings that creation and edit have in common. */
const organizationFields = {
  full_name: optionalText({ max: 100 }),
  email: optionalText({ max: 255 }),
  description: optionalText({ max: 255 }),
  website: optionalText({ max: 255, rules: [["Url", isWebUrl]] }),
  location: optionalText({ max: 50 }),
  visibility: optionalVisibility,
  repo_admin_change_team_access: optionalFlag,
};

export const organizationEditBody = z.object(organizationFields);

export const newOrganizationBody = z.object({
  username: requiredText({ max: 40, rules: [["invalid username", isUserName]] }).register(
    bindingNames,
    {
      field: "UserName",
      form: "user_name",
    },
  ),
  ...organizationFields,
});

export const listOrganizations = endpoint({
  name: "forge.admin.orgs.list",
  method: "GET",
  path: "/api/v1/admin/orgs",
  summary: "All organizations, by name",
  gate: siteAdmin,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(organizationShape), ...signedInReplies },
});

export const createOrganization = endpoint({
  name: "forge.admin.orgs.create",
  method: "POST",
  path: "/api/v1/admin/users/:username/orgs",
  summary: "Create an organization that a user owns",
  gate: siteAdmin,
  params: usernameParams,
  body: newOrganizationBody,
  replies: { 201: organizationShape, ...signedInReplies, 404: apiError, 422: apiError },
});

export const getOrganization = endpoint({
  name: "forge.orgs.get",
  method: "GET",
  path: "/api/v1/orgs/:org",
  summary: "An organization by name",
  gate: anyoneWithin("organization"),
  params: z.object({ org: z.string() }),
  replies: { 200: organizationShape, ...signedInReplies, 404: apiError },
});

export const listOwnOrganizations = endpoint({
  name: "forge.user.orgs.list",
  method: "GET",
  path: "/api/v1/user/orgs",
  summary: "The organizations that you are a member of, by name",
  gate: forgeUser("organization"),
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(organizationShape), ...signedInReplies },
});

export const adminOrgEndpoints = {
  listOrganizations,
  createOrganization,
  getOrganization,
  listOwnOrganizations,
};
