import { z } from "zod";
import { resource } from "../resource.ts";
import { anyone, empty } from "../../endpoint.ts";
import { requiredText } from "../common.ts";

export const passwordResetEndpoints = resource(
  {
    name: "forge.user.password",
    path: "/api/v1/user/password/reset",
    gate: anyone,
    refuses: [429],
  },
  ({ operation }) => ({
    /** Ours: the reference has it on its web pages only. */
    requestUserPasswordReset: operation({
      as: "reset",
      method: "POST",
      summary: "Mail a link for choosing another password, if an account has the verified address",
      body: z.object({ email: requiredText({ max: 254 }) }),
      replies: { 204: empty },
    }),
    /** Ours: the reference has it on its web pages only. */
    confirmUserPasswordReset: operation({
      as: "confirm_reset",
      method: "POST",
      at: "confirm",
      summary: "Set another password with the token of a mailed link",
      body: z.object({ token: requiredText({ max: 128 }), new_password: requiredText() }),
      replies: { 204: empty },
      refuses: [400],
    }),
  }),
);
