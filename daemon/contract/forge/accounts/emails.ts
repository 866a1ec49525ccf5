import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import { emailShape } from "./admin-emails.ts";
import { optionalWords } from "../common.ts";
const gate = forgeUser("user");

export const userEmailEndpoints = resource(
  {
    name: "forge.user.emails",
    path: "/api/v1/user/emails",
    shape: z.array(emailShape),
    gate,
  },
  ({ create, get, operation }) => ({
    listOwnEmails: get("The signed-in user's addresses, the primary one first", { as: "list" }),
    addOwnEmails: create(
      "Add addresses to the signed-in user; they count as verified when an administrator adds them",
      z.object({ emails: optionalWords }),
      { as: "add" },
    ),
    deleteOwnEmails: operation({
      as: "delete",
      method: "DELETE",
      summary: "Delete addresses of the signed-in user, but for the primary one",
      body: z.object({ emails: optionalWords }),
      replies: { 204: empty },
      refuses: [404],
    }),
  }),
);
