import { tokenEndpoints } from "../../contract/forge/accounts/tokens.ts";
import { twoFactorEndpoints } from "../../contract/forge/accounts/two-factor.ts";
import { userEmailEndpoints } from "../../contract/forge/accounts/emails.ts";
import { ownKeyEndpoints } from "../../contract/forge/accounts/keys.ts";
import { passwordResetEndpoints } from "../../contract/forge/accounts/password-reset.ts";
import { userEndpoints } from "../../contract/forge/accounts/users.ts";
import { versionEndpoints } from "../../contract/forge/version.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
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
    handle(versionEndpoints.forgeVersion, async () => ({
      status: 200,
      body: { version: API_VERSION },
    })),
    handle(userEndpoints.getCurrentUser, async ({ caller }) => ({
      status: 200,
      body: toUserView(caller.user, caller.user, urls),
    })),
    handle(userEndpoints.searchUsers, async ({ caller, query }) => {
      const search = { term: query.q, id: query.uid };
      const { users: page, total } = await users.searchVisible(search, query, caller);
      const data = page.map((user) => toUserView(user, caller?.user, urls));
      return { status: 200, body: { ok: true, data }, total };
    }),
    handle(userEndpoints.getUser, async ({ caller, params }) => ({
      status: 200,
      body: toUserView(await users.get(params.username, caller), caller?.user, urls),
    })),
    handle(userEndpoints.changeOwnPassword, async ({ caller, body, request }) => {
      const passwords = { current: body.current_password, next: body.new_password };
      await ownPassword.change(caller, passwords, request.address);
      return { status: 204 };
    }),
    handle(passwordResetEndpoints.requestUserPasswordReset, async ({ body, request }) => {
      await passwordResets.request(body.email, request.address);
      return { status: 204 };
    }),
    handle(passwordResetEndpoints.confirmUserPasswordReset, async ({ body, request }) => {
      await passwordResets.confirm(body.token, body.new_password, request.address);
      return { status: 204 };
    }),
  ];
}

function emailRoutes({ emails }: AccountServices): Route[] {
  return [
    handle(userEmailEndpoints.listOwnEmails, async ({ caller }) => ({
      status: 200,
      body: (await emails.list(caller)).map((email) => toOwnEmailView(email, caller.user)),
    })),
    handle(userEmailEndpoints.addOwnEmails, async ({ caller, body }) => ({
      status: 201,
      body: (await emails.add(body.emails ?? [], caller)).map((email) =>
        toOwnEmailView(email, caller.user),
      ),
    })),
    handle(userEmailEndpoints.deleteOwnEmails, async ({ caller, body }) => {
      await emails.remove(body.emails ?? [], caller);
      return { status: 204 };
    }),
  ];
}

function keyRoutes({ publicKeys, users, urls }: AccountServices): Route[] {
  return [
    handle(ownKeyEndpoints.listUserKeys, async ({ caller, params, query }) => {
      const owner = await users.get(params.username, caller);
      const { keys, total } = await publicKeys.listOwn(owner, query.fingerprint, query);
      const body = keys.map((key) => toForeignKeyView(key, caller.user, urls));
      return { status: 200, body, total };
    }),
    handle(ownKeyEndpoints.listOwnGpgKeys, async () => ({ status: 200, body: [], total: 0 })),
    handle(ownKeyEndpoints.listUserGpgKeys, async ({ caller, params }) => {
      await users.get(params.username, caller);
      return { status: 200, body: [], total: 0 };
    }),
    handle(ownKeyEndpoints.listOwnKeys, async ({ caller, query }) => {
      const { keys, total } = await publicKeys.listOwn(caller.user, query.fingerprint, query);
      return {
        status: 200,
        body: keys.map((key) => toPublicKeyView(key, caller.user, urls)),
        total,
      };
    }),
    handle(ownKeyEndpoints.getOwnKey, async ({ caller, params }) => ({
      status: 200,
      body: toPublicKeyView(await publicKeys.getOwn(caller.user, params.id), caller.user, urls),
    })),
    handle(ownKeyEndpoints.addOwnKey, async ({ caller, body }) => ({
      status: 201,
      body: toPublicKeyView(await publicKeys.add(caller.user.name, body), caller.user, urls),
    })),
    handle(ownKeyEndpoints.deleteOwnKey, async ({ caller, params }) => {
      await publicKeys.deleteOwn(caller.user, params.id);
      return { status: 204 };
    }),
  ];
}

function tokenRoutes({ tokens }: AccountServices): Route[] {
  return [
    handle(tokenEndpoints.listTokens, async ({ params, query }) => {
      const { tokens: page, total } = await tokens.list(params.username, query);
      return { status: 200, body: page.map(toTokenView), total };
    }),
    handle(tokenEndpoints.createToken, async ({ caller, params, body }) => ({
      status: 201,
      body: toMadeTokenView(
        await tokens.create(caller, params.username, {
          name: body.name,
          scopes: body.scopes ?? [],
        }),
      ),
    })),
    handle(tokenEndpoints.getCurrentToken, async ({ caller }) => ({
      status: 200,
      body: toCurrentTokenView(await tokens.getCurrent(caller), caller?.actor),
    })),
    handle(tokenEndpoints.deleteCurrentToken, async ({ caller }) => {
      await tokens.deleteCurrent(caller);
      return { status: 204 };
    }),
    handle(tokenEndpoints.deleteToken, async ({ params }) => {
      await tokens.delete(params.username, params.token);
      return { status: 204 };
    }),
  ];
}

function twoFactorRoutes({ secondFactors }: AccountServices): Route[] {
  return [
    handle(twoFactorEndpoints.getTwoFactor, async ({ caller }) => ({
      status: 200,
      body: { enabled: caller.user.twoFactorEnabled },
    })),
    handle(twoFactorEndpoints.startTwoFactor, async ({ caller }) => {
      const { secret, otpauthUrl } = await secondFactors.start(caller);
      return { status: 200, body: { secret, otpauth_url: otpauthUrl } };
    }),
    handle(twoFactorEndpoints.confirmTwoFactor, async ({ caller, body }) => {
      await secondFactors.confirm(caller, body.code);
      return { status: 204 };
    }),
    handle(twoFactorEndpoints.disableTwoFactor, async ({ caller }) => {
      await secondFactors.disable(caller);
      return { status: 204 };
    }),
    handle(twoFactorEndpoints.resetUserTwoFactor, async ({ params }) => {
      await secondFactors.reset(params.username);
      return { status: 204 };
    }),
  ];
}
