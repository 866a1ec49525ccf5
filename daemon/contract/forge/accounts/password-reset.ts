import { z } from "zod";
import { anyone, empty, endpoint } from "../../endpoint.ts";
import { apiError, requiredText } from "../common.ts";

const refusals = { 401: apiError, 422: apiError, 429: apiError } as const;

/** Ours: the reference has it on its web pages only. */
export const requestUserPasswordReset = endpoint({
  name: "forge.user.password.reset",
  method: "POST",
  path: "/api/v1/user/password/reset",
  summary: "Mail a link for choosing another password, if an account has the verified address",
  gate: anyone,
  body: z.object({ email: requiredText({ max: 254 }) }),
  replies: { 204: empty, ...refusals },
});

/** Ours: the reference has it on its web pages only. */
export const confirmUserPasswordReset = endpoint({
  name: "forge.user.password.confirm_reset",
  method: "POST",
  path: "/api/v1/user/password/reset/confirm",
  summary: "Set another password with the token of a mailed link",
  gate: anyone,
  body: z.object({ token: requiredText({ max: 128 }), new_password: requiredText() }),
  replies: { 204: empty, 400: apiError, ...refusals },
});

export const passwordResetEndpoints = { requestUserPasswordReset, confirmUserPasswordReset };
