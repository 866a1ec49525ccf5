import { z } from "zod";
import { resource } from "./resource.ts";
import { anyone, perAddress, vaultAccount, vaultAccountInSession } from "../endpoint.ts";
import {
  email,
  handleName,
  message,
  newEmail,
  oneOf,
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

/** The account routes in Gitea's order. */
export const accountEndpoints = {
  ...resource(
    {
      name: "vault.auth.account",
      path: "/api/auth/register",
      shape: user,
      gate: anyone,
      limit: tenPerMinute,
    },
    ({ create }) => ({
      register: create(
        "Register an account",
        z.object({ handle: handleName, email: newEmail, password }),
        { as: "register", refuses: [403, 409, 503] },
      ),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.session",
      path: "/api/auth/login",
      gate: anyone,
      limit: tenPerMinute,
    },
    ({ operation }) => ({
      login: operation({
        as: "login",
        method: "POST",
        summary: "Sign in; reports a missing second factor",
        body: z.object({
          email,
          password,
          totp_code: optionalCode,
          backup_code: optionalCode,
          remember_me: z.boolean().default(false),
        }),
        replies: { 200: z.union([signedIn, challenge]) },
        refuses: [401, 503],
        mayUseReserve: true,
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.session",
      path: "/api/auth/refresh",
      gate: anyone,
      limit: tenPerMinute,
    },
    ({ operation }) => ({
      refresh: operation({
        as: "refresh",
        method: "POST",
        summary: "Exchange the refresh cookie for a new one and an access token",
        replies: { 200: signedIn },
        refuses: [401],
        mayUseReserve: true,
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.session",
      path: "/api/auth/logout",
      gate: anyone,
    },
    ({ operation }) => ({
      logout: operation({
        as: "logout",
        method: "POST",
        summary: "Sign out of the session of the refresh cookie",
        replies: { 200: message },
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.session",
      path: "/api/auth/logout-all",
      gate: vaultAccountInSession,
    },
    ({ operation }) => ({
      logoutAll: operation({
        as: "logout_all",
        method: "POST",
        summary: "Sign out of every session",
        replies: { 200: z.object({ message: z.string(), sessions_revoked: sessionsRevoked }) },
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.account",
      path: "/api/auth/me",
      shape: user,
      gate: vaultAccount,
    },
    ({ get }) => ({
      me: get("The caller's account", { as: "me", refusesOnly: [401] }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.quota",
      path: "/api/auth/me/quota",
      shape: quota,
      gate: vaultAccount,
    },
    ({ get }) => ({
      myQuota: get("The caller's storage quota", { as: "view", refusesOnly: [401, 404] }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.password",
      path: "/api/auth/change-password",
      gate: vaultAccountInSession,
    },
    ({ operation }) => ({
      changePassword: operation({
        as: "change",
        method: "POST",
        summary: "Change the password; other sessions and earlier access tokens end",
        body: z.object({ current_password: password, new_password: password }),
        replies: { 200: z.object({ message: z.string(), sessions_revoked: sessionsRevoked }) },
        refuses: [429, 503],
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.totp",
      path: "/api/auth/totp",
      gate: vaultAccountInSession,
    },
    ({ operation }) => ({
      setupTotp: operation({
        method: "GET",
        at: "setup",
        summary:
          "Begin to set up the second factor; the secret waits 15 minutes for its first code",
        replies: { 200: z.object({ provisioning_uri: z.string(), secret: z.string() }) },
        refuses: [400],
      }),
      enableTotp: operation({
        method: "POST",
        at: "enable",
        summary:
          "Turn the second factor on with a code of the secret set up; gives ten backup codes, once",
        body: z.object({ code: z.string().regex(/^[0-9]{6}$/, "A code is 6 digits") }),
        replies: {
          200: z.object({ backup_codes: z.array(z.string()), sessions_revoked: sessionsRevoked }),
        },
        limit: tenPerMinute,
        refuses: [400],
      }),
      disableTotp: operation({
        as: "disable",
        method: "DELETE",
        summary: "Turn the second factor off; secret and backup codes are deleted",
        replies: { 200: z.object({ message: z.string(), sessions_revoked: sessionsRevoked }) },
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.password",
      path: "/api/auth/password-reset",
      gate: anyone,
    },
    ({ operation }) => ({
      requestPasswordReset: operation({
        as: "reset",
        method: "POST",
        summary: "Mail a reset link, if there is such an account",
        body: z.object({ email }),
        replies: { 202: message },
        limit: fivePerHour,
      }),
      confirmPasswordReset: operation({
        as: "confirm_reset",
        method: "POST",
        at: "confirm",
        summary: "Set another password with the token of a reset link",
        body: z.object({ token: z.string(), new_password: password }),
        replies: { 200: message },
        refuses: [400, 503],
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.preference",
      path: "/api/auth/me",
      gate: vaultAccount,
    },
    ({ operation }) => ({
      viewPreferences: operation({
        as: "view",
        method: "GET",
        at: "preferences",
        summary: "The caller's preferences",
        replies: { 200: allPreferences },
        refusesOnly: [401],
      }),
      editPreferences: operation({
        as: "edit",
        method: "PATCH",
        at: "preferences",
        summary: "Change the caller's preferences",
        body: preferences,
        replies: { 200: preferences },
        refusesOnly: [401, 404, 422],
      }),
      setDefaultStorage: operation({
        as: "default_storage",
        method: "PATCH",
        at: "default-storage",
        summary: "Choose where new documents are stored: internal, or a provider that is connected",
        body: z.object({ backend: text(50) }),
        replies: { 200: allPreferences },
        refusesOnly: [401, 404, 422],
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.auth.session",
      path: "/api/auth/sessions",
      id: { id: uuid },
      shape: session,
      gate: vaultAccountInSession,
    },
    ({ list, operation }) => ({
      listSessions: list(
        "The caller's sessions that can still be refreshed, the one used last first",
      ),
      deleteSession: operation({
        as: "delete",
        method: "DELETE",
        item: true,
        summary: "End one of the caller's sessions",
        replies: { 200: message },
      }),
    }),
  ),
};
