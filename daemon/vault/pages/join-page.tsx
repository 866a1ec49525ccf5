import type { VaultInvitation } from "../../../storage/tables/vault/documents/invitations.ts";
import { shareInvitationEndpoints } from "../../contract/vault/invitations.ts";
import { describeStrengthRules } from "../../contract/password-rules.ts";
import { declareForm, Form, type FormFailure } from "../../pages/form.tsx";
import { get, post } from "../../pages/page.ts";
import { SHARED, SIGN_IN } from "./addresses.ts";
import { Name } from "./elements.tsx";
import type { PageSessions } from "./sessions.ts";
import {
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageContext,
  type VaultPageRoute,
} from "./vault-page.ts";

export interface JoinPageDeps {
  readonly sessions: PageSessions;
  /** Returns the invitation of the secret in an address; undefined for one that no longer works. */
  readonly findInvitation: (secret: string) => Promise<VaultInvitation | undefined>;
}

const toJoinPath = (secret: string) => `/vault/join/${secret}`;

const joinForm = declareForm({
  submit: "Create the account",
  fields: {
    handle: {
      label: "Handle, by which others find you",
      type: "text",
      lengthMax: 32,
      autoCapitalize: "none",
      isTrimmed: true,
    },
    password: {
      label: "Password",
      type: "password",
      lengthMax: 1024,
      autoComplete: "new-password",
    },
  },
});

/** The page that the mail of an invitation leads to: it creates an account, or gives the shares to one that exists. */
export function joinPages(deps: JoinPageDeps): VaultPageRoute[] {
  return [
    get("/vault/join/:secret", async (context, { secret }) => {
      const invitation = await deps.findInvitation(secret);
      return invitation === undefined ? showSpent() : show(context, secret, invitation);
    }),
    post("/vault/join/:secret", async (context, { secret }) => {
      const invitation = await deps.findInvitation(secret);
      return invitation === undefined ? showSpent() : accept(deps, context, secret, invitation);
    }),
  ];
}

async function accept(
  { sessions }: JoinPageDeps,
  context: VaultPageContext,
  secret: string,
  invitation: VaultInvitation,
): Promise<VaultPageAnswer> {
  const { call, form, request, session } = context;
  if (session !== undefined) {
    await call(shareInvitationEndpoints.claimInvitation, { body: { secret } });
    return { kind: "redirect", to: SHARED };
  }
  const values = joinForm.read(form);
  const password = values.password.normalize("NFC");
  const body = { secret, handle: values.handle, password };
  const tried = await tryForm(() => call(shareInvitationEndpoints.acceptInvitation, { body }));
  if ("refusal" in tried)
    return show(context, secret, invitation, {
      values,
      failed: { text: toText(tried.refusal) },
    });
  const input = { email: invitation.email, password, rememberMe: false };
  const outcome = await sessions.signIn(request, {
    ...input,
    totpCode: undefined,
    backupCode: undefined,
  });
  return outcome.kind === "signed_in"
    ? { kind: "redirect", to: SHARED, session: outcome.session }
    : { kind: "redirect", to: SIGN_IN };
}

function show(
  { session }: VaultPageContext,
  secret: string,
  { ownerHandle, filename, email }: VaultInvitation,
  again?: {
    readonly values: { readonly handle: string };
    readonly failed: FormFailure<"handle" | "password">;
  },
): VaultPageAnswer {
  const path = toJoinPath(secret);
  const isOther = session !== undefined && session.caller.email !== email;
  return {
    kind: "page",
    title: "A document for you",
    status: again === undefined ? 200 : 422,
    body: (
      <div className="narrow">
        <h1>A document for you</h1>
        <p>
          {ownerHandle} shares <Name>{filename}</Name> with {email}.
        </p>
        {session === undefined ? (
          <>
            <p>
              <a href={`${SIGN_IN}?to=${encodeURIComponent(path)}`}>Sign in</a> if this address has
              an account. If not, create one:
            </p>
            <p className="quiet">{describeStrengthRules()}.</p>
            <joinForm.Form
              action={path}
              token={undefined}
              values={again?.values}
              failed={again?.failed}
            />
          </>
        ) : null}
        {isOther ? (
          <p>
            You have signed in as {session.caller.handle}, whose address is another. Sign out, and
            open the link again.
          </p>
        ) : null}
        {session !== undefined && !isOther ? (
          <Form action={path} token={session.formToken}>
            <button className="primary">Accept</button>
          </Form>
        ) : null}
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
      <div className="narrow">
        <h1>This link no longer works</h1>
        <p>The invitation was accepted or revoked, or has expired.</p>
        <p>
          <a href={SIGN_IN}>Sign in</a>
        </p>
      </div>
    ),
  };
}
