// daemon/forge/pages/settings: the pages of settings and administration. Start here: a page belongs to a place (a repository, an
// account, an organization, the instance) and has actions, which are the forms that it sends to its own address.
import type { ReactNode } from "react";
import type { AppError } from "../../../errors.ts";
import { Alert } from "../../../pages/elements.tsx";
import type { CallOperation } from "../../../pages/operations.ts";
import { get, post, toPageNumber } from "../../../pages/page.ts";
import { notFound } from "../../refusals.ts";
import {
  findRefusal,
  formRefusals,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type ForgeSession,
  toSentence,
  toSignIn,
} from "../forge-page.ts";

/** The parameters of an address. */
export type Params = Readonly<Record<string, string>>;

/** What settings belong to. */
export interface SettingsPlace<Opened> {
  /** The pattern of its addresses: `/:owner/:repo/settings`. */
  readonly base: string;
  /** Loads the place. Throws `not_found` for a caller who may not change it. */
  open(view: Request): Promise<Opened>;
  /** The name of the place in titles. */
  toName(opened: Opened): string;
  /** The head and the tabs. `current` is the tab of the page. */
  Head(props: { opened: Opened; current: string }): ReactNode;
}

/** A request for a page of settings by a signed-in caller. */
export interface Request {
  readonly context: ForgePageContext;
  readonly session: ForgeSession;
  readonly call: CallOperation;
  readonly params: Params;
  readonly form: URLSearchParams;
}

/** A page as it is shown. */
export interface View<Opened = unknown> extends Request {
  readonly opened: Opened;
  /** The address of the page, to which its forms are sent. */
  readonly home: string;
  /** Returns whether the page offers an action: an archived repository refuses most. */
  readonly offers: (action: string) => boolean;
  /** The refused form, whose values are shown again. */
  readonly sent: URLSearchParams | undefined;
}

/** A secret that only this response shows. */
export interface Secret {
  readonly title: string;
  readonly value: string;
}

/** What follows an action: the page again when it is undefined, another address, a secret, or a page of its own. */
type Outcome =
  | void
  | { readonly to: string }
  | { readonly secret: Secret }
  | { readonly page: { readonly title: string; readonly body: ReactNode } };

export interface SettingsPage<Opened> {
  /** The address below that of the place; empty for the first page. */
  readonly at: string;
  /** The key of the tab, if it is not `at`. */
  readonly tab?: string;
  readonly title: string;
  show(view: View<Opened>): Promise<ReactNode>;
  /** Whether the place stays as it is, as an archived repository. Only the actions `kept` are offered then. */
  isFixed?(opened: Opened): boolean;
  readonly kept?: readonly string[];
  /** Whether forms of the page have files, which follow their fields. */
  readonly takesFiles?: true;
  /** The forms of the page, by the value of their field `action`. */
  readonly actions?: Readonly<Record<string, (request: Request) => Promise<Outcome>>>;
}

/** Declares a page of settings. Its operations decide who may use it. */
export function settingsPage<Opened>(
  place: SettingsPlace<Opened>,
  page: SettingsPage<Opened>,
): ForgePageRoute[] {
  const path = page.at === "" ? place.base : `${place.base}/${page.at}`;
  return [
    get(path, (context: ForgePageContext, params: Params) => show(context, params)),
    ...(page.actions === undefined
      ? []
      : [post(path, run, page.takesFiles === true ? { takesFiles: true } : {})]),
  ];

  async function show(
    context: ForgePageContext,
    params: Params,
    { failed, secret }: { failed?: AppError; secret?: Secret } = {},
  ): Promise<ForgePageAnswer> {
    const request = toRequest(context, params);
    if (request === undefined) return toSignIn(context.request.target);
    const opened = await place.open(request);
    const home = toAddress(path, params);
    const sent = failed === undefined ? undefined : context.form;
    const isFixed = page.isFixed?.(opened) === true;
    const offers = (action: string) => !isFixed || page.kept?.includes(action) === true;
    const shown = await page.show({ ...request, opened, home, sent, offers });
    return {
      kind: "page",
      title: `${page.title} of ${place.toName(opened)}`,
      ...(failed === undefined ? {} : { status: 422 }),
      hasSecret: secret !== undefined,
      body: (
        <>
          <place.Head opened={opened} current={page.tab ?? page.at} />
          <h2>{page.title}</h2>
          <Alert text={failed === undefined ? undefined : toSentence(failed)} />
          {isFixed ? (
            <p className="notice">The repository is archived: this stays as it is.</p>
          ) : null}
          {secret === undefined ? null : <SecretNotice secret={secret} />}
          {shown}
        </>
      ),
    };
  }

  async function run(context: ForgePageContext, params: Params): Promise<ForgePageAnswer> {
    const request = toRequest(context, params);
    const home = toAddress(path, params);
    if (request === undefined) return toSignIn(home);
    const name = context.form.get("action") ?? "";
    const actions = page.actions ?? {};
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) throw notFound();
    let outcome = undefined as Outcome;
    const failed = await findRefusal(formRefusals, async () => {
      outcome = await action(request);
    });
    if (failed !== undefined) return show(context, params, { failed });
    if (outcome === undefined) return { kind: "redirect", to: home };
    if ("to" in outcome) return { kind: "redirect", to: outcome.to };
    if ("page" in outcome) return { kind: "page", hasSecret: true, ...outcome.page };
    return show(context, params, { secret: outcome.secret });
  }
}

function toRequest(context: ForgePageContext, params: Params): Request | undefined {
  const { session, call, form } = context;
  return session === undefined ? undefined : { context, session, call, params, form };
}

/** Fills the parameters into the pattern of an address. */
export function toAddress(pattern: string, params: Params): string {
  return pattern.replace(/:(\w+)/g, (_all, name: string) => encodeURIComponent(params[name] ?? ""));
}

/** Entries on one page of a list. */
export const LIMIT = 50;

/** The part of a list that a page shows, as the query of its operation. */
export function toWindow({ context }: Request): { readonly page: string; readonly limit: string } {
  return { page: String(toPageNumber(context.request)), limit: String(LIMIT) };
}

function SecretNotice({ secret: { title, value } }: { secret: Secret }) {
  return (
    <section className="notice" aria-label={title}>
      <p>{`${title}. Copy it now: it is not shown again.`}</p>
      <pre tabIndex={0} data-copy="">
        {value}
      </pre>
    </section>
  );
}
