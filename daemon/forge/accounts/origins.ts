import { hash } from "node:crypto";
import { z } from "zod";
import type { Queries } from "../../../storage/engine/database.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { toUserId } from "../../../storage/tables/forge/ids.ts";
import type { ForgeCaller } from "../caller.ts";
import { isStillSignedIn } from "./authentication.ts";

/**
 * The credentials that a derived token was made with: the secret of an access token or of a job's token, or an account with
 * a check of its password. The derived token is sealed, because it contains the secret.
 */
export const originSchema = z.discriminatedUnion("of", [
  z.object({ of: z.literal("token"), secret: z.string() }),
  z.object({ of: z.literal("password"), userId: z.int(), check: z.string() }),
]);
export type Origin = z.infer<typeof originSchema>;

/** Returns the caller of an access token, or of the token of a job. */
export type SignIn = (secret: string) => Promise<ForgeCaller | undefined>;

/**
 * Returns the origin of a caller's credentials. Returns undefined for an impersonated user, and for a token that is not in
 * the header `Authorization`.
 */
export function toOrigin(
  { user, actor, method }: ForgeCaller,
  authorization: string | undefined,
): Origin | undefined {
  if (user.id !== actor.id || method === "ssh_key") return undefined;
  if (method === "basic_password")
    return { of: "password", userId: user.id, check: toCheck(user.passwordHash) };
  const secret = findSecret(authorization);
  return secret === undefined ? undefined : { of: "token", secret };
}

/** Returns the caller of an origin; undefined when its credentials are no longer valid. `signIn` may refuse a token. */
export async function findOriginCaller(
  db: Queries,
  origin: Origin,
  signIn: SignIn,
): Promise<ForgeCaller | undefined> {
  if (origin.of === "token") return signIn(origin.secret);
  const user = await findUserById(db, toUserId(origin.userId));
  if (user === undefined || toCheck(user.passwordHash) !== origin.check) return undefined;
  const caller = { user, actor: user, method: "basic_password", scope: undefined } as const;
  return (await isStillSignedIn(db, caller)) ? caller : undefined;
}

/** Changes with the password, and does not give it away. */
const toCheck = (passwordHash: string): string => hash("sha256", passwordHash, "hex").slice(0, 32);

/** Returns the access token in a request: of the scheme `Bearer` or `token`, or in place of the password or name of Basic. */
function findSecret(authorization: string | undefined): string | undefined {
  const plain = /^(?:bearer|token) +(\S+) *$/i.exec(authorization ?? "")?.[1];
  if (plain !== undefined) return plain;
  const basic = /^basic +(\S+) *$/i.exec(authorization ?? "")?.[1];
  if (basic === undefined) return undefined;
  const text = Buffer.from(basic, "base64").toString();
  const colon = text.indexOf(":");
  const password = text.slice(colon + 1);
  return password === "" || password === "x-oauth-basic" ? text.slice(0, colon) : password;
}
