import { AppError } from "../../errors.ts";
import { Form } from "./elements.tsx";
import { type PageAnswer, type PageContext, type PageRoute, toLocalPath } from "./page.ts";
import type { Sessions } from "./sessions.ts";

const SIGN_IN = "/user/login";
const FORGOT_PASSWORD = "/user/forgot_password";
const CHANGE_PASSWORD = "/user/settings/change_password";

/** Pages for sign-in, sign-out and a change of the password. */
export function accountPages(sessions: Sessions): PageRoute[] {
  return [
    {
      method: "GET",
      path: SIGN_IN,
      beforePasswordChange: true,
      run: async ({ request, viewer }) => {
        const to = toLocalPath(request.query.get("redirect_to"));
        return viewer === undefined ? showSignIn(to) : { kind: "redirect", to };
      },
    },
    {
      method: "POST",
      path: SIGN_IN,
      beforePasswordChange: true,
      run: async ({ request, form }) => {
        const to = toLocalPath(form.get("redirect_to"));
        const name = (form.get("user_name") ?? "").trim();
        const [password, code] = [form.get("password") ?? "", form.get("code") ?? ""];
        try {
          const session = await sessions.signIn(request, { name, password, code: code.trim() });
          const mustChange = session.caller.user.mustChangePassword;
          return { kind: "redirect", to: mustChange ? CHANGE_PASSWORD : to, session };
        } catch (error) {
          if (!isExpected(error)) throw error;
          // The API's text for wrong credentials mentions tokens, which pages do not accept.
          const text =
            error.code === "invalid_credentials"
              ? "The name, the password or the code is wrong."
              : error.message;
          return showSignIn(to, { name, text, status: error.code === "rate_limited" ? 429 : 401 });
        }
      },
    },
    {
      method: "POST",
      path: "/user/logout",
      beforePasswordChange: true,
      run: async ({ session }) => {
        if (session !== undefined) await sessions.signOut(session);
        return { kind: "redirect", to: "/", session: null };
      },
    },
    {
      method: "GET",
      path: CHANGE_PASSWORD,
      beforePasswordChange: true,
      run: async (context) => showPasswordChange(context),
    },
    {
      method: "POST",
      path: CHANGE_PASSWORD,
      beforePasswordChange: true,
      run: async (context) => {
        const { session, form, request } = context;
        if (session === undefined) return toSignIn(CHANGE_PASSWORD);
        const [current, next] = [form.get("current") ?? "", form.get("password") ?? ""];
        if (next !== form.get("retype"))
          return showPasswordChange(context, "The two new passwords differ.");
        try {
          const renewed = await sessions.changePassword(
            session,
            { current, next },
            request.address,
          );
          return { kind: "redirect", to: "/", session: renewed };
        } catch (error) {
          if (!isExpected(error)) throw error;
          return showPasswordChange(context, error.message);
        }
      },
    },
  ];
}

const expected = ["invalid_credentials", "forbidden", "unprocessable", "rate_limited"];
const isExpected = (error: unknown): error is AppError =>
  error instanceof AppError && expected.includes(error.code);

/** Returns the response of a page that only a signed-in user may open. */
export function toSignIn(back: string): PageAnswer {
  return { kind: "redirect", to: `${SIGN_IN}?redirect_to=${encodeURIComponent(back)}` };
}

function showSignIn(
  back: string,
  failed?: { readonly name: string; readonly text: string; readonly status: number },
): PageAnswer {
  return {
    kind: "page",
    title: "Sign in",
    ...(failed === undefined ? {} : { status: failed.status }),
    body: (
      <>
        <h1>Sign in</h1>
        {failed === undefined ? null : (
          <p className="error" role="alert">
            {failed.text}
          </p>
        )}
        <Form action={SIGN_IN} token={undefined} className="stack">
          <input type="hidden" name="redirect_to" value={back} />
          <label>
            User name or e-mail address
            <input
              name="user_name"
              required
              maxLength={255}
              autoComplete="username"
              autoCapitalize="none"
              defaultValue={failed?.name}
            />
          </label>
          <label>
            Password
            <input
              name="password"
              type="password"
              required
              maxLength={4096}
              autoComplete="current-password"
            />
          </label>
          <label>
            Code of your second factor, if you have one
            <input name="code" maxLength={32} autoComplete="one-time-code" />
          </label>
          <div>
            <button type="submit">Sign in</button>
          </div>
        </Form>
        <p>
          <a href={FORGOT_PASSWORD}>Forgot your password?</a>
        </p>
      </>
    ),
  };
}

function showPasswordChange({ session, viewer }: PageContext, failed?: string): PageAnswer {
  if (session === undefined) return toSignIn(CHANGE_PASSWORD);
  return {
    kind: "page",
    title: "Change your password",
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <h1>Change your password</h1>
        {viewer?.mustChangePassword ? (
          <p>You must change your password before you can continue.</p>
        ) : null}
        {failed === undefined ? null : (
          <p className="error" role="alert">
            {failed}
          </p>
        )}
        <Form action={CHANGE_PASSWORD} token={session.formToken} className="stack">
          {(
            [
              ["current", "Current password", "current-password"],
              ["password", "New password", "new-password"],
              ["retype", "New password again", "new-password"],
            ] as const
          ).map(([name, text, complete]) => (
            <label key={name}>
              {text}
              <input
                name={name}
                type="password"
                required
                maxLength={4096}
                autoComplete={complete}
              />
            </label>
          ))}
          <div>
            <button type="submit">Change password</button>
          </div>
        </Form>
        <p className="quiet">All other sessions end. Access tokens stay valid.</p>
      </>
    ),
  };
}
