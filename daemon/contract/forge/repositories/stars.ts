import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, paging, signedInReplies, usernameParams } from "../common.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";

const query = z.object(paging);
const repositories = {
  200: z.array(repositoryShape),
  ...signedInReplies,
  404: apiError,
} as const;
const users = { 200: z.array(userShape), ...signedInReplies, 404: apiError } as const;
const starReplies = { 204: empty, ...signedInReplies, 404: apiError } as const;
const starPath = "/api/v1/user/starred/:owner/:repo";

export const listOwnStars = endpoint({
  name: "forge.user.starred.list",
  method: "GET",
  path: "/api/v1/user/starred",
  summary: "The repositories that you have starred, the latest first",
  gate: forgeUser("repository"),
  query,
  paging: "link_and_total",
  replies: repositories,
});

/** 404 for a repository that the caller has not starred. */
export const checkStar = endpoint({
  name: "forge.user.starred.get",
  method: "GET",
  path: starPath,
  summary: "Whether you have starred a repository",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: starReplies,
  apiOnly: '"croft repo starred" lists them',
});

export const starRepository = endpoint({
  name: "forge.user.starred.add",
  method: "PUT",
  path: starPath,
  summary: "Star a repository",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: starReplies,
});

export const unstarRepository = endpoint({
  name: "forge.user.starred.remove",
  method: "DELETE",
  path: starPath,
  summary: "Remove your star from a repository",
  gate: forgeUser("repository"),
  params: repositoryParams,
  replies: starReplies,
});

export const listUserStars = endpoint({
  name: "forge.users.starred.list",
  method: "GET",
  path: "/api/v1/users/:username/starred",
  summary: "The public repositories that a user has starred, the latest first",
  gate: forgeUser("user"),
  params: usernameParams,
  query,
  paging: "link_and_total",
  replies: repositories,
});

export const listOwnWatched = endpoint({
  name: "forge.user.subscriptions.list",
  method: "GET",
  path: "/api/v1/user/subscriptions",
  summary: "The repositories that you watch, the latest first",
  gate: forgeUser("user"),
  query,
  paging: "link_and_total",
  replies: repositories,
});

export const listUserWatched = endpoint({
  name: "forge.users.subscriptions.list",
  method: "GET",
  path: "/api/v1/users/:username/subscriptions",
  summary: "The public repositories that a user watches, the latest first",
  gate: forgeUser("user"),
  params: usernameParams,
  query,
  paging: "link_and_total",
  replies: repositories,
});

export const listStargazers = endpoint({
  name: "forge.repos.stargazers.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/stargazers",
  summary: "The users who have starred a repository",
  gate: anyoneWithin("repository"),
  params: repositoryParams,
  query,
  paging: "link_and_total",
  replies: users,
});

export const listSubscribers = endpoint({
  name: "forge.repos.subscribers.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/subscribers",
  summary: "The users who watch a repository",
  gate: anyoneWithin("repository"),
  params: repositoryParams,
  query,
  paging: "link_and_total",
  replies: users,
});

export const starEndpoints = {
  listOwnStars,
  checkStar,
  starRepository,
  unstarRepository,
  listUserStars,
  listOwnWatched,
  listUserWatched,
  listStargazers,
  listSubscribers,
};
