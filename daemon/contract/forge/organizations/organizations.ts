import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import { organization } from "../../permission.ts";
import { requiredText, usernameParams } from "../common.ts";
import { newOrganizationBody, organizationEditBody, organizationShape } from "../accounts/orgs.ts";

export const organizationParams = z.object({ org: z.string() });

/** The permissions of a user in an organization. */
const permissionsShape = z.object({
  is_owner: z.boolean(),
  is_admin: z.boolean(),
  can_write: z.boolean(),
  can_read: z.boolean(),
  can_create_repository: z.boolean(),
});

export const organizationEndpoints = {
  ...resource(
    {
      name: "forge.orgs",
      path: "/api/v1/orgs",
      id: { org: z.string() },
      shape: organizationShape,
      gate: openTo("organization"),
    },
    ({ list, create, edit, remove, operation }) => ({
      listVisibleOrganizations: list("The organizations that you may see, by name"),
      createOwnOrganization: create("Create an organization that you own", newOrganizationBody),
      editOrganization: edit(
        "Change an organization that you own; absent members stay as they are",
        organizationEditBody,
        { on: organization("owner") },
      ),
      deleteOrganization: remove(
        "Delete an organization that you own and that owns no repositories and packages",
        { refuses: [422], on: organization("owner") },
      ),
      renameOrganization: operation({
        method: "POST",
        item: true,
        at: "rename",
        summary: "Rename an organization that you own; its former name redirects",
        body: z.object({ new_name: requiredText() }),
        replies: { 204: empty },
        on: organization("owner"),
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.users.orgs",
      path: "/api/v1/users/:username/orgs",
      params: usernameParams,
      shape: organizationShape,
      gate: forgeUser("organization"),
    },
    ({ list, operation }) => ({
      listOrganizationsOfUser: list(
        "The organizations of a user whose membership you may know, by name",
        { apiOnly: '"croft org list" shows your own organizations' },
      ),
      getOrganizationPermissions: operation({
        method: "GET",
        at: ":org/permissions",
        summary: "The permissions of a user in an organization",
        params: z.object({ username: z.string(), org: z.string() }),
        on: organization("viewer"),
        replies: { 200: permissionsShape },
      }),
    }),
  ),
};
