import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser, forgeUserWithPassword } from "../../endpoint.ts";
import {
  apiError,
  paging,
  queryInteger,
  requiredText,
  signedInReplies,
  trimmedQueryText,
  usernameParams,
  visibilityWords,
  wireId,
  wireTime,
} from "../common.ts";

/** A user as the viewer may see it. No member is ever left out. */
export const userShape = z.object({
  id: wireId,
  login: z.string(),
  login_name: z.string(),
  source_id: wireId,
  full_name: z.string(),
  email: z.string(),
  avatar_url: z.string(),
  html_url: z.string(),
  language: z.string(),
  is_admin: z.boolean(),
  last_login: wireTime,
  created: wireTime,
  restricted: z.boolean(),
  active: z.boolean(),
  prohibit_login: z.boolean(),
  location: z.string(),
  website: z.string(),
  description: z.string(),
  visibility: z.enum(visibilityWords),
  followers_count: z.int(),
  following_count: z.int(),
  starred_repos_count: z.int(),
  username: z.string(),
});
export type WireUser = z.output<typeof userShape>;

export const getCurrentUser = endpoint({
  name: "forge.user.get",
  method: "GET",
  path: "/api/v1/user",
  summary: "The signed-in user",
  gate: forgeUser("user"),
  replies: { 200: userShape, ...signedInReplies, 404: apiError },
});

export const getUser = endpoint({
  name: "forge.users.get",
  method: "GET",
  path: "/api/v1/users/:username",
  summary: "A user by name",
  gate: anyoneWithin("user"),
  params: usernameParams,
  replies: { 200: userShape, ...signedInReplies, 404: apiError },
});

/** Finds by name, full name and the addresses that users show; without accounts that are hidden from you. */
export const searchUsers = endpoint({
  name: "forge.users.search",
  method: "GET",
  path: "/api/v1/users/search",
  summary: "Search for users that you may see",
  gate: anyoneWithin("user"),
  query: z.object({ q: trimmedQueryText, uid: queryInteger, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.object({ ok: z.boolean(), data: z.array(userShape) }), ...signedInReplies },
});

/** Empty for an account that hides its activity from the caller. */
export const getUserHeatmap = endpoint({
  name: "forge.users.heatmap",
  method: "GET",
  path: "/api/v1/users/:username/heatmap",
  summary: "How often a user was active in the last year, by quarters of an hour",
  gate: anyoneWithin("user"),
  params: usernameParams,
  replies: {
    200: z.array(z.object({ timestamp: z.int(), contributions: z.int() })),
    ...signedInReplies,
    404: apiError,
  },
  apiOnly: "pages draw a calendar of it",
});

/** Ours: the reference changes passwords on its web pages only. */
export const changeOwnPassword = endpoint({
  name: "forge.user.password.change",
  method: "POST",
  path: "/api/v1/user/password",
  summary: "Change your own password, signed in with it; the way in for an account that must",
  gate: forgeUserWithPassword,
  body: z.object({ current_password: requiredText(), new_password: requiredText() }),
  replies: { 204: empty, ...signedInReplies, 422: apiError, 429: apiError },
});

export const userEndpoints = {
  getCurrentUser,
  searchUsers,
  getUser,
  getUserHeatmap,
  changeOwnPassword,
};
