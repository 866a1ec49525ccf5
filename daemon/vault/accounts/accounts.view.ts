import type { z } from "zod";
import type { BodyOf } from "../../contract/endpoint.ts";
import type {
  accountEndpoints,
  quota as quotaSchema,
  session as sessionSchema,
  signedIn as signedInSchema,
  user as userSchema,
} from "../../contract/vault/auth.ts";
import type { machineToken } from "../../contract/vault/tokens.ts";
import type { MachineToken } from "../../../storage/tables/vault/machine-tokens.ts";
import type { VaultQuota } from "../../../storage/tables/vault/quotas.ts";
import type { VaultSession } from "../../../storage/tables/vault/sessions.ts";
import type { VaultUser } from "../../../storage/tables/vault/users.ts";
import { assertNever } from "../../errors.ts";
import type { Preferences } from "./profile.service.ts";
import { CLEAR_REFRESH_COOKIE, setRefreshCookie } from "./refresh-cookie.ts";
import type { IssuedTokens } from "./session-issue.ts";
import type { SignInInput, SignInOutcome } from "./sign-in.service.ts";
import type { Totp } from "./totp.service.ts";

/** Converts a user for registration and `/me`. */
export function toUser(user: VaultUser): z.output<typeof userSchema> {
  return { ...toSignedInUser(user), created_at: toTime(user.createdAt) };
}

/** Converts a quota. */
export function toQuota({ usedBytes, limitBytes }: VaultQuota): z.output<typeof quotaSchema> {
  return { used_bytes: usedBytes, limit_bytes: limitBytes };
}

/** Converts the body of a sign-in. */
export function toSignInInput(body: BodyOf<typeof accountEndpoints.login>): SignInInput {
  return {
    email: body.email,
    password: body.password,
    totpCode: body.totp_code,
    backupCode: body.backup_code,
    rememberMe: body.remember_me,
  };
}

/** A body and the headers beside it. */
export interface WithHeaders<Body> {
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
}

/** Converts a sign-in: tokens with their cookie, or the missing step. */
export function toSignedIn(
  outcome: SignInOutcome,
): WithHeaders<z.input<(typeof accountEndpoints.login.replies)[200]>> {
  switch (outcome.kind) {
    case "signed_in":
      return toTokens(outcome.tokens);
    case "password_change_required":
      return { body: { requires_password_change: true, user_id: outcome.userId }, headers: {} };
    case "totp_required":
      return { body: { requires_totp: true }, headers: {} };
    default:
      return assertNever(outcome);
  }
}

/** Converts new tokens: the access token is in the body, the refresh token in the cookie. */
export function toTokens({
  accessToken,
  refreshToken,
  refreshSeconds,
  user,
}: IssuedTokens): WithHeaders<z.output<typeof signedInSchema>> {
  return {
    body: { access_token: accessToken, user: toSignedInUser(user) },
    headers: { "Set-Cookie": setRefreshCookie(refreshToken, refreshSeconds) },
  };
}

/** The headers of a sign-out, which always clears the cookie. */
export const signedOutHeaders = { "Set-Cookie": CLEAR_REFRESH_COOKIE };

/** Converts the number of sessions that a sign-out has ended. */
export function toSignedOut(count: number) {
  const sessions = count === 1 ? "1 session" : `${count} sessions`;
  return { message: `Signed out of ${sessions}.`, sessions_revoked: count };
}

/** Converts a setup for an authenticator app. */
export function toTotpSetup(setup: Awaited<ReturnType<Totp["setUp"]>>) {
  return { provisioning_uri: setup.provisioningUri, secret: setup.secret };
}

/** Converts the backup codes, which no later response shows. */
export function toTotpEnrolment(enrolment: Awaited<ReturnType<Totp["enable"]>>) {
  return {
    backup_codes: [...enrolment.backupCodes],
    sessions_revoked: enrolment.sessionsRevoked,
  };
}

/** Converts a session for its owner. */
export function toSession(
  session: VaultSession,
  currentId: string | undefined,
): z.output<typeof sessionSchema> {
  return {
    id: session.id,
    created_at: toTime(session.createdAt),
    last_used_at: toTime(session.lastUsedAt),
    expires_at: toTime(session.expiresAt),
    ip_address: session.ipAddress,
    user_agent: session.userAgent,
    current: session.id === currentId,
  };
}

/** Converts a token for scripts for its owner. */
export function toMachineToken(token: MachineToken): z.output<typeof machineToken> {
  return {
    id: token.id,
    name: token.name,
    scope: token.scope,
    created_at: toTime(token.createdAt),
    expires_at: token.expiresAt === undefined ? null : toTime(token.expiresAt),
    last_used_at: token.lastUsedAt === undefined ? null : toTime(token.lastUsedAt),
  };
}

/** Converts a new token for scripts, in the only response with its secret. */
export function toNewMachineToken(created: {
  readonly token: MachineToken;
  readonly secret: string;
}) {
  return { ...toMachineToken(created.token), token: created.secret };
}

/** The caller's preferences. */
export function toPreferences({ pdfOpenMode, defaultStorageBackend }: Preferences) {
  return { pdf_open_mode: pdfOpenMode, default_storage_backend: defaultStorageBackend };
}

/** A time on the wire: ISO 8601, UTC, milliseconds. */
export function toTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function toSignedInUser(user: VaultUser) {
  return {
    id: user.id,
    handle: user.handle,
    email: user.email,
    role: user.role,
    totp_enabled: user.totpEnabled,
  };
}
