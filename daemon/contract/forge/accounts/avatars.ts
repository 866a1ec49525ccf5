import { z } from "zod";
import { resource } from "../resource.ts";
import { anyone, bytes, empty, forgeUser } from "../../endpoint.ts";
import { organization } from "../../permission.ts";
import { requiredText } from "../common.ts";

/** The largest picture in base64, with the JSON around it. */
export const avatarBodyBytesMax = 1_500_000;
export const avatarBody = z.object({ image: requiredText() });

const params = z.object({ org: z.string() });

export const avatarEndpoints = {
  ...resource(
    {
      name: "forge.avatars",
      path: "/avatars/:hash",
      params: z.object({ hash: z.string() }),
      gate: anyone,
    },
    ({ operation }) => ({
      getAvatar: operation({
        as: "get",
        method: "GET",
        summary: "The picture of a user, organization or repository",
        replies: { 200: bytes },
        refuses: [503],
        apiOnly:
          "the avatar_url of users and organizations has the address of users and organizations",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.user.avatar",
      path: "/api/v1/user/avatar",
      gate: forgeUser("user"),
      refuses: [404],
    },
    ({ remove, operation }) => ({
      setOwnAvatar: operation({
        as: "set",
        method: "POST",
        summary: "Set your picture: PNG, JPEG, GIF or WebP in base64",
        body: avatarBody,
        replies: { 204: empty },
        refuses: [400, 413],
        maxBodyBytes: avatarBodyBytesMax,
      }),
      deleteOwnAvatar: remove("Go back to the picture that is drawn from your e-mail address"),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs.avatar",
      path: "/api/v1/orgs/:org/avatar",
      params,
      gate: forgeUser("organization"),
      on: organization("owner"),
    },
    ({ remove, operation }) => ({
      setOrganizationAvatar: operation({
        as: "set",
        method: "POST",
        summary: "Set the picture of an organization: PNG, JPEG, GIF or WebP in base64",
        body: avatarBody,
        replies: { 204: empty },
        refuses: [400, 413],
        maxBodyBytes: avatarBodyBytesMax,
      }),
      deleteOrganizationAvatar: remove("Go back to the picture that is drawn for an organization"),
    }),
  ),
};
