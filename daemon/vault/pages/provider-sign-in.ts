import { toAccountId } from "../../../storage/tables/vault/ids.ts";
import { AppError } from "../../errors.ts";
import type { IdentityAccounts, OidcPaths } from "../../sign-in/oidc-site.ts";
import type { Identities } from "../accounts/identities.service.ts";
import type { VaultCaller } from "../caller.ts";
import { ACCOUNT, ADMIN, HOME, SIGN_IN } from "./addresses.ts";
import type { PageSessions } from "./sessions.ts";
import { toNextStep } from "./sign-in-pages.tsx";

/** The addresses of the sign-in by a provider. */
export const PROVIDER_PATHS: OidcPaths = {
  start: `${SIGN_IN}/provider`,
  signIn: SIGN_IN,
  home: HOME,
  identities: `${ACCOUNT}/identities`,
  nameLabel: "E-mail address",
};

/** The accounts of the vault for the sign-in by a provider. */
export function createIdentityAccounts({
  sessions,
  identities,
}: {
  readonly sessions: PageSessions;
  readonly identities: Identities;
}): IdentityAccounts<VaultCaller> {
  return {
    async signIn(identity, { request }) {
      const account = await identities.findAccount(identity, request.address);
      if (account === undefined) return { kind: "unknown" };
      const result = await sessions.signInByIdentity(request, account);
      if (result.kind !== "signed_in")
        return { kind: "page", answer: toNextStep(result, { to: HOME }) };
      const isAdmin = result.session.caller.role === "admin";
      return { ...result, ...(isAdmin ? { home: ADMIN } : {}) };
    },
    // The page of the password's second factor asks for the code.
    answerCode: () => Promise.reject(new Error("the vault asks for codes by its own page")),
    async confirm(identity, { name, password, code }, { request }) {
      const digits = code.replace(/\s/g, "");
      const isTotp = /^\d{6}$/.test(digits);
      const result = await sessions.signIn(request, {
        email: name.toLowerCase(),
        password: password.normalize("NFC"),
        totpCode: isTotp ? digits : undefined,
        backupCode: isTotp || digits === "" ? undefined : digits,
        rememberMe: false,
      });
      if (result.kind === "totp_required")
        throw new AppError("invalid_credentials", "Enter a code of your second factor as well.");
      if (result.kind === "password_change_required")
        throw new AppError("forbidden", "Choose another password first, by the link of a mail.");
      const { userId, address } = result.session.caller;
      await identities.link(userId, identity, address);
      return result.session;
    },
    link: (account, identity, { request }) =>
      identities.link(toAccountId(account), identity, request.address),
    accountOf: ({ caller }) => caller.userId,
    list: ({ caller }) => identities.list(caller.userId),
    unlink: ({ caller }, key) => identities.unlink(caller.userId, key, caller.address),
  };
}
