// daemon/vault/pages: the vault in a browser. Start here: the list of pages and what they share; daemon/pages has the kit. A page
// reads and changes through the operations of the API. vault-page.ts declares pages, sessions.ts has the sessions of browsers.
import { accountEndpoints } from "../../contract/vault/auth.ts";
import type { ServerRequest } from "../../http/handle.ts";
import { Form } from "../../pages/form.tsx";
import type { Site } from "../../pages/site.ts";
import { oidcPages, ProviderButton } from "../../sign-in/oidc-pages.tsx";
import type { Provider } from "../../sign-in/oidc-site.ts";
import type { Identities } from "../accounts/identities.service.ts";
import { createIdentityAccounts, PROVIDER_PATHS } from "./provider-sign-in.ts";
import type { VaultCaller } from "../caller.ts";
import { accountPages } from "./account-pages.tsx";
import { addPages } from "./add-page.tsx";
import { connectionPages } from "./connection-pages.tsx";
import { ASSETS, toHead } from "./assets.tsx";
import { adminPages } from "./admin-pages.tsx";
import { systemPages } from "./system-pages.tsx";
import { eventPage } from "./event-page.tsx";
import { type JoinPageDeps, joinPages } from "./join-page.tsx";
import { linkPages } from "./link-pages.tsx";
import { trashPages } from "./trash-page.tsx";
import { versionPages } from "./version-pages.tsx";
import { sharedPage } from "./shared-page.tsx";
import { chosenPage } from "./chosen-pages.tsx";
import { documentPages } from "./document-pages.tsx";
import { documentsPage } from "./documents-page.tsx";
import { COOKIE } from "./operations.ts";
import { passwordPages } from "./password-pages.tsx";
import type { PageSessions } from "./sessions.ts";
import { signInPages } from "./sign-in-pages.tsx";
import {
  ACCOUNT,
  ADD,
  ADMIN,
  CONNECTIONS,
  HOME,
  LINKS,
  SHARED,
  SIGN_IN,
  SIGN_OUT,
} from "./addresses.ts";
import type { VaultPageRoute, VaultPageSession } from "./vault-page.ts";

export interface VaultSiteDeps extends Pick<Site<VaultCaller>, "rendering" | "operations"> {
  readonly sessions: PageSessions;
  readonly identities: Identities;
  /** The provider by which people may sign in, if one is set up. */
  readonly provider: Provider | undefined;
  readonly findInvitation: JoinPageDeps["findInvitation"];
  /** Returns whether the token of a link can still set a password. */
  readonly isResetLinkUsable: (token: string) => Promise<boolean>;
  /** Pages that belong to no part of the vault. */
  readonly furtherPages: readonly VaultPageRoute[];
}

/** Returns the pages of the vault, and what they share. */
export function createVaultSite(deps: VaultSiteDeps): Site<VaultCaller> {
  const { sessions, rendering, operations, provider, findInvitation } = deps;
  const { isResetLinkUsable: isUsable } = deps;
  const { start: action } = PROVIDER_PATHS;
  return {
    name: "vault.pages",
    pages: [
      ...signInPages(
        sessions,
        ({ call }) => call(accountEndpoints.logout),
        (to) =>
          provider === undefined ? null : (
            <ProviderButton action={action} name={provider.name} to={to} />
          ),
      ),
      ...oidcPages({
        name: "vault",
        paths: PROVIDER_PATHS,
        accounts: createIdentityAccounts(deps),
        provider,
      }),
      ...passwordPages({ sessions, isUsable }),
      ...joinPages({ sessions, findInvitation }),
      documentsPage,
      chosenPage,
      ...documentPages(),
      ...versionPages(),
      eventPage,
      ...trashPages,
      ...linkPages,
      sharedPage,
      ...addPages(),
      ...connectionPages(),
      ...accountPages(),
      ...adminPages(),
      ...systemPages(),
      ...deps.furtherPages,
    ],
    cookie: COOKIE,
    findSession: sessions.find,
    toAccount: ({ userId }) => userId,
    operations,
    rendering,
    header: (request, session) => <Navigation request={request} session={session} />,
    signInPath: SIGN_IN,
    homePath: HOME,
    assets: ASSETS,
    head: toHead,
    policy: POLICY,
  };
}

/** The script, its requests and the frames of previews come from this server. */
const POLICY = [
  "script-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "manifest-src 'self'",
  "require-trusted-types-for 'script'",
];

const links = {
  user: [
    [HOME, "Documents"],
    [SHARED, "Shared"],
    [LINKS, "Links"],
    [CONNECTIONS, "Storage"],
    [ADD, "Add"],
  ],
  admin: [[ADMIN, "Administration"]],
} as const;

function Navigation({
  request,
  session,
}: {
  request: ServerRequest;
  session: VaultPageSession | undefined;
}) {
  if (session === undefined) return <a href={SIGN_IN}>Sign in</a>;
  const { handle, role } = session.caller;
  const path = request.target.split("?", 1).join();
  const isCurrent = (href: string) =>
    href === HOME ? path === HOME || path.startsWith("/vault/d/") : path.startsWith(href);
  return (
    <>
      {links[role].map(([href, text]) => (
        <a key={href} href={href} aria-current={isCurrent(href) ? "page" : undefined}>
          {text}
        </a>
      ))}
      <a href={ACCOUNT} aria-current={isCurrent(ACCOUNT) ? "page" : undefined}>
        {handle}
      </a>
      <Form action={SIGN_OUT} token={session.formToken} className="inline">
        <button type="submit" className="link">
          Sign out
        </button>
      </Form>
    </>
  );
}
