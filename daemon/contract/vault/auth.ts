import { z } from "zod";
import { anyone, endpoint, perAddress, vaultAccount, vaultAccountInSession } from "../endpoint.ts";
import {
  detail,
  email,
  handleName,
  message,
  newEmail,
  oneOf,
  pageOf,
  paging,
  password,
  text,
  time,
  uuid,
} from "./common.ts";

/** The account routes' limit per client address. */
const tenPerMinute = perAddress(10, 60);
const fivePerHour = perAddress(5, 3600);

export const role = z.enum(["user", "admin"]);

/** The user as registration and `GET /api/auth/me` show it. */
export const user = z.object({
  id: uuid,
  handle: z.string(),
  email: z.string(),
  role,
  totp_enabled: z.boolean(),
  created_at: time.nullable(),
});

/** The response of a sign-in and of a refresh. The refresh token is in a cookie. */
export const signedIn = z.object({
  access_token: z.string(),
  user: user.omit({ created_at: true }),
});

/** The response to an incomplete sign-in, without tokens and cookie. */
const challenge = z.union([
  z.object({ requires_totp: z.literal(true) }),
  z.object({ requires_password_change: z.literal(true), user_id: uuid }),
]);

export const quota = z.object({ used_bytes: z.int().min(0), limit_bytes: z.int().min(0) });

export const preferences = z.object({ pdf_open_mode: oneOf(["in_app", "new_tab"]) });

/** Preferences with those that other routes change. */
export const allPreferences = preferences.extend({
  /** Where new documents are stored: `internal`, or a type of provider. */
  default_storage_backend: z.string(),
});

/** A sign-in that can still be refreshed. */
export const session = z.object({
  id: uuid,
  created_at: time,
  last_used_at: time,
  expires_at: time,
  ip_address: z.string(),
  user_agent: z.string(),
  current: z.boolean(),
});

const sessionsRevoked = z.int().min(0);

/** A code or nothing: null and blank text count as not given. */
const optionalCode = text(64)
  .nullish()
  .transform((value) => (value ?? "").trim() || undefined);

export const register = endpoint({
  name: "vault.auth.account.register",
  method: "POST",
  path: "/api/auth/register",
  summary: "Register an account",
  gate: anyone,
  limit: tenPerMinute,
  body: z.object({ handle: handleName, email: newEmail, password }),
  replies: { 201: user, 403: detail, 409: detail, 422: detail, 429: detail, 503: detail },
});

export const login = endpoint({
  name: "vault.auth.session.login",
  method: "POST",
  path: "/api/auth/login",
  summary: "Sign in; reports a missing second factor",
  gate: anyone,
  mayUseReserve: true,
  limit: tenPerMinute,
  body: z.object({
    email,
    password,
    totp_code: optionalCode,
    backup_code: optionalCode,
    remember_me: z.boolean().default(false),
  }),
  replies: {
    200: z.union([signedIn, challenge]),
    401: detail,
    422: detail,
    429: detail,
    503: detail,
  },
});

export const refresh = endpoint({
  name: "vault.auth.session.refresh",
  method: "POST",
  path: "/api/auth/refresh",
  summary: "Exchange the refresh cookie for a new one and an access token",
  gate: anyone,
  mayUseReserve: true,
  limit: tenPerMinute,
  replies: { 200: signedIn, 401: detail, 429: detail },
});

export const logout = endpoint({
  name: "vault.auth.session.logout",
  method: "POST",
  path: "/api/auth/logout",
  summary: "Sign out of the session of the refresh cookie",
  gate: anyone,
  replies: { 200: message },
});

export const logoutAll = endpoint({
  name: "vault.auth.session.logout_all",
  method: "POST",
  path: "/api/auth/logout-all",
  summary: "Sign out of every session",
  gate: vaultAccountInSession,
  replies: {
    200: z.object({ message: z.string(), sessions_revoked: sessionsRevoked }),
    401: detail,
    403: detail,
  },
});

export const me = endpoint({
  name: "vault.auth.account.me",
  method: "GET",
  path: "/api/auth/me",
  summary: "The caller's account",
  gate: vaultAccount,
  replies: { 200: user, 401: detail },
});

export const myQuota = endpoint({
  name: "vault.auth.quota.view",
  method: "GET",
  path: "/api/auth/me/quota",
  summary: "The caller's storage quota",
  gate: vaultAccount,
  replies: { 200: quota, 401: detail, 404: detail },
});

export const changePassword = endpoint({
  name: "vault.auth.password.change",
  method: "POST",
  path: "/api/auth/change-password",
  summary: "Change the password; other sessions and earlier access tokens end",
  gate: vaultAccountInSession,
  body: z.object({ current_password: password, new_password: password }),
  replies: {
    200: z.object({ message: z.string(), sessions_revoked: sessionsRevoked }),
    401: detail,
    403: detail,
    422: detail,
    429: detail,
    503: detail,
  },
});

export const setupTotp = endpoint({
  name: "vault.auth.totp.setup",
  method: "GET",
  path: "/api/auth/totp/setup",
  summary: "Begin to set up the second factor; the secret waits 15 minutes for its first code",
  gate: vaultAccountInSession,
  replies: {
    200: z.object({ provisioning_uri: z.string(), secret: z.string() }),
    400: detail,
    401: detail,
    403: detail,
  },
});

export const enableTotp = endpoint({
  name: "vault.auth.totp.enable",
  method: "POST",
  path: "/api/auth/totp/enable",
  summary:
    "Turn the second factor on with a code of the secret set up; gives ten backup codes, once",
  gate: vaultAccountInSession,
  limit: tenPerMinute,
  body: z.object({ code: z.string().regex(/^[0-9]{6}$/, "A code is 6 digits") }),
  replies: {
    200: z.object({ backup_codes: z.array(z.string()), sessions_revoked: sessionsRevoked }),
    400: detail,
    401: detail,
    403: detail,
    422: detail,
    429: detail,
  },
});

export const disableTotp = endpoint({
  name: "vault.auth.totp.disable",
  method: "DELETE",
  path: "/api/auth/totp",
  summary: "Turn the second factor off; secret and backup codes are deleted",
  gate: vaultAccountInSession,
  replies: {
    200: z.object({ message: z.string(), sessions_revoked: sessionsRevoked }),
    401: detail,
    403: detail,
  },
});

export const requestPasswordReset = endpoint({
  name: "vault.auth.password.reset",
  method: "POST",
  path: "/api/auth/password-reset",
  summary: "Mail a reset link, if there is such an account",
  gate: anyone,
  limit: fivePerHour,
  body: z.object({ email }),
  replies: { 202: message, 422: detail, 429: detail },
});

export const confirmPasswordReset = endpoint({
  name: "vault.auth.password.confirm_reset",
  method: "POST",
  path: "/api/auth/password-reset/confirm",
  summary: "Set another password with the token of a reset link",
  gate: anyone,
  // A malformed token is refused like an invalid link, whatever its type.
  body: z.object({ token: z.string(), new_password: password }),
  replies: { 200: message, 400: detail, 422: detail, 503: detail },
});

export const viewPreferences = endpoint({
  name: "vault.auth.preference.view",
  method: "GET",
  path: "/api/auth/me/preferences",
  summary: "The caller's preferences",
  gate: vaultAccount,
  replies: { 200: allPreferences, 401: detail },
});

export const editPreferences = endpoint({
  name: "vault.auth.preference.edit",
  method: "PATCH",
  path: "/api/auth/me/preferences",
  summary: "Change the caller's preferences",
  gate: vaultAccount,
  body: preferences,
  replies: { 200: preferences, 401: detail, 404: detail, 422: detail },
});

export const setDefaultStorage = endpoint({
  name: "vault.auth.preference.default_storage",
  method: "PATCH",
  path: "/api/auth/me/default-storage",
  summary: "Choose where new documents are stored: internal, or a provider that is connected",
  gate: vaultAccount,
  body: z.object({ backend: text(50) }),
  replies: {
    200: allPreferences,
    401: detail,
    404: detail,
    422: detail,
  },
});

export const listSessions = endpoint({
  name: "vault.auth.session.list",
  method: "GET",
  path: "/api/auth/sessions",
  summary: "The caller's sessions that can still be refreshed, the one used last first",
  gate: vaultAccountInSession,
  query: z.object(paging),
  replies: { 200: pageOf(session), 401: detail, 403: detail, 422: detail },
});

export const deleteSession = endpoint({
  name: "vault.auth.session.delete",
  method: "DELETE",
  path: "/api/auth/sessions/:id",
  summary: "End one of the caller's sessions",
  gate: vaultAccountInSession,
  params: z.object({ id: uuid }),
  replies: { 200: message, 401: detail, 403: detail, 404: detail, 422: detail },
});

/** The account routes in Gitea's order. */
export const accountEndpoints = {
  register,
  login,
  refresh,
  logout,
  logoutAll,
  me,
  myQuota,
  changePassword,
  setupTotp,
  enableTotp,
  disableTotp,
  requestPasswordReset,
  confirmPasswordReset,
  viewPreferences,
  editPreferences,
  setDefaultStorage,
  listSessions,
  deleteSession,
};
