import { z } from "zod";
import { empty, forgeUser } from "../../endpoint.ts";
import { organization } from "../../permission.ts";
import { queryText, usernameParams } from "../common.ts";
import { resource } from "../resource.ts";
import { userShape } from "./users.ts";

const query = z.object({ note: queryText });

export const blockEndpoints = {
  ...resource(
    {
      name: "forge.user.blocks",
      path: "/api/v1/user/blocks",
      id: usernameParams.shape,
      shape: userShape,
      gate: forgeUser("user"),
    },
    ({ list, remove, operation }) => ({
      listOwnBlocks: list("The users whom you have blocked"),
      checkOwnBlock: operation({
        as: "get",
        method: "GET",
        item: true,
        summary: "Whether you have blocked a user",
        replies: { 204: empty },
        apiOnly: '"croft user block list" lists them',
      }),
      blockUser: operation({
        as: "add",
        method: "PUT",
        item: true,
        summary: "Block a user from your repositories and issues",
        query,
        replies: { 204: empty },
        refuses: [400],
      }),
      unblockUser: remove("Unblock a user", { as: "remove", refuses: [400] }),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs.blocks",
      path: "/api/v1/orgs/:org/blocks",
      params: z.object({ org: z.string() }),
      id: usernameParams.shape,
      shape: userShape,
      gate: forgeUser("organization"),
      on: organization("owner"),
    },
    ({ list, remove, operation }) => ({
      listOrganizationBlocks: list("The users whom an organization has blocked"),
      checkOrganizationBlock: operation({
        as: "get",
        method: "GET",
        item: true,
        summary: "Whether an organization has blocked a user",
        replies: { 204: empty },
        apiOnly: '"croft user block list --org" lists them',
      }),
      blockOfOrganization: operation({
        as: "add",
        method: "PUT",
        item: true,
        summary: "Block a user from the repositories of an organization",
        query,
        replies: { 204: empty },
        refuses: [400],
      }),
      unblockOfOrganization: remove("Unblock a user of an organization", {
        as: "remove",
        refuses: [400],
      }),
    }),
  ),
};
