import {
  confirmUserPasswordReset,
  requestUserPasswordReset,
} from "../../contract/forge/accounts/password-reset.ts";
import { AppError } from "../../errors.ts";
import { Form } from "./elements.tsx";
import type { PageAnswer, PageContext, PageRoute } from "./page.ts";

const FORGOT_PASSWORD = "/user/forgot_password";
/** The address in the mail, as in the reference. */
const RECOVER_ACCOUNT = "/user/recover_account";

/** Pages for a forgotten password: requesting a link, and choosing a new password with it. */
export function passwordResetPages(): PageRoute[] {
  return [
    {
      method: "GET",
      path: FORGOT_PASSWORD,
      beforePasswordChange: true,
      run: async (context) => showRequest(context),
    },
    {
      method: "POST",
      path: FORGOT_PASSWORD,
      beforePasswordChange: true,
      run: async (context) => {
        const email = (context.form.get("email") ?? "").trim();
        const failed = await findRefusal(() =>
          context.call(requestUserPasswordReset, { body: { email } }),
        );
        return failed === undefined ? requested : showRequest(context, failed);
      },
    },
    {
      method: "GET",
      path: RECOVER_ACCOUNT,
      beforePasswordChange: true,
      run: async (context) => showChoice(context, context.request.query.get("code") ?? ""),
    },
    {
      method: "POST",
      path: RECOVER_ACCOUNT,
      beforePasswordChange: true,
      run: async (context) => {
        const { form, call } = context;
        const token = form.get("code") ?? "";
        const next = form.get("password") ?? "";
        if (next !== form.get("retype"))
          return showChoice(context, token, {
            text: "The two passwords differ.",
            status: 422,
          });
        const failed = await findRefusal(() =>
          call(confirmUserPasswordReset, { body: { token, new_password: next } }),
        );
        return failed === undefined ? changed : showChoice(context, token, failed);
      },
    },
  ];
}

interface Refusal {
  readonly text: string;
  readonly status: number;
}

const statuses: Readonly<Partial<Record<string, number>>> = {
  invalid_argument: 400,
  unprocessable: 422,
  rate_limited: 429,
};

async function findRefusal(work: () => Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const status = error instanceof AppError ? statuses[error.code] : undefined;
    if (!(error instanceof AppError) || status === undefined) throw error;
    return { text: error.message, status };
  }
}

function Failure({ failed }: { readonly failed: Refusal | undefined }) {
  if (failed === undefined) return null;
  return (
    <p className="error" role="alert">
      {failed.text}
    </p>
  );
}

function showRequest({ session }: PageContext, failed?: Refusal): PageAnswer {
  return {
    kind: "page",
    title: "Forgot your password?",
    ...(failed === undefined ? {} : { status: failed.status }),
    body: (
      <>
        <h1>Forgot your password?</h1>
        <p>Enter the e-mail address of your account. A mail with a link will be sent to it.</p>
        <Failure failed={failed} />
        <Form action={FORGOT_PASSWORD} token={session?.formToken} className="stack">
          <label>
            E-mail address
            <input name="email" type="email" required maxLength={254} autoComplete="email" />
          </label>
          <div>
            <button type="submit">Send the link</button>
          </div>
        </Form>
      </>
    ),
  };
}

const requested: PageAnswer = {
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

function showChoice({ session }: PageContext, token: string, failed?: Refusal): PageAnswer {
  return {
    kind: "page",
    title: "Choose a password",
    ...(failed === undefined ? {} : { status: failed.status }),
    body: (
      <>
        <h1>Choose a password</h1>
        <Failure failed={failed} />
        <Form action={RECOVER_ACCOUNT} token={session?.formToken} className="stack">
          <input type="hidden" name="code" value={token} />
          {(
            [
              ["password", "New password"],
              ["retype", "New password again"],
            ] as const
          ).map(([name, text]) => (
            <label key={name}>
              {text}
              <input
                name={name}
                type="password"
                required
                maxLength={4096}
                autoComplete="new-password"
              />
            </label>
          ))}
          <div>
            <button type="submit">Set password</button>
          </div>
        </Form>
        <p className="quiet">All sessions of your account end. Access tokens stay valid.</p>
      </>
    ),
  };
}

const changed: PageAnswer = {
  kind: "page",
  title: "Choose a password",
  body: (
    <>
      <h1>Your password has changed</h1>
      <p>
        <a href="/user/login">Sign in</a> with it.
      </p>
    </>
  ),
};
