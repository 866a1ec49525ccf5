import { Form } from "../../pages/form.tsx";
import { get, post } from "../../pages/page.ts";
import { type AuthorizationRequest, requestParameters } from "../oauth/authorization-requests.ts";
import { toScopeText } from "../oauth/oauth-scope.ts";
import type { OauthProvider } from "../oauth/provider.service.ts";
import {
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type ForgeSession,
  SIGN_IN,
  toSignIn,
} from "./forge-page.ts";

const AUTHORIZE = "/login/oauth/authorize";
const CONSENT = "/login/oauth/grant";

/** The pages on which a user lets an application sign in. */
export function oauthPages(oauth: OauthProvider): ForgePageRoute[] {
  return [
    get(AUTHORIZE, (context) => authorize(oauth, context)),
    post(CONSENT, (context) => decide(oauth, context)),
  ];
}

async function authorize(
  oauth: OauthProvider,
  { request, session }: ForgePageContext,
): Promise<ForgePageAnswer> {
  const checked = await oauth.check(request.query);
  if (checked.kind === "shown") return showFault(checked.message);
  if (session === undefined)
    return request.headers["sec-fetch-site"] === "cross-site"
      ? showContinue(request.target)
      : toSignIn(request.target);
  if (checked.kind === "refused") return { kind: "leave", to: checked.to };
  // The policy of the form of the sign-in does not allow a redirect to another server.
  const isFromForm = request.headers.referer?.split("?", 1).join().endsWith(SIGN_IN) === true;
  const to = isFromForm ? undefined : await oauth.approveAgain(checked, session.caller.user);
  if (to !== undefined) return { kind: "leave", to };
  return showConsent(checked, request.query, session);
}

async function decide(
  oauth: OauthProvider,
  { form, session }: ForgePageContext,
): Promise<ForgePageAnswer> {
  // The parameters were in the hands of the browser: they are checked again.
  const checked = await oauth.check(form);
  if (checked.kind === "shown") return showFault(checked.message);
  if (session === undefined) return toSignIn(`${AUTHORIZE}?${toQuery(form)}`);
  if (checked.kind === "refused") return { kind: "leave", to: checked.to };
  const to =
    form.get("granted") === "true"
      ? await oauth.approve(checked, session.caller.user)
      : oauth.refuse(checked);
  return { kind: "leave", to };
}

function toQuery(parameters: URLSearchParams): string {
  return new URLSearchParams(toEntries(parameters)).toString();
}

const toEntries = (parameters: URLSearchParams): [string, string][] =>
  requestParameters.flatMap((name) => {
    const value = parameters.get(name);
    return value === null ? [] : [[name, value]];
  });

function showFault(message: string): ForgePageAnswer {
  return {
    kind: "page",
    title: "Sign-in of an application",
    status: 400,
    body: (
      <>
        <h1>The application cannot sign in</h1>
        <p>{message}</p>
        <p>Nothing was sent to the application. Tell the operator of the application.</p>
      </>
    ),
  };
}

/** Browsers keep the cookie of the session from a link on another site: the next link is one of this site. */
function showContinue(target: string): ForgePageAnswer {
  return {
    kind: "page",
    title: "Sign-in of an application",
    hasSecret: true,
    body: (
      <>
        <h1>An application asks you to sign in</h1>
        <p>
          <a href={target}>Continue</a>
        </p>
      </>
    ),
  };
}

function showConsent(
  request: AuthorizationRequest,
  parameters: URLSearchParams,
  { caller, formToken }: ForgeSession,
): ForgePageAnswer {
  const { application, redirectUri, scope } = request;
  const to = new URL(redirectUri);
  return {
    kind: "page",
    title: `Authorize ${application.name}`,
    hasSecret: true,
    formLeadsTo: to,
    body: (
      <>
        <h1>
          Authorize <bdi>{application.name}</bdi>?
        </h1>
        <p>
          The application <bdi>{application.name}</bdi> wants to act as <b>{caller.user.name}</b>.{" "}
          {toOrigin(request)}
        </p>
        <ul>
          {toScopeText(scope)
            .split(" ")
            .map((word) => (
              <li key={word}>
                <code>{word}</code> {describeWord(word)}
              </li>
            ))}
        </ul>
        <p>
          You will be sent to <code>{to.host === "" ? to.protocol : to.origin}</code>.
        </p>
        <Form action={CONSENT} token={formToken} className="stack">
          {toEntries(parameters).map(([name, value]) => (
            <input key={name} type="hidden" name={name} value={value} />
          ))}
          <div>
            <button type="submit" name="granted" value="true" className="primary">
              Authorize
            </button>{" "}
            <button type="submit" name="granted" value="false">
              Refuse
            </button>
          </div>
        </Form>
      </>
    ),
  };
}

function toOrigin({ application: { ownerId, isConfidential } }: AuthorizationRequest): string {
  if (ownerId === undefined)
    return "It is a program on a machine of its user, as every server knows it.";
  return isConfidential
    ? "A user of this server has registered it."
    : "A user of this server has registered it. It keeps no secret: any program can pretend to be it.";
}

const meanings: Readonly<Record<string, string>> = {
  openid: "learns your name here",
  profile: "learns your full name and picture",
  email: "learns your e-mail address",
  groups: "learns the names of your organizations",
  all: "reads and changes everything that you may",
  "public-only": "only what is public",
};

function describeWord(word: string): string {
  const [level = "", category] = word.split(":");
  if (category === undefined)
    return (Object.hasOwn(meanings, word) ? meanings[word] : undefined) ?? "";
  return `${level === "write" ? "reads and changes" : "reads"}: ${category}`;
}
