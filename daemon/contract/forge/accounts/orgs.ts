import { z } from "zod";
import { resource } from "../resource.ts";
import { anyoneWithin, forgeUser, siteAdmin } from "../../endpoint.ts";
import { organization } from "../../permission.ts";
import {
  bindingNames,
  optionalFlag,
  optionalText,
  optionalVisibility,
  requiredText,
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

export const adminOrgEndpoints = {
  ...resource(
    {
      name: "forge.admin.orgs",
      path: "/api/v1/admin/orgs",
      shape: organizationShape,
      gate: siteAdmin,
    },
    ({ list }) => ({
      listOrganizations: list("All organizations, by name"),
    }),
  ),
  ...resource(
    {
      name: "forge.admin.orgs",
      path: "/api/v1/admin/users/:username/orgs",
      params: usernameParams,
      shape: organizationShape,
      gate: siteAdmin,
    },
    ({ create }) => ({
      createOrganization: create("Create an organization that a user owns", newOrganizationBody),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs",
      path: "/api/v1/orgs/:org",
      params: z.object({ org: z.string() }),
      shape: organizationShape,
      gate: anyoneWithin("organization"),
      on: organization("viewer"),
    },
    ({ get }) => ({
      getOrganization: get("An organization by name"),
    }),
  ),
  ...resource(
    {
      name: "forge.user.orgs",
      path: "/api/v1/user/orgs",
      shape: organizationShape,
      gate: forgeUser("organization"),
    },
    ({ list }) => ({
      listOwnOrganizations: list("The organizations that you are a member of, by name"),
    }),
  ),
};
