import { z } from "zod";
import type { Database } from "../../../../storage/engine/database.ts";
import { type Sealer, SealError } from "../../../../storage/keys/keyring.ts";
import { AppError } from "../../../errors.ts";
import { findOriginCaller, originSchema, type SignIn, toOrigin } from "../../accounts/origins.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { ImageAt } from "./references.ts";

const PURPOSE = "container_registry";
const IDENTITY = "forge_containers";
/** Tells these tokens from other credentials. */
const PREFIX = "croft-oci-";
/** A client asks for another one when it has expired. */
const LIFETIME_SECONDS = 3_600;
/** Images that one token reaches. */
const SCOPES_MAX = 50;

export type ContainerAction = "pull" | "push" | "delete";

const grantSchema = z.object({
  by: z.union([z.object({ of: z.literal("anonymous") }), originSchema]),
  /** Actions by image. */
  scopes: z.record(z.string(), z.array(z.string())),
  expiresAt: z.int(),
});
type Grant = z.infer<typeof grantSchema>;

/** What a token of the registry was made for, and the credentials that it was made with. */
export interface FoundGrant {
  readonly caller: ForgeCaller | undefined;
  readonly scopes: ContainerScopes;
}

export type ContainerScopes = Grant["scopes"];

export interface IssuedToken {
  readonly token: string;
  readonly expiresInSeconds: number;
  /** Epoch milliseconds. */
  readonly issuedAt: number;
}

export type ContainerTokens = ReturnType<typeof createContainerTokens>;

/**
 * Tokens of the registry, which clients get for their credentials. A token is sealed, not stored: it ends with the credentials that
 * it was made with, and after an hour. Its scopes narrow what they may do; what they may do is looked up by each request.
 */
export function createContainerTokens({
  db,
  sealer,
  clock,
}: {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: () => number;
}) {
  return {
    /** Returns a token for the credentials in the header `Authorization`. */
    issue(
      caller: ForgeCaller | undefined,
      authorization: string | undefined,
      scopes: readonly string[],
    ): IssuedToken {
      const issuedAt = clock();
      const grant: Grant = {
        by: caller === undefined ? { of: "anonymous" } : toOriginOf(caller, authorization),
        scopes: parseScopes(scopes),
        expiresAt: issuedAt + LIFETIME_SECONDS * 1000,
      };
      const token = PREFIX + sealer.seal(PURPOSE, JSON.stringify(grant), IDENTITY);
      return { token, expiresInSeconds: LIFETIME_SECONDS, issuedAt };
    },

    /** Returns the grant of a token. Throws `invalid_credentials` for one that is not valid, or no longer. */
    async find(token: string, signIn: SignIn): Promise<FoundGrant> {
      const grant = open(token);
      if (grant === undefined || grant.expiresAt <= clock()) throw expired();
      const { by, scopes } = grant;
      if (by.of === "anonymous") return { caller: undefined, scopes };
      const caller = await findOriginCaller(db, by, signIn);
      if (caller === undefined) throw expired();
      return { caller, scopes };
    },
  };

  function open(token: string): Grant | undefined {
    try {
      const text = sealer.openText(PURPOSE, token.slice(PREFIX.length), IDENTITY);
      return grantSchema.parse(JSON.parse(text));
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  }
}

function toOriginOf(caller: ForgeCaller, authorization: string | undefined): Grant["by"] {
  if (caller.user.id !== caller.actor.id)
    throw new AppError("forbidden", "the registry has no tokens for impersonated users");
  const origin = toOrigin(caller, authorization);
  if (origin === undefined) throw new AppError("unauthenticated", "sign in with a token");
  return origin;
}

const expired = () => new AppError("invalid_credentials", "the token of the registry has expired");

/** Reads scopes such as `repository:mira/tools:pull,push`; others than images are ignored. */
function parseScopes(texts: readonly string[]): ContainerScopes {
  const scopes: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  const words = texts.flatMap((text) => text.split(" ")).slice(0, SCOPES_MAX);
  for (const word of words) {
    const [, image = "", actions = ""] =
      /^repository(?:\([^)]*\))?:([^:]+):([a-z,*]+)$/.exec(word) ?? [];
    if (image === "") continue;
    const key = image.toLowerCase();
    scopes[key] = [...new Set([...(scopes[key] ?? []), ...actions.split(",")])];
  }
  return scopes;
}

/** Returns whether scopes reach an image; without scopes, credentials are not narrowed. */
export function reachesImage(
  scopes: ContainerScopes | undefined,
  { owner, name }: ImageAt,
  action: ContainerAction,
): boolean {
  if (scopes === undefined) return true;
  const key = `${owner}/${name}`.toLowerCase();
  const actions = Object.hasOwn(scopes, key) ? scopes[key] : undefined;
  return actions !== undefined && (actions.includes(action) || actions.includes("*"));
}

/** Returns the token of the registry in a request; undefined when it has other credentials or none. */
export function findContainerToken(authorization: string | undefined): string | undefined {
  const token = /^bearer (\S+)$/i.exec(authorization ?? "")?.[1];
  return token?.startsWith(PREFIX) ? token : undefined;
}
