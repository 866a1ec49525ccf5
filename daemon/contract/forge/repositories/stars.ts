import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, empty, forgeUser } from "../../endpoint.ts";
import { usernameParams } from "../common.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";

export const starEndpoints = {
  ...resource(
    {
      name: "forge.user.starred",
      path: "/api/v1/user/starred",
      shape: repositoryShape,
      gate: forgeUser("repository"),
    },
    ({ list, operation }) => ({
      listOwnStars: list("The repositories that you have starred, the latest first", {
        refuses: [404],
      }),
      /** 404 for a repository that the caller has not starred. */
      checkStar: operation({
        as: "get",
        method: "GET",
        at: ":owner/:repo",
        summary: "Whether you have starred a repository",
        params: repositoryParams,
        on: repository("any", "read"),
        replies: { 204: empty },
        apiOnly: '"croft repo starred" lists them',
      }),
      starRepository: operation({
        as: "add",
        method: "PUT",
        at: ":owner/:repo",
        summary: "Star a repository",
        params: repositoryParams,
        on: repository("any", "read"),
        acceptsArchived: true,
        replies: { 204: empty },
      }),
      unstarRepository: operation({
        as: "remove",
        method: "DELETE",
        at: ":owner/:repo",
        summary: "Remove your star from a repository",
        params: repositoryParams,
        on: repository("any", "read"),
        acceptsArchived: true,
        replies: { 204: empty },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.users.starred",
      path: "/api/v1/users/:username/starred",
      params: usernameParams,
      shape: repositoryShape,
      gate: forgeUser("user"),
    },
    ({ list }) => ({
      listUserStars: list("The public repositories that a user has starred, the latest first"),
    }),
  ),
  ...resource(
    {
      name: "forge.user.subscriptions",
      path: "/api/v1/user/subscriptions",
      shape: repositoryShape,
      gate: forgeUser("user"),
    },
    ({ list }) => ({
      listOwnWatched: list("The repositories that you watch, the latest first", { refuses: [404] }),
    }),
  ),
  ...resource(
    {
      name: "forge.users.subscriptions",
      path: "/api/v1/users/:username/subscriptions",
      params: usernameParams,
      shape: repositoryShape,
      gate: forgeUser("user"),
    },
    ({ list }) => ({
      listUserWatched: list("The public repositories that a user watches, the latest first"),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.stargazers",
      path: "/api/v1/repos/:owner/:repo/stargazers",
      params: repositoryParams,
      shape: userShape,
      gate: anyoneWithin("repository"),
      on: repository("any", "read"),
    },
    ({ list }) => ({
      listStargazers: list("The users who have starred a repository"),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.subscribers",
      path: "/api/v1/repos/:owner/:repo/subscribers",
      params: repositoryParams,
      shape: userShape,
      gate: anyoneWithin("repository"),
      on: repository("any", "read"),
    },
    ({ list }) => ({
      listSubscribers: list("The users who watch a repository"),
    }),
  ),
};
