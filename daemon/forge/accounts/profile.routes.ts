import { deleteOwnAvatar, getAvatar, setOwnAvatar } from "../../contract/forge/accounts/avatars.ts";
import {
  checkFollow,
  checkOwnFollow,
  followUser,
  listOwnFollowed,
  listOwnFollowers,
  listUserFollowed,
  listUserFollowers,
  unfollowUser,
} from "../../contract/forge/accounts/followers.ts";
import { editUserSettings, getUserSettings } from "../../contract/forge/accounts/settings.ts";
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
    handle(getUserSettings, async ({ caller }) => ({
      status: 200,
      body: toSettingsView(settings.get(caller)),
    })),
    handle(editUserSettings, async ({ caller, body }) => ({
      status: 200,
      body: toSettingsView(await settings.edit(toEdit(body), caller)),
    })),
    handle(listOwnFollowers, async ({ caller, query }) =>
      toUserPage(await followers.listOwnFollowers(query, caller), caller, urls),
    ),
    handle(listOwnFollowed, async ({ caller, query }) =>
      toUserPage(await followers.listOwnFollowed(query, caller), caller, urls),
    ),
    handle(checkOwnFollow, async ({ caller, params }) => {
      await followers.assertFollows(caller.user, params.username, caller);
      return { status: 204 };
    }),
    handle(followUser, async ({ caller, params }) => {
      await followers.follow(params.username, caller);
      return { status: 204 };
    }),
    handle(unfollowUser, async ({ caller, params }) => {
      await followers.unfollow(params.username, caller);
      return { status: 204 };
    }),
    handle(listUserFollowers, async ({ caller, params, query }) =>
      toUserPage(await followers.listFollowers(params.username, query, caller), caller, urls),
    ),
    handle(listUserFollowed, async ({ caller, params, query }) =>
      toUserPage(await followers.listFollowed(params.username, query, caller), caller, urls),
    ),
    handle(checkFollow, async ({ caller, params }) => {
      await followers.assertFollows(params.username, params.target, caller);
      return { status: 204 };
    }),
  ];
}

/** Routes of pictures. */
export function avatarRoutes(avatars: Avatars): Route[] {
  return [
    // Every hash has a picture, so that the answer does not reveal which e-mail addresses have an account.
    handle(getAvatar, async ({ params }) => {
      const uploaded = await avatars.find(params.hash);
      return uploaded === undefined ? toDrawnAnswer(params.hash) : toUploadedAnswer(uploaded);
    }),
    handle(setOwnAvatar, async ({ caller, body }) => {
      assertNotPublicOnly(caller);
      await avatars.setOwn(body.image, caller);
      return { status: 204 };
    }),
    handle(deleteOwnAvatar, async ({ caller }) => {
      assertNotPublicOnly(caller);
      await avatars.removeOwn(caller);
      return { status: 204 };
    }),
  ];
}
