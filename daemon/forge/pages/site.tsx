// daemon/forge/pages: the pages that html_url names. Start here: the list of pages and what they share; daemon/pages has the kit. A
// page reads through the operations of the API.
import type { AppError } from "../../errors.ts";
import type { ServerRequest } from "../../http/handle.ts";
import { Form } from "../../pages/form.tsx";
import { toPath } from "../../pages/page.ts";
import { readSessionCookie } from "../../pages/sessions.ts";
import type { Site } from "../../pages/site.ts";
import { oidcPages, ProviderButton } from "../../sign-in/oidc-pages.tsx";
import type { Provider } from "../../sign-in/oidc-site.ts";
import type { Identities } from "../accounts/identities.service.ts";
import { createIdentityAccounts, PROVIDER_PATHS } from "./provider-sign-in.ts";
import type { PublicKeys } from "../accounts/keys.service.ts";
import type { ForgeCaller } from "../caller.ts";
import type { ForgeUrls } from "../urls.ts";
import { accountPages, SIGN_OUT } from "./account-pages.tsx";
import { ASSETS, HEAD, POLICY } from "./script/script.tsx";
import { CHANGE_PASSWORD, type ForgeSession, SIGN_IN } from "./forge-page.ts";
import { ADMINISTRATION } from "./settings/admin-pages.tsx";
import { OWN_SETTINGS } from "./settings/own-settings.tsx";
import { OWN_ISSUES, OWN_PULLS } from "./own-pages.tsx";
import { passwordResetPages } from "./password-reset-pages.tsx";
import { NOTIFICATIONS } from "./notification-pages.tsx";
import { sessionPages } from "./settings/session-pages.tsx";
import { SEARCH } from "./search-pages.tsx";
import { SESSION_MS, type Sessions } from "./sessions.ts";
import { answerGoCommand, keyPages } from "./tool-pages.ts";

const COOKIE = { name: "croft_session", lifetimeMs: SESSION_MS };

export interface ForgeSiteDeps extends Pick<
  Site<ForgeCaller>,
  "pages" | "rendering" | "operations"
> {
  readonly sessions: Sessions;
  readonly identities: Identities;
  /** The rules for passwords as one sentence. */
  readonly passwordRules: string;
  /** The provider by which people may sign in, if one is set up. */
  readonly provider: Provider | undefined;
  readonly publicKeys: Pick<PublicKeys, "listLines">;
  readonly urls: ForgeUrls;
}

/** Returns the pages of the forge with those of signing in, and what they share. */
export function createForgeSite(deps: ForgeSiteDeps): Site<ForgeCaller> {
  const { sessions, rendering, operations, provider, passwordRules } = deps;
  const { start: action } = PROVIDER_PATHS;
  return {
    name: "forge.pages",
    pages: [
      ...keyPages(deps.publicKeys),
      ...accountPages({
        sessions,
        passwordRules,
        furtherWays: (to) =>
          provider === undefined ? null : (
            <ProviderButton action={action} name={provider.name} to={to} />
          ),
      }),
      ...oidcPages({
        name: "forge",
        paths: PROVIDER_PATHS,
        accounts: createIdentityAccounts(deps),
        provider,
      }),
      ...passwordResetPages(passwordRules),
      ...sessionPages(sessions),
      ...deps.pages,
    ],
    cookie: COOKIE,
    findSession: sessions.find,
    toAccount: ({ actor }) => String(actor.id),
    toTheme: ({ user: { theme } }) => (theme === "light" || theme === "dark" ? theme : undefined),
    operations,
    rendering,
    header: (request, session) => <AccountLinks request={request} session={session} />,
    signInPath: SIGN_IN,
    assets: ASSETS,
    head: () => HEAD,
    policy: POLICY,
    hasCachedPages: true,
    requiredPage: ({ user }) => (user.mustChangePassword ? CHANGE_PASSWORD : undefined),
    answerFirst: (request, path) => answerGoCommand(request, path, deps.urls),
    toMovedPage: ({ data }: AppError, target) => toMovedPage(data.location ?? "/", target),
  };
}

function AccountLinks({
  request,
  session,
}: {
  request: ServerRequest;
  session: ForgeSession | undefined;
}) {
  const search = (
    <a href={SEARCH} data-keys="g s">
      Search
    </a>
  );
  if (session === undefined) {
    const back = request.target.startsWith("/user/") ? "/" : request.target;
    return (
      <>
        {search} <a href={`${SIGN_IN}?redirect_to=${encodeURIComponent(back)}`}>Sign in</a>
      </>
    );
  }
  const { name } = session.caller.user;
  return (
    <>
      {search}
      <a href={OWN_ISSUES} data-keys="g i">
        Issues
      </a>
      <a href={OWN_PULLS} data-keys="g p">
        Pull requests
      </a>
      <a href={NOTIFICATIONS} data-keys="g n">
        Notifications
      </a>
      <a href={toPath(name)}>{name}</a>
      <a href={OWN_SETTINGS}>Settings</a>
      {session.caller.user.isAdmin ? <a href={ADMINISTRATION}>Administration</a> : null}
      <Form action={SIGN_OUT} token={session.formToken} className="inline">
        <button type="submit" className="link">
          Sign out
        </button>
      </Form>
    </>
  );
}

/** Returns the caller of the session that a request names; undefined while its password must be changed. */
export async function findSessionCaller(
  sessions: Sessions,
  request: ServerRequest,
): Promise<ForgeCaller | undefined> {
  const secret = readSessionCookie(request, COOKIE);
  const session = secret === undefined ? undefined : await sessions.find(secret, request);
  return session?.caller.user.mustChangePassword ? undefined : session?.caller;
}

/** Replaces the owner, and the repository if the address in the API has one, at the beginning of a page's address. */
function toMovedPage(location: string, target: string): string {
  const [, owner, repo] =
    /^\/api\/v1\/(?:(?:users|orgs)\/([^/?]+)|repos\/([^/]+)\/([^/?]+))/
      .exec(location)
      ?.filter((part) => part !== undefined) ?? [];
  if (owner === undefined) return "/";
  const [, formerOwner = "", formerRepo = "", rest = ""] =
    /^\/([^/?]*)((?:\/[^/?]*)?)(.*)$/s.exec(target) ?? [];
  // Public keys and feeds have the name and an ending, with which no name ends.
  const endingOf = (name: string) => /\.(?:keys|gpg|atom|rss)$/.exec(name)?.[0] ?? "";
  return repo === undefined
    ? `/${owner}${endingOf(formerOwner)}${formerRepo}${rest}`
    : `/${owner}/${repo}${endingOf(formerRepo)}${rest}`;
}
