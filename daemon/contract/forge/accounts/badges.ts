import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, siteAdmin } from "../../endpoint.ts";
import { optionalText, requiredText, requiredWords, usernameParams, wireId } from "../common.ts";
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

export const adminBadgeEndpoints = {
  ...resource(
    {
      name: "forge.admin.users.badges",
      path: "/api/v1/admin/users/:username/badges",
      params: usernameParams,
      gate: siteAdmin,
    },
    ({ operation }) => ({
      listUserBadges: operation({
        as: "list",
        method: "GET",
        summary: "A user's badges, oldest first",
        paging: "total",
        replies: { 200: z.array(badgeShape) },
      }),
      addUserBadges: operation({
        as: "add",
        method: "POST",
        summary: "Give a user badges; adds all of them or none",
        body: badgeSlugs,
        replies: { 204: empty },
        refuses: [409],
      }),
      removeUserBadges: operation({
        as: "remove",
        method: "DELETE",
        summary: "Take badges from a user; slugs that the user does not have are ignored",
        body: badgeSlugs,
        replies: { 204: empty },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.admin.badges",
      path: "/api/v1/admin/badges",
      id: { slug: z.string() },
      shape: badgeShape,
      gate: siteAdmin,
    },
    ({ list, create, remove }) => ({
      listBadges: list("All badges that can be given, by slug"),
      createBadge: create(
        "Define a badge",
        z.object({
          slug: requiredText({ max: 40, rules: [["invalid slug", isUserName]] }),
          description: optionalText({ max: 255 }),
          image_url: optionalText({ max: 255, rules: [["Url", isWebUrl]] }),
        }),
        { refuses: [409] },
      ),
      deleteBadge: remove("Delete a badge, and remove it from all users"),
    }),
  ),
};
