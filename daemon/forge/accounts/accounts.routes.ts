import { tokenEndpoints } from "../../contract/forge/accounts/tokens.ts";
import { twoFactorEndpoints } from "../../contract/forge/accounts/two-factor.ts";
import { userEmailEndpoints } from "../../contract/forge/accounts/emails.ts";
import { ownKeyEndpoints } from "../../contract/forge/accounts/keys.ts";
import { passwordResetEndpoints } from "../../contract/forge/accounts/password-reset.ts";
import { userEndpoints } from "../../contract/forge/accounts/users.ts";
import { versionEndpoints } from "../../contract/forge/version.ts";
import type { Route } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import { serve, serveSome } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { OwnEmails } from "./emails.service.ts";
import type { OwnPassword } from "./own-password.service.ts";
import type { PasswordResets } from "./password-reset.service.ts";
import type { SecondFactors } from "./second-factors.service.ts";
import {
  toCurrentTokenView,
  toForeignKeyView,
  toMadeTokenView,
  toOwnEmailView,
  toPublicKeyView,
  toTokenView,
} from "./accounts.view.ts";
import type { PublicKeys } from "./keys.service.ts";
import type { Tokens } from "./tokens.service.ts";
import { toUserView } from "./user.view.ts";
import type { Users } from "./users.service.ts";

/** The version of the interface that this forge speaks. */
const API_VERSION = "28.2.0";

interface AccountServices {
  readonly users: Users;
  readonly emails: OwnEmails;
  readonly tokens: Tokens;
  readonly secondFactors: SecondFactors;
  readonly publicKeys: PublicKeys;
  readonly ownPassword: OwnPassword;
  readonly passwordResets: PasswordResets;
  readonly urls: ForgeUrls;
}

/** Returns the routes about the caller: version, own account, tokens, second factor. */
export function accountRoutes(services: AccountServices): Route[] {
  return [
    ...userRoutes(services),
    ...emailRoutes(services),
    ...keyRoutes(services),
    ...tokenRoutes(services),
    ...twoFactorRoutes(services),
  ];
}

function userRoutes({ users, ownPassword, passwordResets, urls }: AccountServices): Route[] {
  return [
    ...serve(versionEndpoints, {
      forgeVersion: async () => ({ version: API_VERSION }),
    }),
    ...serveSome(userEndpoints, {
      getCurrentUser: async ({ caller }) => toUserView(caller.user, caller.user, urls),
      searchUsers: async ({ caller, query }) => {
        const search = { term: query.q, id: query.uid };
        const { users: found, total } = await users.searchVisible(search, query, caller);
        const data = found.map((user) => toUserView(user, caller?.user, urls));
        return answer({ ok: true, data }, { total });
      },
      getUser: async ({ caller, params }) =>
        toUserView(await users.get(params.username, caller), caller?.user, urls),
      changeOwnPassword: async ({ caller, body, request }) => {
        const passwords = { current: body.current_password, next: body.new_password };
        await ownPassword.change(caller, passwords, request.address);
      },
    }),
    ...serve(passwordResetEndpoints, {
      requestUserPasswordReset: ({ body, request }) =>
        passwordResets.request(body.email, request.address),
      confirmUserPasswordReset: ({ body, request }) =>
        passwordResets.confirm(body.token, body.new_password, request.address),
    }),
  ];
}

function emailRoutes({ emails }: AccountServices): Route[] {
  return [
    ...serve(userEmailEndpoints, {
      listOwnEmails: async ({ caller }) =>
        (await emails.list(caller)).map((email) => toOwnEmailView(email, caller.user)),
      addOwnEmails: async ({ caller, body }) =>
        (await emails.add(body.emails ?? [], caller)).map((email) =>
          toOwnEmailView(email, caller.user),
        ),
      deleteOwnEmails: ({ caller, body }) => emails.remove(body.emails ?? [], caller),
    }),
  ];
}

function keyRoutes({ publicKeys, users, urls }: AccountServices): Route[] {
  return [
    ...serve(ownKeyEndpoints, {
      listUserKeys: async ({ caller, params, query }) => {
        const owner = await users.get(params.username, caller);
        const { keys, total } = await publicKeys.listOwn(owner, query.fingerprint, query);
        const body = keys.map((key) => toForeignKeyView(key, caller.user, urls));
        return page(body, total);
      },
      listOwnGpgKeys: async () => page([], 0),
      listUserGpgKeys: async ({ caller, params }) => {
        await users.get(params.username, caller);
        return page([], 0);
      },
      listOwnKeys: async ({ caller, query }) => {
        const { keys, total } = await publicKeys.listOwn(caller.user, query.fingerprint, query);
        return page(
          keys.map((key) => toPublicKeyView(key, caller.user, urls)),
          total,
        );
      },
      getOwnKey: async ({ caller, params }) =>
        toPublicKeyView(await publicKeys.getOwn(caller.user, params.id), caller.user, urls),
      addOwnKey: async ({ caller, body }) =>
        toPublicKeyView(await publicKeys.add(caller.user.name, body), caller.user, urls),
      deleteOwnKey: ({ caller, params }) => publicKeys.deleteOwn(caller.user, params.id),
    }),
  ];
}

function tokenRoutes({ tokens }: AccountServices): Route[] {
  return [
    ...serve(tokenEndpoints, {
      listTokens: async ({ params, query }) => {
        const { tokens: found, total } = await tokens.list(params.username, query);
        return page(found.map(toTokenView), total);
      },
      createToken: async ({ caller, params, body }) =>
        toMadeTokenView(
          await tokens.create(caller, params.username, {
            name: body.name,
            scopes: body.scopes ?? [],
          }),
        ),
      getCurrentToken: async ({ caller }) =>
        toCurrentTokenView(await tokens.getCurrent(caller), caller?.actor),
      deleteCurrentToken: ({ caller }) => tokens.deleteCurrent(caller),
      deleteToken: ({ params }) => tokens.delete(params.username, params.token),
    }),
  ];
}

function twoFactorRoutes({ secondFactors }: AccountServices): Route[] {
  return [
    ...serve(twoFactorEndpoints, {
      getTwoFactor: async ({ caller }) => ({ enabled: caller.user.twoFactorEnabled }),
      startTwoFactor: async ({ caller }) => {
        const { secret, otpauthUrl } = await secondFactors.start(caller);
        return { secret, otpauth_url: otpauthUrl };
      },
      confirmTwoFactor: ({ caller, body }) => secondFactors.confirm(caller, body.code),
      disableTwoFactor: ({ caller }) => secondFactors.disable(caller),
      resetUserTwoFactor: ({ params }) => secondFactors.reset(params.username),
    }),
  ];
}
