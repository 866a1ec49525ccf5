import type { ReactNode } from "react";
import type { AppError } from "../../errors.ts";
import { declareForm, type FormFailure } from "../../pages/form.tsx";
import { get, post, toLocalPath } from "../../pages/page.ts";
import {
  CHANGE_PASSWORD,
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type ForgeSession,
  SIGN_IN,
  toSignIn,
} from "./forge-page.ts";
import { FORGOT_PASSWORD, passwordField } from "./password-reset-pages.tsx";
import type { Sessions } from "./sessions.ts";

export const SIGN_OUT = "/user/logout";

/** Pages for sign-in, sign-out and a change of the password. They open before a password that must be changed is. */
export function accountPages({
  sessions,
  passwordRules,
  furtherWays,
}: {
  readonly sessions: Sessions;
  /** The rules for passwords as one sentence. */
  readonly passwordRules: string;
  /** Returns the button of a provider, if one is set up, that leads to `to` after the sign-in. */
  readonly furtherWays: (to: string) => ReactNode;
}): ForgePageRoute[] {
  const showPasswordChange: ShowPasswordChange = (session, failed) =>
    toPasswordPage(session, passwordRules, failed);
  const open = { skipsRequiredPage: true } as const;
  const showSignIn: ShowSignIn = (values, failed) =>
    toSignInPage(values, furtherWays(values.redirect_to), failed);
  return [
    get(
      SIGN_IN,
      async ({ request, session }) => {
        const to = toLocalPath(request.query.get("redirect_to"));
        return session === undefined ? showSignIn({ redirect_to: to }) : { kind: "redirect", to };
      },
      open,
    ),
    post(SIGN_IN, (context) => signIn(sessions, context, showSignIn), open),
    post(
      SIGN_OUT,
      async ({ session }) => {
        if (session !== undefined) await sessions.signOut(session);
        return { kind: "redirect", to: "/", session: null };
      },
      open,
    ),
    get(CHANGE_PASSWORD, async ({ session }) => showPasswordChange(session), open),
    post(CHANGE_PASSWORD, (context) => changePassword(sessions, context, showPasswordChange), open),
  ];
}

const signInForm = declareForm({
  action: SIGN_IN,
  submit: "Sign in",
  fields: {
    redirect_to: { type: "hidden" },
    user_name: {
      label: "User name or e-mail address",
      type: "text",
      lengthMax: 255,
      autoComplete: "username",
      autoCapitalize: "none",
      isTrimmed: true,
    },
    password: passwordField("Password", "current-password"),
    code: {
      label: "Code of your second factor, if you have one",
      type: "text",
      isOptional: true,
      lengthMax: 32,
      autoComplete: "one-time-code",
      isTrimmed: true,
    },
  },
});

const changeForm = declareForm({
  action: CHANGE_PASSWORD,
  submit: "Change password",
  fields: {
    current: passwordField("Current password", "current-password"),
    password: passwordField("New password", "new-password"),
    retype: passwordField("New password again", "new-password"),
  },
});

const expected: readonly AppError["code"][] = [
  "invalid_credentials",
  "forbidden",
  "unprocessable",
  "rate_limited",
];

async function signIn(
  sessions: Sessions,
  { request, form }: ForgePageContext,
  showSignIn: ShowSignIn,
): Promise<ForgePageAnswer> {
  const values = signInForm.read(form);
  const { user_name: name, password, code } = values;
  const to = toLocalPath(values.redirect_to);
  let session: ForgeSession | undefined;
  const refusal = await findRefusal(expected, async () => {
    session = await sessions.signIn(request, { name, password, code });
  });
  if (session !== undefined) {
    const mustChange = session.caller.user.mustChangePassword;
    return { kind: "redirect", to: mustChange ? CHANGE_PASSWORD : to, session };
  }
  // The API's text for wrong credentials mentions tokens, which pages do not accept.
  const text =
    refusal?.code === "invalid_credentials"
      ? "The name, the password or the code is wrong."
      : (refusal?.message ?? "");
  const status = refusal?.code === "rate_limited" ? 429 : 401;
  return showSignIn({ redirect_to: to, user_name: name }, { text, status, refusal });
}

type ShowSignIn = (
  values: { readonly redirect_to: string; readonly user_name?: string },
  failed?: FormFailure<never> & {
    readonly status: number;
    readonly refusal: AppError | undefined;
  },
) => ForgePageAnswer;

function toSignInPage(
  values: Parameters<ShowSignIn>[0],
  furtherWay: ReactNode,
  failed: Parameters<ShowSignIn>[1],
): ForgePageAnswer {
  return {
    kind: "page",
    title: "Sign in",
    ...(failed === undefined ? {} : { status: failed.status, refusal: failed.refusal }),
    body: (
      <>
        <h1>Sign in</h1>
        <signInForm.Form token={undefined} values={values} failed={failed} />
        {furtherWay}
        <p>
          <a href={FORGOT_PASSWORD}>Forgot your password?</a>
        </p>
      </>
    ),
  };
}

async function changePassword(
  sessions: Sessions,
  { session, form, request }: ForgePageContext,
  showPasswordChange: ShowPasswordChange,
): Promise<ForgePageAnswer> {
  if (session === undefined) return toSignIn(CHANGE_PASSWORD);
  const { current, password: next, retype } = changeForm.read(form);
  if (next !== retype)
    return showPasswordChange(session, { text: "The two new passwords differ.", field: "retype" });
  let renewed: ForgeSession | undefined;
  const refusal = await findRefusal(expected, async () => {
    renewed = await sessions.changePassword(session, { current, next }, request);
  });
  return renewed === undefined
    ? showPasswordChange(session, { text: refusal?.message ?? "", refusal })
    : { kind: "redirect", to: "/", session: renewed };
}

type ShowPasswordChange = (
  session: ForgeSession | undefined,
  failed?: PasswordFailure,
) => ForgePageAnswer;

interface PasswordFailure extends FormFailure<"retype"> {
  readonly refusal?: AppError | undefined;
}

function toPasswordPage(
  session: ForgeSession | undefined,
  rules: string,
  failed: PasswordFailure | undefined,
): ForgePageAnswer {
  if (session === undefined) return toSignIn(CHANGE_PASSWORD);
  return {
    kind: "page",
    title: "Change your password",
    ...(failed === undefined
      ? {}
      : {
          status: failed.refusal?.code === "rate_limited" ? 429 : 422,
          refusal: failed.refusal,
        }),
    body: (
      <>
        <h1>Change your password</h1>
        {session.caller.user.mustChangePassword ? (
          <p>You must change your password before you can continue.</p>
        ) : null}
        <p className="quiet">{rules}</p>
        <changeForm.Form token={session.formToken} failed={failed} />
        <p className="quiet">All other sessions end. Access tokens stay valid.</p>
      </>
    ),
  };
}
