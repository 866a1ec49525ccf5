import { avatarEndpoints } from "../../contract/forge/accounts/avatars.ts";
import { followerEndpoints } from "../../contract/forge/accounts/followers.ts";
import { userSettingsEndpoints } from "../../contract/forge/accounts/settings.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve, serveSome } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toDrawnAnswer, toUploadedAnswer } from "./avatar.view.ts";
import type { Avatars } from "./avatars.service.ts";
import type { Followers } from "./followers.service.ts";
import { assertNotPublicOnly, type OwnSettings } from "./settings.service.ts";
import { toEdit, toSettingsView } from "./settings.view.ts";
import { toUserView } from "./user.view.ts";

/** Routes of the caller's own profile, and of followers. */
export function profileRoutes({
  settings,
  followers,
  urls,
}: {
  readonly settings: OwnSettings;
  readonly followers: Followers;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    ...serve(userSettingsEndpoints, {
      getUserSettings: async ({ caller }) => toSettingsView(settings.get(caller)),
      editUserSettings: async ({ caller, body }) =>
        toSettingsView(await settings.edit(toEdit(body), caller)),
    }),
    ...serve(followerEndpoints, {
      listOwnFollowers: async ({ caller, query }) =>
        toPage(await followers.listOwnFollowers(query, caller), caller),
      listOwnFollowed: async ({ caller, query }) =>
        toPage(await followers.listOwnFollowed(query, caller), caller),
      checkOwnFollow: ({ caller, params }) =>
        followers.assertFollows(caller.user, params.username, caller),
      followUser: ({ caller, params }) => followers.follow(params.username, caller),
      unfollowUser: ({ caller, params }) => followers.unfollow(params.username, caller),
      listUserFollowers: async ({ caller, params, query }) =>
        toPage(await followers.listFollowers(params.username, query, caller), caller),
      listUserFollowed: async ({ caller, params, query }) =>
        toPage(await followers.listFollowed(params.username, query, caller), caller),
      checkFollow: ({ caller, params }) =>
        followers.assertFollows(params.username, params.target, caller),
    }),
  ];

  function toPage(
    { users, total }: Awaited<ReturnType<Followers["listFollowers"]>>,
    caller: ForgeCaller,
  ) {
    return page(
      users.map((user) => toUserView(user, caller.user, urls)),
      total,
    );
  }
}

/** Routes of pictures. */
export function avatarRoutes(avatars: Avatars): Route[] {
  return [
    ...serveSome(avatarEndpoints, {
      // Every hash has a picture, so that the answer does not reveal which e-mail addresses have an account.
      getAvatar: async ({ params }) => {
        const uploaded = await avatars.find(params.hash);
        return uploaded === undefined ? toDrawnAnswer(params.hash) : toUploadedAnswer(uploaded);
      },
      setOwnAvatar: async ({ caller, body }) => {
        assertNotPublicOnly(caller);
        await avatars.setOwn(body.image, caller);
      },
      deleteOwnAvatar: async ({ caller }) => {
        assertNotPublicOnly(caller);
        await avatars.removeOwn(caller);
      },
    }),
  ];
}
