import { invitationEndpoints } from "../../contract/forge/accounts/invitations.ts";
import { adminUserEndpoints } from "../../contract/forge/accounts/admin-users.ts";
import { adminBadgeEndpoints } from "../../contract/forge/accounts/badges.ts";
import { adminEmailEndpoints } from "../../contract/forge/accounts/admin-emails.ts";
import { adminKeyEndpoints } from "../../contract/forge/accounts/keys.ts";
import type { Route } from "../../http/handle.ts";
import type { Badges } from "./badges.service.ts";
import type { Invitations } from "./invitations.service.ts";
import type { PublicKeys } from "./keys.service.ts";
import type { Users } from "./users.service.ts";
import { handle, serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toBadgeView, toEmailView, toPublicKeyView } from "./accounts.view.ts";
import {
  toInvitationView,
  toInvited,
  toUserEdit,
  toUserListQuery,
  toNewUser,
} from "./admin-requests.view.ts";
import { toUserView } from "./user.view.ts";

interface AdminServices {
  readonly users: Users;
  readonly invitations: Invitations;
  readonly publicKeys: PublicKeys;
  readonly badges: Badges;
  readonly urls: ForgeUrls;
}

/** Returns the administrators' routes of users, e-mail addresses, public keys and badges. */
export function adminRoutes(services: AdminServices): Route[] {
  return [
    ...userRoutes(services),
    ...serve(invitationEndpoints, {
      invitePerson: async ({ body }) =>
        toInvitationView(await services.invitations.invite(toInvited(body))),
    }),
    ...emailRoutes(services),
    ...keyRoutes(services),
    ...badgeRoutes(services),
  ];
}

function userRoutes({ users, urls }: AdminServices): Route[] {
  return [
    handle(adminUserEndpoints.listUsers, async ({ caller, query }) => {
      const { users: found, total } = await users.search(toUserListQuery(query), query, caller);
      return { status: 200, body: found.map((user) => toUserView(user, caller.user, urls)), total };
    }),
    handle(adminUserEndpoints.createUser, async ({ caller, body }) => ({
      status: 201,
      body: toUserView(await users.create(toNewUser(body)), caller.user, urls),
    })),
    handle(adminUserEndpoints.editUser, async ({ caller, params, body }) => ({
      status: 200,
      body: toUserView(await users.edit(params.username, toUserEdit(body)), caller.user, urls),
    })),
    handle(adminUserEndpoints.deleteUser, async ({ caller, params, query }) => {
      await users.remove(params.username, { callerId: caller.user.id, purge: query.purge });
      return { status: 204 };
    }),
    handle(adminUserEndpoints.renameUser, async ({ params, body }) => {
      await users.rename(params.username, body.new_username);
      return { status: 204 };
    }),
  ];
}

function emailRoutes({ users }: AdminServices): Route[] {
  return [
    handle(adminEmailEndpoints.listEmails, async ({ caller, query }) => {
      const { emails, total } = await users.searchEmails("", query, caller);
      return { status: 200, body: emails.map(toEmailView), total };
    }),
    handle(adminEmailEndpoints.searchEmails, async ({ caller, query }) => {
      const { emails, total } = await users.searchEmails(query.q, query, caller);
      return { status: 200, body: emails.map(toEmailView), total };
    }),
  ];
}

function keyRoutes({ publicKeys, urls }: AdminServices): Route[] {
  return [
    handle(adminKeyEndpoints.addUserKey, async ({ caller, params, body }) => ({
      status: 201,
      body: toPublicKeyView(await publicKeys.add(params.username, body), caller.user, urls),
    })),
    handle(adminKeyEndpoints.deleteUserKey, async ({ caller, params }) => {
      await publicKeys.delete(params.username, params.id, caller);
      return { status: 204 };
    }),
  ];
}

function badgeRoutes({ badges }: AdminServices): Route[] {
  return [
    handle(adminBadgeEndpoints.listUserBadges, async ({ params }) => {
      const owned = await badges.listOf(params.username);
      return { status: 200, body: owned.map(toBadgeView), total: owned.length };
    }),
    handle(adminBadgeEndpoints.addUserBadges, async ({ params, body }) => {
      await badges.give(params.username, body.badge_slugs);
      return { status: 204 };
    }),
    handle(adminBadgeEndpoints.removeUserBadges, async ({ params, body }) => {
      await badges.take(params.username, body.badge_slugs);
      return { status: 204 };
    }),
    handle(adminBadgeEndpoints.listBadges, async ({ query }) => {
      const { badges: page, total } = await badges.list(query);
      return { status: 200, body: page.map(toBadgeView), total };
    }),
    handle(adminBadgeEndpoints.createBadge, async ({ body }) => ({
      status: 201,
      body: toBadgeView(
        await badges.create({
          slug: body.slug,
          description: body.description ?? "",
          imageUrl: body.image_url ?? "",
        }),
      ),
    })),
    handle(adminBadgeEndpoints.deleteBadge, async ({ params }) => {
      await badges.delete(params.slug);
      return { status: 204 };
    }),
  ];
}
