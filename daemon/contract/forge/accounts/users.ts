import { z } from "zod";
import { resource } from "../resource.ts";
import { anyoneWithin, empty, forgeUser, forgeUserWithPassword } from "../../endpoint.ts";
import {
  paging,
  queryInteger,
  requiredText,
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

export const userEndpoints = {
  ...resource(
    {
      name: "forge.user",
      path: "/api/v1/user",
      shape: userShape,
      gate: forgeUser("user"),
    },
    ({ get }) => ({
      getCurrentUser: get("The signed-in user", { refuses: [404] }),
    }),
  ),
  ...resource(
    {
      name: "forge.users",
      path: "/api/v1/users/search",
      shape: z.object({ ok: z.boolean(), data: z.array(userShape) }),
      gate: anyoneWithin("user"),
    },
    ({ get }) => ({
      /** Finds by name, full name and the addresses that users show; without accounts that are hidden from you. */
      searchUsers: get("Search for users that you may see", {
        as: "search",
        query: z.object({ q: trimmedQueryText, uid: queryInteger, ...paging }),
        paging: "link_and_total",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.users",
      path: "/api/v1/users/:username",
      params: usernameParams,
      shape: userShape,
      gate: anyoneWithin("user"),
    },
    ({ get, operation }) => ({
      getUser: get("A user by name"),
      /** Empty for an account that hides its activity from the caller. */
      getUserHeatmap: operation({
        method: "GET",
        at: "heatmap",
        summary: "How often a user was active in the last year, by quarters of an hour",
        replies: { 200: z.array(z.object({ timestamp: z.int(), contributions: z.int() })) },
        apiOnly: "pages draw a calendar of it",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.user.password",
      path: "/api/v1/user/password",
      gate: forgeUserWithPassword,
    },
    ({ operation }) => ({
      /** Ours: the reference changes passwords on its web pages only. */
      changeOwnPassword: operation({
        as: "change",
        method: "POST",
        summary: "Change your own password, signed in with it; the way in for an account that must",
        body: z.object({ current_password: requiredText(), new_password: requiredText() }),
        replies: { 204: empty },
        refuses: [429],
      }),
    }),
  ),
};
