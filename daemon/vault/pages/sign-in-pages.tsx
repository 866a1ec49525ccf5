import type { ReactNode } from "react";
import type { AppError } from "../../errors.ts";
import { declareForm, Form, type FormFailure } from "../../pages/form.tsx";
import { Alert } from "../../pages/elements.tsx";
import { get, post } from "../../pages/page.ts";
import type { PageSessions, PageSignIn } from "./sessions.ts";
import { ADMIN, FORGOT_PASSWORD, HOME, SIGN_IN, SIGN_OUT, toVaultPath } from "./addresses.ts";
import {
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageContext,
  type VaultPageRoute,
} from "./vault-page.ts";

/** Returns the button of a provider, if one is set up, that leads to `to` after the sign-in. */
export type FurtherWays = (to: string) => ReactNode;

const SECOND_STEP = `${SIGN_IN}/code`;

/** Pages for the sign-in in two steps and the sign-out. */
export function signInPages(
  sessions: PageSessions,
  signOut: (context: VaultPageContext) => Promise<unknown>,
  furtherWays: FurtherWays,
): VaultPageRoute[] {
  const showSignIn = (values: Values, failed?: Failure) =>
    toSignInPage(values, furtherWays(values.to), failed);
  return [
    get(SIGN_IN, async ({ request, session }) => {
      const to = toVaultPath(request.query.get("to"));
      return session === undefined ? showSignIn({ to }) : { kind: "redirect", to };
    }),
    post(SIGN_IN, (context) => signIn(sessions, context, showSignIn)),
    get(SECOND_STEP, async () => ({ kind: "redirect", to: SIGN_IN })),
    post(SECOND_STEP, (context) => answerChallenge(sessions, context)),
    post(SIGN_OUT, async (context) => {
      if (context.session !== undefined) await signOut(context);
      return { kind: "redirect", to: SIGN_IN, session: null };
    }),
  ];
}

const signInForm = declareForm({
  action: SIGN_IN,
  submit: "Sign in",
  fields: {
    to: { type: "hidden" },
    email: {
      label: "E-mail address",
      type: "email",
      lengthMax: 254,
      autoComplete: "username",
      isTrimmed: true,
    },
    password: {
      label: "Password",
      type: "password",
      lengthMax: 1024,
      autoComplete: "current-password",
    },
    remember: { label: "Stay signed in for 30 days", type: "check" },
  },
});

/** Refusals of a sign-in, which the form shows. */
const expected: readonly AppError["code"][] = [
  "invalid_credentials",
  "rate_limited",
  "unavailable",
  "unprocessable",
];

async function signIn(
  sessions: PageSessions,
  { request, form }: VaultPageContext,
  showSignIn: (values: Values, failed: Failure) => VaultPageAnswer,
): Promise<VaultPageAnswer> {
  const { to, email, password, remember } = signInForm.read(form);
  const input = {
    email: email.toLowerCase(),
    password: password.normalize("NFC"),
    totpCode: undefined,
    backupCode: undefined,
    rememberMe: remember !== "",
  };
  const tried = await tryForm(() => sessions.signIn(request, input), expected);
  const values = { to: toVaultPath(to), email, remember };
  return "refusal" in tried
    ? showSignIn(values, toFailure(tried.refusal))
    : toNextStep(tried.result, values);
}

async function answerChallenge(
  sessions: PageSessions,
  { request, form }: VaultPageContext,
): Promise<VaultPageAnswer> {
  const challenge = form.get("challenge") ?? "";
  const code = (form.get("code") ?? "").replace(/\s/g, "");
  const isTotp = /^\d{6}$/.test(code);
  const values = {
    to: toVaultPath(form.get("to")),
    email: "",
    remember: form.get("remember") ?? "",
  };
  const tried = await tryForm(
    () =>
      sessions.answerChallenge(request, {
        challenge,
        totpCode: isTotp ? code : undefined,
        backupCode: isTotp || code === "" ? undefined : code,
        rememberMe: values.remember !== "",
      }),
    expected,
  );
  return "refusal" in tried
    ? showSecondStep({ ...values, challenge }, toFailure(tried.refusal))
    : toNextStep(tried.result, values);
}

interface Values {
  readonly to: string;
  readonly email?: string;
  readonly remember?: string;
}

/** Returns what follows a sign-in: the first page, or the page of a further step. */
export function toNextStep(result: PageSignIn, values: Values): VaultPageAnswer {
  switch (result.kind) {
    case "signed_in": {
      const isAdmin = result.session.caller.role === "admin";
      const to = isAdmin && values.to === HOME ? ADMIN : values.to;
      return { kind: "redirect", to, session: result.session };
    }
    case "totp_required":
      return showSecondStep({ ...values, challenge: result.challenge });
    case "password_change_required":
      return showPasswordRequired();
  }
}

function toFailure(refusal: AppError): Failure {
  const { code } = refusal;
  const status = code === "rate_limited" ? 429 : code === "unavailable" ? 503 : 401;
  return { text: toText(refusal), status, refusal };
}

interface Failure extends FormFailure<never> {
  readonly status: number;
  readonly refusal: AppError;
}

function toSignInPage(
  values: Values,
  furtherWay: ReactNode,
  failed: Failure | undefined,
): VaultPageAnswer {
  return {
    kind: "page",
    title: "Sign in",
    status: failed?.status ?? 200,
    refusal: failed?.refusal,
    body: (
      <div className="narrow">
        <h1>Sign in</h1>
        <signInForm.Form token={undefined} values={values} failed={failed} />
        {furtherWay}
        <p>
          <a href={FORGOT_PASSWORD}>Forgot your password?</a>
        </p>
      </div>
    ),
  };
}

function showSecondStep(
  { to, remember = "", challenge }: Values & { readonly challenge: string },
  failed?: Failure,
): VaultPageAnswer {
  const hidden = { to, remember, challenge };
  return {
    kind: "page",
    title: "Second factor",
    status: failed?.status ?? 200,
    refusal: failed?.refusal,
    body: (
      <div className="narrow">
        <h1>Second factor</h1>
        <Alert text={failed?.text} />
        <Form action={SECOND_STEP} token={undefined} className="stack">
          {Object.entries(hidden).map(([name, value]) => (
            <input key={name} type="hidden" name={name} value={value} />
          ))}
          <label>
            Code of your app, or a recovery code
            <input
              name="code"
              required
              autoFocus
              maxLength={64}
              autoComplete="one-time-code"
              autoCapitalize="none"
              spellCheck={false}
            />
          </label>
          <div>
            <button type="submit" className="primary">
              Sign in
            </button>
          </div>
        </Form>
        <p>
          <a href={SIGN_IN}>Sign in to another account</a>
        </p>
      </div>
    ),
  };
}

function showPasswordRequired(): VaultPageAnswer {
  return {
    kind: "page",
    title: "Choose a password",
    status: 403,
    body: (
      <div className="narrow">
        <h1>Choose another password first</h1>
        <p>
          An administrator asks you to choose another password. Open the link in the mail that you
          got, or have <a href={FORGOT_PASSWORD}>another one sent</a>.
        </p>
      </div>
    ),
  };
}
