import { z } from "zod";
import { anyone, bytes, empty, endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, requiredText, signedInReplies } from "../common.ts";

export const getAvatar = endpoint({
  name: "forge.avatars.get",
  method: "GET",
  path: "/avatars/:hash",
  summary: "The picture of a user or organization",
  gate: anyone,
  params: z.object({ hash: z.string() }),
  replies: { 200: bytes, 401: apiError, 404: apiError, 503: apiError },
  apiOnly: "the avatar_url of users and organizations has the address of users and organizations",
});

/** The largest picture in base64, with the JSON around it. */
const maxBodyBytes = 1_500_000;
const body = z.object({ image: requiredText() });
const replies = {
  204: empty,
  400: apiError,
  ...signedInReplies,
  404: apiError,
  413: apiError,
  422: apiError,
} as const;

export const setOwnAvatar = endpoint({
  name: "forge.user.avatar.set",
  method: "POST",
  path: "/api/v1/user/avatar",
  summary: "Set your picture: PNG, JPEG, GIF or WebP in base64",
  gate: forgeUser("user"),
  body,
  maxBodyBytes,
  replies,
});

export const deleteOwnAvatar = endpoint({
  name: "forge.user.avatar.delete",
  method: "DELETE",
  path: "/api/v1/user/avatar",
  summary: "Go back to the picture that is drawn from your e-mail address",
  gate: forgeUser("user"),
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

const params = z.object({ org: z.string() });

export const setOrganizationAvatar = endpoint({
  name: "forge.orgs.avatar.set",
  method: "POST",
  path: "/api/v1/orgs/:org/avatar",
  summary: "Set the picture of an organization: PNG, JPEG, GIF or WebP in base64",
  gate: forgeUser("organization"),
  params,
  body,
  maxBodyBytes,
  replies,
});

export const deleteOrganizationAvatar = endpoint({
  name: "forge.orgs.avatar.delete",
  method: "DELETE",
  path: "/api/v1/orgs/:org/avatar",
  summary: "Go back to the picture that is drawn for an organization",
  gate: forgeUser("organization"),
  params,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const avatarEndpoints = {
  getAvatar,
  setOwnAvatar,
  deleteOwnAvatar,
  setOrganizationAvatar,
  deleteOrganizationAvatar,
};
