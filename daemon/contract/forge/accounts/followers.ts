import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import { usernameParams } from "../common.ts";
import { userShape } from "./users.ts";

const gate = forgeUser("user");

export const followerEndpoints = {
  ...resource(
    {
      name: "forge.user.followers",
      path: "/api/v1/user/followers",
      shape: userShape,
      gate,
    },
    ({ list }) => ({
      listOwnFollowers: list("The users who follow you", { refuses: [404] }),
    }),
  ),
  ...resource(
    {
      name: "forge.user.following",
      path: "/api/v1/user/following",
      id: usernameParams.shape,
      shape: userShape,
      gate,
    },
    ({ list, remove, operation }) => ({
      listOwnFollowed: list("The users and organizations that you follow", { refuses: [404] }),
      /** 404 for an account that the caller does not follow. */
      checkOwnFollow: operation({
        as: "get",
        method: "GET",
        item: true,
        summary: "Whether you follow a user",
        replies: { 204: empty },
        apiOnly: '"croft user following" lists them',
      }),
      followUser: operation({
        as: "add",
        method: "PUT",
        item: true,
        summary: "Follow a user or an organization",
        replies: { 204: empty },
      }),
      unfollowUser: remove("Stop following a user or an organization", { as: "remove" }),
    }),
  ),
  ...resource(
    {
      name: "forge.users.followers",
      path: "/api/v1/users/:username/followers",
      params: usernameParams,
      shape: userShape,
      gate,
    },
    ({ list }) => ({
      listUserFollowers: list("The users who follow an account"),
    }),
  ),
  ...resource(
    {
      name: "forge.users.following",
      path: "/api/v1/users/:username/following",
      params: usernameParams,
      id: { target: z.string() },
      shape: userShape,
      gate,
    },
    ({ list, operation }) => ({
      listUserFollowed: list("The accounts that a user follows"),
      /** 404 when the first does not follow the second. */
      checkFollow: operation({
        as: "get",
        method: "GET",
        item: true,
        summary: "Whether a user follows another one",
        replies: { 204: empty },
        apiOnly: '"croft user following" lists them',
      }),
    }),
  ),
};
