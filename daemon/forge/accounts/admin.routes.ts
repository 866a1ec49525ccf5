import { invitationEndpoints } from "../../contract/forge/accounts/invitations.ts";
import { adminUserEndpoints } from "../../contract/forge/accounts/admin-users.ts";
import { adminBadgeEndpoints } from "../../contract/forge/accounts/badges.ts";
import { adminEmailEndpoints } from "../../contract/forge/accounts/admin-emails.ts";
import { adminKeyEndpoints } from "../../contract/forge/accounts/keys.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import type { Badges } from "./badges.service.ts";
import type { Invitations } from "./invitations.service.ts";
import type { PublicKeys } from "./keys.service.ts";
import type { Users } from "./users.service.ts";
import { serve } from "../handle.ts";
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
    ...serve(adminUserEndpoints, {
      listUsers: async ({ caller, query }) => {
        const { users: found, total } = await users.search(toUserListQuery(query), query, caller);
        return page(
          found.map((user) => toUserView(user, caller.user, urls)),
          total,
        );
      },
      createUser: async ({ caller, body }) =>
        toUserView(await users.create(toNewUser(body)), caller.user, urls),
      editUser: async ({ caller, params, body }) =>
        toUserView(await users.edit(params.username, toUserEdit(body)), caller.user, urls),
      deleteUser: ({ caller, params, query }) =>
        users.remove(params.username, { callerId: caller.user.id, purge: query.purge }),
      renameUser: ({ params, body }) => users.rename(params.username, body.new_username),
    }),
  ];
}

function emailRoutes({ users }: AdminServices): Route[] {
  return [
    ...serve(adminEmailEndpoints, {
      listEmails: async ({ caller, query }) => {
        const { emails, total } = await users.searchEmails("", query, caller);
        return page(emails.map(toEmailView), total);
      },
      searchEmails: async ({ caller, query }) => {
        const { emails, total } = await users.searchEmails(query.q, query, caller);
        return page(emails.map(toEmailView), total);
      },
    }),
  ];
}

function keyRoutes({ publicKeys, urls }: AdminServices): Route[] {
  return [
    ...serve(adminKeyEndpoints, {
      addUserKey: async ({ caller, params, body }) =>
        toPublicKeyView(await publicKeys.add(params.username, body), caller.user, urls),
      deleteUserKey: ({ caller, params }) => publicKeys.delete(params.username, params.id, caller),
    }),
  ];
}

function badgeRoutes({ badges }: AdminServices): Route[] {
  return [
    ...serve(adminBadgeEndpoints, {
      listUserBadges: async ({ params }) => {
        const owned = await badges.listOf(params.username);
        return page(owned.map(toBadgeView), owned.length);
      },
      addUserBadges: ({ params, body }) => badges.give(params.username, body.badge_slugs),
      removeUserBadges: ({ params, body }) => badges.take(params.username, body.badge_slugs),
      listBadges: async ({ query }) => {
        const { badges: found, total } = await badges.list(query);
        return page(found.map(toBadgeView), total);
      },
      createBadge: async ({ body }) =>
        toBadgeView(
          await badges.create({
            slug: body.slug,
            description: body.description ?? "",
            imageUrl: body.image_url ?? "",
          }),
        ),
      deleteBadge: ({ params }) => badges.delete(params.slug),
    }),
  ];
}
