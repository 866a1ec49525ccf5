import { z } from "zod";
import { empty, endpoint, forgeUser, siteAdmin } from "../../endpoint.ts";
import { apiError, requiredText, signedInReplies, usernameParams } from "../common.ts";

// These routes are croft's own: the reference enrols second factors on its web pages only.

/** Whether Basic authentication with the password requires a code. */
export const getTwoFactor = endpoint({
  name: "forge.user.two_factor.get",
  method: "GET",
  path: "/api/v1/user/2fa",
  summary: "Whether the signed-in user has a second factor",
  gate: forgeUser("user"),
  replies: { 200: z.object({ enabled: z.boolean() }), ...signedInReplies },
});

export const startTwoFactor = endpoint({
  name: "forge.user.two_factor.start",
  method: "POST",
  path: "/api/v1/user/2fa/setup",
  summary: "Get a secret for an authenticator app; it counts once a code of it is confirmed",
  gate: forgeUser("user"),
  replies: {
    200: z.object({ secret: z.string(), otpauth_url: z.string() }),
    ...signedInReplies,
    409: apiError,
  },
});

export const confirmTwoFactor = endpoint({
  name: "forge.user.two_factor.enable",
  method: "POST",
  path: "/api/v1/user/2fa/enable",
  summary: "Turn the second factor on with a code of the authenticator app",
  gate: forgeUser("user"),
  body: z.object({ code: requiredText({ max: 16 }) }),
  replies: { 204: empty, ...signedInReplies, 409: apiError, 422: apiError },
});

export const disableTwoFactor = endpoint({
  name: "forge.user.two_factor.disable",
  method: "DELETE",
  path: "/api/v1/user/2fa",
  summary: "Turn the second factor off; the request is signed in with password and code",
  gate: forgeUser("user"),
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const resetUserTwoFactor = endpoint({
  name: "forge.admin.users.two_factor.reset",
  method: "DELETE",
  path: "/api/v1/admin/users/:username/2fa",
  summary: "Disable the second factor of a user who lost it",
  gate: siteAdmin,
  params: usernameParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const twoFactorEndpoints = {
  getTwoFactor,
  startTwoFactor,
  confirmTwoFactor,
  disableTwoFactor,
  resetUserTwoFactor,
};
