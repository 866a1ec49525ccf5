import { passwordResetEndpoints } from "../../contract/forge/accounts/password-reset.ts";
import type { AppError } from "../../errors.ts";
import { statusOfCode } from "../../http/replies.ts";
import { declareForm, type Field, type FormFailure } from "../../pages/form.tsx";
import { get, post } from "../../pages/page.ts";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  SIGN_IN,
} from "./forge-page.ts";

export const FORGOT_PASSWORD = "/user/forgot_password";
/** The address in the mail, as in the reference. */
const RECOVER_ACCOUNT = "/user/recover_account";

/** Declares the field of a password. */
export function passwordField(
  label: string,
  autoComplete: "current-password" | "new-password",
): Field {
  return { label, type: "password", lengthMax: 4096, autoComplete };
}

/** Pages for a forgotten password: requesting a link, and choosing a new password with it. */
export function passwordResetPages(
  /** The rules for passwords as one sentence. */
  rules: string,
): ForgePageRoute[] {
  const open = { skipsRequiredPage: true } as const;
  const showChoice: ShowChoice = (context, code, failed) =>
    toChoicePage(context, { code, rules }, failed);
  return [
    get(FORGOT_PASSWORD, async (context) => showRequest(context), open),
    post(FORGOT_PASSWORD, requestLink, open),
    get(
      RECOVER_ACCOUNT,
      async (context) => showChoice(context, context.request.query.get("code") ?? ""),
      open,
    ),
    post(RECOVER_ACCOUNT, (context) => choosePassword(context, showChoice), open),
  ];
}

const requestForm = declareForm({
  action: FORGOT_PASSWORD,
  submit: "Send the link",
  fields: {
    email: {
      label: "E-mail address",
      type: "email",
      lengthMax: 254,
      autoComplete: "email",
      isTrimmed: true,
    },
  },
});

const choiceForm = declareForm({
  action: RECOVER_ACCOUNT,
  submit: "Set password",
  fields: {
    code: { type: "hidden" },
    password: passwordField("New password", "new-password"),
    retype: passwordField("New password again", "new-password"),
  },
});

const expected: readonly AppError["code"][] = ["invalid_argument", "unprocessable", "rate_limited"];

async function requestLink(context: ForgePageContext): Promise<ForgePageAnswer> {
  const body = requestForm.read(context.form);
  const refusal = await findRefusal(expected, () =>
    context.call(passwordResetEndpoints.requestUserPasswordReset, { body }),
  );
  return refusal === undefined ? requested : showRequest(context, toFailure(refusal));
}

async function choosePassword(
  context: ForgePageContext,
  showChoice: ShowChoice,
): Promise<ForgePageAnswer> {
  const { code: token, password: next, retype } = choiceForm.read(context.form);
  if (next !== retype) {
    const text = "The two passwords differ.";
    return showChoice(context, token, { text, field: "retype", status: 422 });
  }
  const refusal = await findRefusal(expected, () =>
    context.call(passwordResetEndpoints.confirmUserPasswordReset, {
      body: { token, new_password: next },
    }),
  );
  return refusal === undefined ? changed : showChoice(context, token, toFailure(refusal));
}

type Failure<Name extends string = never> = FormFailure<Name> & { readonly status: number };

const toFailure = ({ code, message }: AppError): Failure => ({
  text: message,
  status: statusOfCode[code],
});

function showRequest({ session }: ForgePageContext, failed?: Failure): ForgePageAnswer {
  return {
    kind: "page",
    title: "Forgot your password?",
    ...(failed === undefined ? {} : { status: failed.status }),
    body: (
      <>
        <h1>Forgot your password?</h1>
        <p>Enter the e-mail address of your account. A mail with a link will be sent to it.</p>
        <requestForm.Form token={session?.formToken} failed={failed} />
      </>
    ),
  };
}

const requested: ForgePageAnswer = {
  kind: "page",
  title: "Forgot your password?",
  body: (
    <>
      <h1>Look into your mail</h1>
      <p role="status">
        If an account has this address, a mail with a link is on its way. The link works once and
        for one hour.
      </p>
    </>
  ),
};

type ShowChoice = (
  context: ForgePageContext,
  code: string,
  failed?: Failure<"retype">,
) => ForgePageAnswer;

function toChoicePage(
  { session }: ForgePageContext,
  { code, rules }: { readonly code: string; readonly rules: string },
  failed: Failure<"retype"> | undefined,
): ForgePageAnswer {
  return {
    kind: "page",
    title: "Choose a password",
    hasSecret: true,
    ...(failed === undefined ? {} : { status: failed.status }),
    body: (
      <>
        <h1>Choose a password</h1>
        <p className="quiet">{rules}</p>
        <choiceForm.Form token={session?.formToken} values={{ code }} failed={failed} />
        <p className="quiet">All sessions of your account end. Access tokens stay valid.</p>
      </>
    ),
  };
}

const changed: ForgePageAnswer = {
  kind: "page",
  title: "Choose a password",
  body: (
    <>
      <h1>Your password has changed</h1>
      <p>
        <a href={SIGN_IN}>Sign in</a> with it.
      </p>
    </>
  ),
};
