import * as contract from "../../contract/vault/auth.ts";
import { tokenEndpoints } from "../../contract/vault/tokens.ts";
import type { Route } from "../../http/handle.ts";
import { answer } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import { toPage, toPageRequest } from "../page.ts";
import type { VaultAccounts } from "./accounts.ts";
import * as view from "./accounts.view.ts";
import { toClient } from "./client.ts";

/** The account routes. */
export function accountRoutes(accounts: VaultAccounts): Route[] {
  const { registration, signIn, sessions, passwords, totp, profile, machineTokens } = accounts;
  const toAnswer = <Body>({ body, headers }: view.WithHeaders<Body>) => answer(body, { headers });
  return [
    ...serve(contract.accountEndpoints, {
      register: async ({ body, request }) =>
        view.toUser(await registration.register(body, request.address)),
      login: async ({ body, request }) =>
        toAnswer(view.toSignedIn(await signIn.signIn(view.toSignInInput(body), toClient(request)))),
      refresh: async ({ request }) =>
        toAnswer(view.toTokens(await sessions.refresh(toClient(request)))),
      logout: async ({ request }) => {
        await sessions.signOut(toClient(request));
        return answer({ message: "Signed out." }, { headers: view.signedOutHeaders });
      },
      logoutAll: async ({ caller }) =>
        answer(view.toSignedOut(await sessions.signOutAll(caller)), {
          headers: view.signedOutHeaders,
        }),
      me: async ({ caller }) => view.toUser(await profile.view(caller)),
      myQuota: async ({ caller }) => view.toQuota(await profile.viewQuota(caller)),
      changePassword: async ({ caller, body, request }) => {
        const change = { current: body.current_password, next: body.new_password };
        const revoked = await passwords.change(caller, change, toClient(request));
        return { message: "Password changed.", sessions_revoked: revoked };
      },
      setupTotp: async ({ caller }) => view.toTotpSetup(await totp.setUp(caller)),
      enableTotp: async ({ caller, body, request }) =>
        view.toTotpEnrolment(await totp.enable(caller, body.code, toClient(request))),
      disableTotp: async ({ caller, request }) => ({
        message: "TOTP disabled.",
        sessions_revoked: await totp.disable(caller, toClient(request)),
      }),
      requestPasswordReset: async ({ body }) => {
        await passwords.requestReset(body.email);
        // The same text for every address, so that it does not reveal which have an account.
        return { message: "If an account with this address exists, a link was sent to it." };
      },
      confirmPasswordReset: async ({ body, request }) => {
        await passwords.confirmReset(body.token, body.new_password, toClient(request));
        return { message: "Password updated. Please sign in." };
      },
      viewPreferences: async ({ caller }) =>
        view.toPreferences(await profile.viewPreferences(caller)),
      editPreferences: async ({ caller, body }) => ({
        pdf_open_mode: await profile.setPdfOpenMode(caller, body.pdf_open_mode),
      }),
      setDefaultStorage: async ({ caller, body }) =>
        view.toPreferences(await profile.setDefaultStorage(caller, body.backend)),
      listSessions: async ({ caller, query }) => {
        const page = toPageRequest(query);
        const found = await sessions.list(caller, page);
        const items = found.sessions.map((session) => view.toSession(session, caller.sessionId));
        return toPage(items, found.total, page);
      },
      deleteSession: async ({ caller, params }) => {
        await sessions.end(caller, params.id);
        return { message: "Session revoked." };
      },
    }),
    ...serve(tokenEndpoints, {
      createToken: async ({ caller, body }) => {
        const { name, scope, expires_at: expiresAt } = body;
        const newToken = { name, scope, expiresAt: expiresAt ?? undefined };
        return view.toNewMachineToken(await machineTokens.create(caller, newToken));
      },
      listTokens: async ({ caller, query }) => {
        const page = toPageRequest(query);
        const { tokens, total } = await machineTokens.list(caller, page);
        return toPage(tokens.map(view.toMachineToken), total, page);
      },
      deleteToken: async ({ caller, params }) => {
        await machineTokens.revoke(caller, params.id);
        return { message: "Token revoked." };
      },
    }),
  ];
}
