import { AppError } from "../errors.ts";
import { toBasePath } from "../pages/document.tsx";
import { declareForm, Form } from "../pages/form.tsx";
import {
  get,
  type PageAnswer,
  type PageContext,
  type PageRoute,
  post,
  toLocalPath,
} from "../pages/page.ts";
import { readSessionCookie, type Session } from "../pages/sessions.ts";
import { FLOW_MS } from "./flows.ts";
import { showIdentities, unlinkIdentity } from "./identity-pages.tsx";
import type { Identity } from "./oidc-client.ts";
import type { OidcSite, Provider } from "./oidc-site.ts";

/** The button that begins a sign-in by the provider. */
export function ProviderButton({ action, name, to }: { action: string; name: string; to: string }) {
  return (
    <Form action={action} token={undefined} className="inline">
      <input type="hidden" name="to" value={to} />
      <button type="submit">{`Sign in with ${name}`}</button>
    </Form>
  );
}

/** The pages of a sign-in by a provider, and the list of the identities of an account. */
export function oidcPages<Caller>(site: OidcSite<Caller>): PageRoute<Caller>[] {
  const { paths, provider } = site;
  const open = { skipsRequiredPage: true } as const;
  return [
    get(paths.identities, (context) => showIdentities(site, context)),
    post(paths.identities, (context) => unlinkIdentity(site, context)),
    ...(provider === undefined
      ? []
      : [
          get<Caller, string>(
            paths.start,
            async () => ({ kind: "redirect", to: paths.signIn }),
            open,
          ),
          post<Caller, string>(paths.start, (context) => begin(site, provider, context), open),
          get<Caller, string>(
            `${paths.start}/callback`,
            (context) => comeBack(site, provider, context),
            open,
          ),
          post<Caller, string>(
            `${paths.start}/confirm`,
            (context) => confirm(site, provider, context),
            open,
          ),
        ]),
  ];
}

/** The cookie of a sign-in under way. It comes along when the provider sends the browser back, unlike that of a session. */
const cookieOf = ({ name }: { readonly name: string }) => ({
  name: `croft_sign_in_${name}`,
  lifetimeMs: FLOW_MS,
});

function toFlowCookie<Caller>(
  site: OidcSite<Caller>,
  secret: string,
  publicUrl: () => string,
): string {
  const secure = publicUrl().startsWith("https:") ? "; Secure" : "";
  const path = toBasePath(publicUrl) + site.paths.start;
  return `${cookieOf(site).name}=${secret}; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=${FLOW_MS / 1000}${secure}`;
}

async function begin<Caller>(
  site: OidcSite<Caller>,
  { client, flows, count, name }: Provider,
  { form, request, session, publicUrl }: PageContext<Caller>,
): Promise<PageAnswer<Caller>> {
  const isLink = form.get("link") === "yes";
  if (isLink && session === undefined) return { kind: "redirect", to: site.paths.signIn };
  await count(request);
  const { url, ...pending } = await client.begin(`${publicUrl()}${site.paths.start}/callback`);
  const account = isLink && session !== undefined ? site.accounts.accountOf(session) : undefined;
  const wanted = toLocalPath(form.get("to"));
  const to = wanted === "/" ? site.paths.home : wanted;
  const secret = await flows.keep({
    step: "provider",
    site: site.name,
    ...pending,
    to,
    ...(account === undefined ? {} : { account }),
  });
  // A form must not lead to another site (form-action), so a page leads there.
  return toPassage({
    title: `Sign in with ${name}`,
    url,
    text: `Continue to ${name}`,
    cookie: toFlowCookie(site, secret, publicUrl),
  });
}

/** A page that leads on at once. After a sign-in it is needed as well: the session's cookie goes with requests of this site only. */
function toPassage<Caller>({
  title,
  url,
  text,
  ...more
}: {
  readonly title: string;
  readonly url: string;
  readonly text: string;
  readonly cookie?: string;
  readonly session?: Session<Caller>;
}): PageAnswer<Caller> {
  return {
    kind: "page",
    title,
    hasSecret: true,
    ...more,
    body: (
      <div data-hides-query>
        <meta httpEquiv="refresh" content={`0; url=${url}`} />
        <h1>{title}</h1>
        <p>
          <a href={url} rel="noreferrer">
            {text}
          </a>
        </p>
      </div>
    ),
  };
}

async function comeBack<Caller>(
  site: OidcSite<Caller>,
  { client, flows }: Provider,
  context: PageContext<Caller>,
): Promise<PageAnswer<Caller>> {
  const { request, publicUrl } = context;
  const secret = readSessionCookie(request, cookieOf(site)) ?? "";
  const flow = await flows.open(secret, { site: site.name, step: "provider" });
  // Before the code is exchanged: of two requests with one answer of the provider, one goes on.
  await flows.end(secret);
  const callback = new URL(`${publicUrl()}${site.paths.start}/callback`);
  callback.search = request.query.toString();
  const identity = await client.finish(callback, flow);
  if (flow.account !== undefined) {
    await site.accounts.link(flow.account, identity, context);
    return arrive(context, site.paths.identities);
  }
  const outcome = await site.accounts.signIn(identity, context);
  if (outcome.kind === "signed_in") {
    const to = flow.to === site.paths.home ? (outcome.home ?? flow.to) : flow.to;
    return arrive(context, to, outcome.session);
  }
  if (outcome.kind === "page") return outcome.answer;
  const account = outcome.kind === "code_required" ? outcome.account : undefined;
  const next = await flows.keep({
    step: "confirm",
    site: site.name,
    identity: { ...identity, groups: [...identity.groups] },
    to: flow.to,
    ...(account === undefined ? {} : { account }),
  });
  return {
    ...showConfirmation(site, identity, account !== undefined),
    cookie: toFlowCookie(site, next, publicUrl),
  };
}

function arrive<Caller>(
  { publicUrl }: PageContext<Caller>,
  to: string,
  session?: Session<Caller>,
): PageAnswer<Caller> {
  const passage = { title: "Signed in", url: toBasePath(publicUrl) + to, text: "Continue" };
  return toPassage(session === undefined ? passage : { ...passage, session });
}

const fieldsOf = (nameLabel: string) =>
  declareForm({
    submit: "Sign in and link",
    fields: {
      name: {
        label: nameLabel,
        type: "text",
        lengthMax: 255,
        autoComplete: "username",
        isTrimmed: true,
      },
      password: {
        label: "Password",
        type: "password",
        lengthMax: 1024,
        autoComplete: "current-password",
      },
      code: {
        label: "Code of your second factor, if you have one",
        type: "text",
        isOptional: true,
        lengthMax: 64,
        autoComplete: "one-time-code",
        isTrimmed: true,
      },
    },
  });

const codeForm = declareForm({
  submit: "Sign in",
  fields: {
    code: {
      label: "Code of your second factor",
      type: "text",
      lengthMax: 64,
      autoComplete: "one-time-code",
      isTrimmed: true,
    },
  },
});

/** Asks for the code of a linked account, or for the password of the account that is to be linked. */
function showConfirmation<Caller>(
  { paths }: OidcSite<Caller>,
  identity: Identity,
  isCode: boolean,
  failed?: {
    readonly text: string;
    readonly status: number;
    readonly name?: string;
    readonly refusal?: AppError;
  },
): Extract<PageAnswer<Caller>, { kind: "page" }> {
  const action = `${paths.start}/confirm`;
  const { Form: LinkForm } = fieldsOf(paths.nameLabel);
  const title = isCode ? "Second factor" : "Link your account";
  const name = failed?.name ?? identity.email ?? "";
  return {
    kind: "page",
    title,
    status: failed?.status ?? 200,
    refusal: failed?.refusal,
    hasSecret: true,
    body: (
      <div className="narrow" data-hides-query>
        <h1>{title}</h1>
        {isCode ? (
          <codeForm.Form action={action} token={undefined} failed={failed} />
        ) : (
          <>
            <p>
              No account is linked to you yet. Sign in once with the password of your account, which
              links it. Without an account, ask the administrator for one.
            </p>
            <LinkForm action={action} token={undefined} values={{ name }} failed={failed} />
          </>
        )}
      </div>
    ),
  };
}

async function confirm<Caller>(
  site: OidcSite<Caller>,
  { flows }: Provider,
  context: PageContext<Caller>,
): Promise<PageAnswer<Caller>> {
  const secret = readSessionCookie(context.request, cookieOf(site)) ?? "";
  const { identity, account, to } = await flows.open(secret, { site: site.name, step: "confirm" });
  const entered = fieldsOf("").read(context.form);
  const person: Identity = { ...identity, email: identity.email };
  try {
    const session =
      account === undefined
        ? await site.accounts.confirm(person, entered, context)
        : await site.accounts.answerCode(account, entered.code, context);
    await flows.end(secret);
    return { kind: "redirect", to, session };
  } catch (error) {
    const status = error instanceof AppError ? shown[error.code] : undefined;
    if (status === undefined || !(error instanceof AppError)) throw error;
    const failed = { text: error.message, status, name: entered.name, refusal: error };
    return showConfirmation(site, person, account !== undefined, failed);
  }
}

/** The refusals that the form shows. */
const shown: Partial<Record<AppError["code"], number>> = {
  invalid_credentials: 401,
  forbidden: 403,
  conflict: 409,
  unprocessable: 422,
  rate_limited: 429,
};
