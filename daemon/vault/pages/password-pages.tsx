import { accountEndpoints } from "../../contract/vault/auth.ts";
import { describeStrengthRules } from "../../contract/password-rules.ts";
import { declareForm, type FormFailure } from "../../pages/form.tsx";
import { get, post } from "../../pages/page.ts";
import type { PageSessions } from "./sessions.ts";
import { FORGOT_PASSWORD, HOME, NEW_PASSWORD, SIGN_IN } from "./addresses.ts";
import {
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageContext,
  type VaultPageRoute,
} from "./vault-page.ts";

export interface PasswordPagesDeps {
  readonly sessions: PageSessions;
  /** Returns whether the token of a link can still set a password. */
  readonly isUsable: (token: string) => Promise<boolean>;
}

/** The address of reset links and invitations, which the document of the API gives. */
const RESET_LINK = "/password-reset/confirm";

/** Pages that mail a link, and choose a password with it. Invitations lead there too. */
export function passwordPages(deps: PasswordPagesDeps): VaultPageRoute[] {
  const showLink = async ({ request }: VaultPageContext) => {
    const token = request.query.get("token") ?? "";
    return (await deps.isUsable(token)) ? showChoice(token) : showSpent();
  };
  return [
    get(FORGOT_PASSWORD, async () => showRequest()),
    post(FORGOT_PASSWORD, requestLink),
    get(RESET_LINK, showLink),
    post(NEW_PASSWORD, (context) => choosePassword(deps, context)),
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
      autoComplete: "username",
      isTrimmed: true,
    },
  },
});

const newPassword = (label: string) =>
  ({ label, type: "password", lengthMax: 1024, autoComplete: "new-password" }) as const;

const choiceForm = declareForm({
  action: NEW_PASSWORD,
  submit: "Set the password and sign in",
  fields: {
    token: { type: "hidden" },
    password: newPassword("New password"),
    again: newPassword("New password again"),
  },
});

async function requestLink({ form, call }: VaultPageContext): Promise<VaultPageAnswer> {
  const body = requestForm.read(form);
  const tried = await tryForm(() => call(accountEndpoints.requestPasswordReset, { body }));
  if ("refusal" in tried) return showRequest(body, { text: toText(tried.refusal) });
  return {
    kind: "page",
    title: "Look into your mail",
    body: (
      <div className="narrow">
        <h1>Look into your mail</h1>
        <p>
          If there is an account with this address, a link to choose a password was sent to it. It
          works for an hour.
        </p>
        <p>
          <a href={SIGN_IN}>Sign in</a>
        </p>
      </div>
    ),
  };
}

async function choosePassword(
  { sessions }: PasswordPagesDeps,
  { form, request, session }: VaultPageContext,
): Promise<VaultPageAnswer> {
  const { token, password, again } = choiceForm.read(form);
  if (password !== again)
    return showChoice(token, { text: "The two passwords differ.", field: "again" });
  const tried = await tryForm(() =>
    sessions.resetPassword(request, { token, password: password.normalize("NFC") }),
  );
  if ("result" in tried)
    return tried.result === undefined
      ? { kind: "redirect", to: SIGN_IN, ...(session && { session: null }) }
      : { kind: "redirect", to: HOME, session: tried.result };
  const { code } = tried.refusal;
  return code === "invalid_argument"
    ? showSpent()
    : showChoice(token, { text: toText(tried.refusal), field: "password" });
}

function showRequest(
  values?: { readonly email: string },
  failed?: FormFailure<"email">,
): VaultPageAnswer {
  return {
    kind: "page",
    title: "Forgot your password?",
    status: failed === undefined ? 200 : 422,
    body: (
      <div className="narrow">
        <h1>Forgot your password?</h1>
        <p>A link to choose another one is sent to your address.</p>
        <requestForm.Form token={undefined} values={values} failed={failed} />
        <p>
          <a href={SIGN_IN}>Sign in</a>
        </p>
      </div>
    ),
  };
}

function showChoice(token: string, failed?: FormFailure<"password" | "again">): VaultPageAnswer {
  return {
    kind: "page",
    title: "Choose a password",
    status: failed === undefined ? 200 : 422,
    body: (
      <div className="narrow" data-hides-query>
        <h1>Choose a password</h1>
        <p className="quiet">{describeStrengthRules()}.</p>
        <choiceForm.Form token={undefined} values={{ token }} failed={failed} />
        <p className="quiet">All other sessions of the account end.</p>
      </div>
    ),
  };
}

function showSpent(): VaultPageAnswer {
  return {
    kind: "page",
    title: "This link no longer works",
    status: 410,
    body: (
      <div className="narrow" data-hides-query>
        <h1>This link no longer works</h1>
        <p>It was used, has expired, or a newer one was sent.</p>
        <p>
          <a href={FORGOT_PASSWORD}>Have another one sent</a>
        </p>
      </div>
    ),
  };
}
