import { getAvatar } from "../../contract/forge/accounts/avatars.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { toAvatarAnswer } from "./avatar.view.ts";

/** Returns the route of pictures. It reads no account, so it does not reveal which addresses have one. */
export function avatarRoutes(): Route[] {
  return [handle(getAvatar, async ({ params }) => toAvatarAnswer(params.hash))];
}
