import { z } from "zod";
import { empty, endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, paging, signedInReplies, usernameParams } from "../common.ts";
import { userShape } from "./users.ts";

const gate = forgeUser("user");
const query = z.object(paging);
const listReplies = { 200: z.array(userShape), ...signedInReplies, 404: apiError } as const;
const changeReplies = { 204: empty, ...signedInReplies, 404: apiError } as const;

export const listOwnFollowers = endpoint({
  name: "forge.user.followers.list",
  method: "GET",
  path: "/api/v1/user/followers",
  summary: "The users who follow you",
  gate,
  query,
  paging: "link_and_total",
  replies: listReplies,
});

export const listOwnFollowed = endpoint({
  name: "forge.user.following.list",
  method: "GET",
  path: "/api/v1/user/following",
  summary: "The users and organizations that you follow",
  gate,
  query,
  paging: "link_and_total",
  replies: listReplies,
});

/** 404 for an account that the caller does not follow. */
export const checkOwnFollow = endpoint({
  name: "forge.user.following.get",
  method: "GET",
  path: "/api/v1/user/following/:username",
  summary: "Whether you follow a user",
  gate,
  params: usernameParams,
  replies: changeReplies,
  apiOnly: '"croft user following" lists them',
});

export const followUser = endpoint({
  name: "forge.user.following.add",
  method: "PUT",
  path: "/api/v1/user/following/:username",
  summary: "Follow a user or an organization",
  gate,
  params: usernameParams,
  replies: changeReplies,
});

export const unfollowUser = endpoint({
  name: "forge.user.following.remove",
  method: "DELETE",
  path: "/api/v1/user/following/:username",
  summary: "Stop following a user or an organization",
  gate,
  params: usernameParams,
  replies: changeReplies,
});

export const listUserFollowers = endpoint({
  name: "forge.users.followers.list",
  method: "GET",
  path: "/api/v1/users/:username/followers",
  summary: "The users who follow an account",
  gate,
  params: usernameParams,
  query,
  paging: "link_and_total",
  replies: listReplies,
});

export const listUserFollowed = endpoint({
  name: "forge.users.following.list",
  method: "GET",
  path: "/api/v1/users/:username/following",
  summary: "The accounts that a user follows",
  gate,
  params: usernameParams,
  query,
  paging: "link_and_total",
  replies: listReplies,
});

/** 404 when the first does not follow the second. */
export const checkFollow = endpoint({
  name: "forge.users.following.get",
  method: "GET",
  path: "/api/v1/users/:username/following/:target",
  summary: "Whether a user follows another one",
  gate,
  params: usernameParams.extend({ target: z.string() }),
  replies: changeReplies,
  apiOnly: '"croft user following" lists them',
});

export const followerEndpoints = {
  listOwnFollowers,
  listOwnFollowed,
  checkOwnFollow,
  followUser,
  unfollowUser,
  listUserFollowers,
  listUserFollowed,
  checkFollow,
};
