import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, forgeUser, siteAdmin } from "../../endpoint.ts";
import { requiredText, usernameParams } from "../common.ts";

export const twoFactorEndpoints = {
  ...resource(
    {
      name: "forge.user.two_factor",
      path: "/api/v1/user/2fa",
      shape: z.object({ enabled: z.boolean() }),
      gate: forgeUser("user"),
    },
    ({ get, remove, operation }) => ({
      // These routes are croft's own: the reference enrols second factors on its web pages only.

      /** Whether Basic authentication with the password requires a code. */
      getTwoFactor: get("Whether the signed-in user has a second factor"),
      startTwoFactor: operation({
        as: "start",
        method: "POST",
        at: "setup",
        summary: "Get a secret for an authenticator app; it counts once a code of it is confirmed",
        replies: { 200: z.object({ secret: z.string(), otpauth_url: z.string() }) },
        refuses: [409],
      }),
      confirmTwoFactor: operation({
        method: "POST",
        at: "enable",
        summary: "Turn the second factor on with a code of the authenticator app",
        body: z.object({ code: requiredText({ max: 16 }) }),
        replies: { 204: empty },
        refuses: [409],
      }),
      disableTwoFactor: remove(
        "Turn the second factor off; the request is signed in with password and code",
        { as: "disable", refuses: [404] },
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.admin.users.two_factor",
      path: "/api/v1/admin/users/:username/2fa",
      params: usernameParams,
      gate: siteAdmin,
    },
    ({ remove }) => ({
      resetUserTwoFactor: remove("Disable the second factor of a user who lost it", {
        as: "reset",
      }),
    }),
  ),
};
