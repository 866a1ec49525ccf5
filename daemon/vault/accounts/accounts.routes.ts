import * as contract from "../../contract/vault/auth.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { VaultAccounts } from "./accounts.ts";
import * as view from "./accounts.view.ts";
import { toClient } from "./client.ts";

/** The account routes (vault API, Account routes). */
export function accountRoutes({ registration, signIn, sessions, profile }: VaultAccounts): Route[] {
  return [
    handle(contract.register, async ({ body }) => ({
      status: 201,
      body: view.toUser(await registration.register(body)),
    })),
    handle(contract.login, async ({ body, request }) =>
      view.signInAnswer(
        await signIn.signIn(
          {
            email: body.email,
            password: body.password,
            totpCode: body.totp_code,
            backupCode: body.backup_code,
            rememberMe: body.remember_me,
          },
          toClient(request),
        ),
      ),
    ),
    handle(contract.refresh, async ({ request }) =>
      view.tokensAnswer(await sessions.refresh(toClient(request))),
    ),
    handle(contract.logout, async ({ request }) => {
      await sessions.signOut(toClient(request));
      return view.signedOutAnswer();
    }),
    handle(contract.logoutAll, async ({ caller }) =>
      view.signedOutAllAnswer(await sessions.signOutAll(caller)),
    ),
    handle(contract.me, async ({ caller }) => ({
      status: 200,
      body: view.toUser(await profile.view(caller)),
    })),
    handle(contract.myQuota, async ({ caller }) => ({
      status: 200,
      body: view.toQuota(await profile.viewQuota(caller)),
    })),
  ];
}
