import { z } from "zod";
import { empty, endpoint, siteAdmin } from "../../endpoint.ts";
import {
  apiError,
  optionalText,
  paging,
  requiredText,
  requiredWords,
  signedInReplies,
  usernameParams,
  wireId,
} from "../common.ts";
import { isUserName, isWebUrl } from "../rules.ts";

/** A badge. */
const badgeShape = z.object({
  id: wireId,
  slug: z.string(),
  description: z.string(),
  image_url: z.string(),
});
export type WireBadge = z.output<typeof badgeShape>;

const badgeSlugs = z.object({ badge_slugs: requiredWords });

export const listUserBadges = endpoint({
  name: "forge.admin.users.badges.list",
  method: "GET",
  path: "/api/v1/admin/users/:username/badges",
  summary: "A user's badges, oldest first",
  gate: siteAdmin,
  params: usernameParams,
  paging: "total",
  replies: { 200: z.array(badgeShape), ...signedInReplies, 404: apiError },
});

export const addUserBadges = endpoint({
  name: "forge.admin.users.badges.add",
  method: "POST",
  path: "/api/v1/admin/users/:username/badges",
  summary: "Give a user badges; adds all of them or none",
  gate: siteAdmin,
  params: usernameParams,
  body: badgeSlugs,
  replies: { 204: empty, ...signedInReplies, 404: apiError, 409: apiError, 422: apiError },
});

export const removeUserBadges = endpoint({
  name: "forge.admin.users.badges.remove",
  method: "DELETE",
  path: "/api/v1/admin/users/:username/badges",
  summary: "Take badges from a user; slugs that the user does not have are ignored",
  gate: siteAdmin,
  params: usernameParams,
  body: badgeSlugs,
  replies: { 204: empty, ...signedInReplies, 404: apiError, 422: apiError },
});

export const listBadges = endpoint({
  name: "forge.admin.badges.list",
  method: "GET",
  path: "/api/v1/admin/badges",
  summary: "All badges that can be given, by slug",
  gate: siteAdmin,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(badgeShape), ...signedInReplies },
});

export const createBadge = endpoint({
  name: "forge.admin.badges.create",
  method: "POST",
  path: "/api/v1/admin/badges",
  summary: "Define a badge",
  gate: siteAdmin,
  body: z.object({
    slug: requiredText({ max: 40, rules: [["invalid slug", isUserName]] }),
    description: optionalText({ max: 255 }),
    image_url: optionalText({ max: 255, rules: [["Url", isWebUrl]] }),
  }),
  replies: { 201: badgeShape, ...signedInReplies, 409: apiError, 422: apiError },
});

export const deleteBadge = endpoint({
  name: "forge.admin.badges.delete",
  method: "DELETE",
  path: "/api/v1/admin/badges/:slug",
  summary: "Delete a badge, and remove it from all users",
  gate: siteAdmin,
  params: z.object({ slug: z.string() }),
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const adminBadgeEndpoints = {
  listUserBadges,
  addUserBadges,
  removeUserBadges,
  listBadges,
  createBadge,
  deleteBadge,
};
