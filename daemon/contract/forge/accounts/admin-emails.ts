import { z } from "zod";
import { resource } from "../resource.ts";
import { siteAdmin } from "../../endpoint.ts";
import { trimmedQueryText, wireId } from "../common.ts";

/** An address of a user. */
export const emailShape = z.object({
  email: z.string(),
  verified: z.boolean(),
  primary: z.boolean(),
  user_id: wireId,
  username: z.string(),
});
export type WireEmail = z.output<typeof emailShape>;

export const adminEmailEndpoints = resource(
  {
    name: "forge.admin.emails",
    path: "/api/v1/admin/emails",
    shape: emailShape,
    gate: siteAdmin,
  },
  ({ list }) => ({
    listEmails: list("All addresses of all users"),
    searchEmails: list("Search addresses by address or owner", {
      as: "search",
      at: "search",
      filters: { q: trimmedQueryText },
    }),
  }),
);
