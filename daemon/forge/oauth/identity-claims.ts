import type { Database } from "../../../storage/engine/database.ts";
import { listOrganizationsOf } from "../../../storage/tables/forge/accounts/orgs.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { grantsScope, isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import type { ForgeUrls } from "../urls.ts";
import { createIdentityTokens, type IdentityTokensDeps } from "./identity-tokens.ts";
import { fromScopeText, identityWords } from "./oauth-scope.ts";
import { toClaims } from "./oauth.view.ts";
import type { IssuedTokens } from "./provider.service.ts";

export interface IdentityClaimsDeps extends IdentityTokensDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly urls: ForgeUrls;
  /** Returns the words of OpenID Connect of a caller's token; undefined if no application has it. */
  readonly findIdentityScope: (caller: ForgeCaller) => Promise<readonly string[] | undefined>;
}

/** Organizations that the claim `groups` names. */
const GROUPS_MAX = 200;

export type IdentityClaims = ReturnType<typeof createIdentityClaims>;

/** What programs learn of the user who signs in. */
export function createIdentityClaims(deps: IdentityClaimsDeps) {
  const { db, clock, urls, findIdentityScope } = deps;
  const tokens = createIdentityTokens(deps);
  return {
    listKeys: tokens.listKeys,

    /**
     * Returns the claims about a caller that the credentials give. Refuses an anonymous caller with `unauthenticated`, and a token for
     * neither identity nor users with `forbidden`.
     */
    async describeCaller(caller: ForgeCaller | undefined) {
      if (caller === undefined) throw new AppError("unauthenticated", "a token is required");
      const words = await findIdentityScope(caller);
      const isNarrow = isPublicOnly(caller);
      if (words !== undefined && words.length > 0) return describe(caller.user, words, isNarrow);
      if (!grantsScope(caller.scope, "read", "user"))
        throw new AppError("forbidden", "the token does not have the scope openid");
      return describe(caller.user, words ?? identityWords, isNarrow);
    },

    /** Signs the identity token of a sign-in; undefined if its scope lacks `openid`. */
    async sign(issued: IssuedTokens): Promise<string | undefined> {
      const { identity: words, token } = fromScopeText(issued.scope);
      if (!words.includes("openid")) return undefined;
      const issuedAt = clock();
      const claims = {
        ...(await describe(issued.user, words, token.publicOnly)),
        iss: urls.publicUrl(),
        aud: issued.clientId,
        ...(issued.nonce === "" ? {} : { nonce: issued.nonce }),
      };
      return tokens.sign(claims, {
        issuedAt,
        expiresAt: issuedAt + issued.expiresInSeconds * 1000,
      });
    },
  };

  /** @param isNarrow the token has the scope `public-only` */
  async function describe(user: ForgeUser, words: readonly string[], isNarrow: boolean) {
    const window = { limit: GROUPS_MAX, offset: 0, isPublicOnly: isNarrow };
    const groups = words.includes("groups")
      ? (await listOrganizationsOf(db, user.id, window)).organizations.map(({ name }) => name)
      : [];
    return toClaims(user, { words, groups }, urls);
  }
}
