import { avatarEndpoints } from "../../contract/forge/accounts/avatars.ts";
import { followerEndpoints } from "../../contract/forge/accounts/followers.ts";
import { userSettingsEndpoints } from "../../contract/forge/accounts/settings.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toDrawnAnswer, toUploadedAnswer } from "./avatar.view.ts";
import type { Avatars } from "./avatars.service.ts";
import type { Followers } from "./followers.service.ts";
import { assertNotPublicOnly, type OwnSettings } from "./settings.service.ts";
import { toEdit, toSettingsView, toUserPage } from "./settings.view.ts";

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
    handle(userSettingsEndpoints.getUserSettings, async ({ caller }) => ({
      status: 200,
      body: toSettingsView(settings.get(caller)),
    })),
    handle(userSettingsEndpoints.editUserSettings, async ({ caller, body }) => ({
      status: 200,
      body: toSettingsView(await settings.edit(toEdit(body), caller)),
    })),
    handle(followerEndpoints.listOwnFollowers, async ({ caller, query }) =>
      toUserPage(await followers.listOwnFollowers(query, caller), caller, urls),
    ),
    handle(followerEndpoints.listOwnFollowed, async ({ caller, query }) =>
      toUserPage(await followers.listOwnFollowed(query, caller), caller, urls),
    ),
    handle(followerEndpoints.checkOwnFollow, async ({ caller, params }) => {
      await followers.assertFollows(caller.user, params.username, caller);
      return { status: 204 };
    }),
    handle(followerEndpoints.followUser, async ({ caller, params }) => {
      await followers.follow(params.username, caller);
      return { status: 204 };
    }),
    handle(followerEndpoints.unfollowUser, async ({ caller, params }) => {
      await followers.unfollow(params.username, caller);
      return { status: 204 };
    }),
    handle(followerEndpoints.listUserFollowers, async ({ caller, params, query }) =>
      toUserPage(await followers.listFollowers(params.username, query, caller), caller, urls),
    ),
    handle(followerEndpoints.listUserFollowed, async ({ caller, params, query }) =>
      toUserPage(await followers.listFollowed(params.username, query, caller), caller, urls),
    ),
    handle(followerEndpoints.checkFollow, async ({ caller, params }) => {
      await followers.assertFollows(params.username, params.target, caller);
      return { status: 204 };
    }),
  ];
}

/** Routes of pictures. */
export function avatarRoutes(avatars: Avatars): Route[] {
  return [
    // Every hash has a picture, so that the answer does not reveal which e-mail addresses have an account.
    handle(avatarEndpoints.getAvatar, async ({ params }) => {
      const uploaded = await avatars.find(params.hash);
      return uploaded === undefined ? toDrawnAnswer(params.hash) : toUploadedAnswer(uploaded);
    }),
    handle(avatarEndpoints.setOwnAvatar, async ({ caller, body }) => {
      assertNotPublicOnly(caller);
      await avatars.setOwn(body.image, caller);
      return { status: 204 };
    }),
    handle(avatarEndpoints.deleteOwnAvatar, async ({ caller }) => {
      assertNotPublicOnly(caller);
      await avatars.removeOwn(caller);
      return { status: 204 };
    }),
  ];
}
