import { toUserId } from "../../../storage/tables/forge/ids.ts";
import type { ForgeCaller } from "../caller.ts";
import type { IdentityAccounts, OidcPaths } from "../../sign-in/oidc-site.ts";
import type { Identities } from "../accounts/identities.service.ts";
import { SIGN_IN } from "./forge-page.ts";
import type { Sessions } from "./sessions.ts";

/** The addresses of the sign-in by a provider, similar to those of Gitea. */
export const PROVIDER_PATHS: OidcPaths = {
  start: "/user/oauth2/provider",
  signIn: SIGN_IN,
  home: "/",
  identities: "/user/settings/identities",
  nameLabel: "User name or e-mail address",
};

/** The accounts of the forge for the sign-in by a provider. */
export function createIdentityAccounts({
  sessions,
  identities,
}: {
  readonly sessions: Sessions;
  readonly identities: Identities;
}): IdentityAccounts<ForgeCaller> {
  return {
    async signIn(identity, { request }) {
      const user = await identities.findAccount(identity);
      if (user === undefined) return { kind: "unknown" };
      const session = await sessions.signInByIdentity(user.id, request);
      return session === undefined
        ? { kind: "code_required", account: String(user.id) }
        : { kind: "signed_in", session };
    },
    answerCode: (account, code, { request }) =>
      sessions.answerCode(toUserId(Number(account)), code, request),
    async confirm(identity, { name, password, code }, { request }) {
      const session = await sessions.signIn(request, { name, password, code });
      await identities.link(session.caller.user.id, identity);
      return session;
    },
    link: (account, identity) => identities.link(toUserId(Number(account)), identity),
    accountOf: ({ caller }) => String(caller.user.id),
    list: ({ caller }) => identities.list(caller.user.id),
    unlink: ({ caller }, key) => identities.unlink(caller.user.id, key),
  };
}
