import { z } from "zod";
import { endpoint, siteAdmin } from "../../endpoint.ts";
import { paging, signedInReplies, trimmedQueryText, wireId } from "../common.ts";

/** An address of a user. */
export const emailShape = z.object({
  email: z.string(),
  verified: z.boolean(),
  primary: z.boolean(),
  user_id: wireId,
  username: z.string(),
});
export type WireEmail = z.output<typeof emailShape>;

export const listEmails = endpoint({
  name: "forge.admin.emails.list",
  method: "GET",
  path: "/api/v1/admin/emails",
  summary: "All addresses of all users",
  gate: siteAdmin,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(emailShape), ...signedInReplies },
});

export const searchEmails = endpoint({
  name: "forge.admin.emails.search",
  method: "GET",
  path: "/api/v1/admin/emails/search",
  summary: "Search addresses by address or owner",
  gate: siteAdmin,
  query: z.object({ q: trimmedQueryText, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(emailShape), ...signedInReplies },
});

export const adminEmailEndpoints = { listEmails, searchEmails };
