import { z } from "zod";
import { empty, endpoint, forgeUser } from "../../endpoint.ts";
import { emailShape } from "./admin-emails.ts";
import { apiError, optionalWords, signedInReplies } from "../common.ts";

const path = "/api/v1/user/emails";
const gate = forgeUser("user");

export const listOwnEmails = endpoint({
  name: "forge.user.emails.list",
  method: "GET",
  path,
  summary: "The signed-in user's addresses, the primary one first",
  gate,
  replies: { 200: z.array(emailShape), ...signedInReplies },
});

export const addOwnEmails = endpoint({
  name: "forge.user.emails.add",
  method: "POST",
  path,
  summary:
    "Add addresses to the signed-in user; they count as verified when an administrator adds them",
  gate,
  body: z.object({ emails: optionalWords }),
  replies: { 201: z.array(emailShape), ...signedInReplies, 422: apiError },
});

export const deleteOwnEmails = endpoint({
  name: "forge.user.emails.delete",
  method: "DELETE",
  path,
  summary: "Delete addresses of the signed-in user, but for the primary one",
  gate,
  body: z.object({ emails: optionalWords }),
  replies: { 204: empty, ...signedInReplies, 404: apiError, 422: apiError },
});

export const userEmailEndpoints = { listOwnEmails, addOwnEmails, deleteOwnEmails };
