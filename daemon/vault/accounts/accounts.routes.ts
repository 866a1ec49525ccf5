import * as contract from "../../contract/vault/auth.ts";
import { tokenEndpoints } from "../../contract/vault/tokens.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { toPage, toPageRequest } from "../page.ts";
import type { VaultAccounts } from "./accounts.ts";
import * as view from "./accounts.view.ts";
import { toClient } from "./client.ts";

/** The account routes. */
export function accountRoutes(accounts: VaultAccounts): Route[] {
  const { registration, signIn, sessions, passwords, totp, profile, machineTokens } = accounts;
  return [
    handle(contract.accountEndpoints.register, async ({ body, request }) => ({
      status: 201,
      body: view.toUser(await registration.register(body, request.address)),
    })),
    handle(contract.accountEndpoints.login, async ({ body, request }) =>
      view.signInAnswer(await signIn.signIn(view.toSignInInput(body), toClient(request))),
    ),
    handle(contract.accountEndpoints.refresh, async ({ request }) =>
      view.tokensAnswer(await sessions.refresh(toClient(request))),
    ),
    handle(contract.accountEndpoints.logout, async ({ request }) => {
      await sessions.signOut(toClient(request));
      return view.signedOutAnswer();
    }),
    handle(contract.accountEndpoints.logoutAll, async ({ caller }) =>
      view.signedOutAllAnswer(await sessions.signOutAll(caller)),
    ),
    handle(contract.accountEndpoints.me, async ({ caller }) => ({
      status: 200,
      body: view.toUser(await profile.view(caller)),
    })),
    handle(contract.accountEndpoints.myQuota, async ({ caller }) => ({
      status: 200,
      body: view.toQuota(await profile.viewQuota(caller)),
    })),
    handle(contract.accountEndpoints.changePassword, async ({ caller, body, request }) =>
      view.passwordChangedAnswer(
        await passwords.change(
          caller,
          { current: body.current_password, next: body.new_password },
          toClient(request),
        ),
      ),
    ),
    handle(contract.accountEndpoints.setupTotp, async ({ caller }) => ({
      status: 200,
      body: view.toTotpSetup(await totp.setUp(caller)),
    })),
    handle(contract.accountEndpoints.enableTotp, async ({ caller, body, request }) => ({
      status: 200,
      body: view.toTotpEnrolment(await totp.enable(caller, body.code, toClient(request))),
    })),
    handle(contract.accountEndpoints.disableTotp, async ({ caller, request }) =>
      view.totpDisabledAnswer(await totp.disable(caller, toClient(request))),
    ),
    handle(contract.accountEndpoints.requestPasswordReset, async ({ body }) => {
      await passwords.requestReset(body.email);
      return view.resetRequestedAnswer();
    }),
    handle(contract.accountEndpoints.confirmPasswordReset, async ({ body, request }) => {
      await passwords.confirmReset(body.token, body.new_password, toClient(request));
      return view.passwordResetAnswer();
    }),
    handle(contract.accountEndpoints.viewPreferences, async ({ caller }) => ({
      status: 200,
      body: view.toPreferences(await profile.viewPreferences(caller)),
    })),
    handle(contract.accountEndpoints.editPreferences, async ({ caller, body }) => ({
      status: 200,
      body: { pdf_open_mode: await profile.setPdfOpenMode(caller, body.pdf_open_mode) },
    })),
    handle(contract.accountEndpoints.setDefaultStorage, async ({ caller, body }) => ({
      status: 200,
      body: view.toPreferences(await profile.setDefaultStorage(caller, body.backend)),
    })),
    handle(contract.accountEndpoints.listSessions, async ({ caller, query }) => {
      const page = toPageRequest(query);
      const found = await sessions.list(caller, page);
      const items = found.sessions.map((session) => view.toSession(session, caller.sessionId));
      return { status: 200, body: toPage(items, found.total, page) };
    }),
    handle(contract.accountEndpoints.deleteSession, async ({ caller, params }) => {
      await sessions.end(caller, params.id);
      return view.sessionEndedAnswer();
    }),
    handle(tokenEndpoints.createToken, async ({ caller, body }) => {
      const { name, scope, expires_at: expiresAt } = body;
      const newToken = { name, scope, expiresAt: expiresAt ?? undefined };
      return view.tokenCreatedAnswer(await machineTokens.create(caller, newToken));
    }),
    handle(tokenEndpoints.listTokens, async ({ caller, query }) => {
      const page = toPageRequest(query);
      const { tokens, total } = await machineTokens.list(caller, page);
      return { status: 200, body: toPage(tokens.map(view.toMachineToken), total, page) };
    }),
    handle(tokenEndpoints.deleteToken, async ({ caller, params }) => {
      await machineTokens.revoke(caller, params.id);
      return { status: 200, body: { message: "Token revoked." } };
    }),
  ];
}
