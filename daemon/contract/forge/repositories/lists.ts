import { z } from "zod";
import { anyoneWithin, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  optionalQueryFlag,
  paging,
  queryFlag,
  queryInteger,
  queryText,
  queryWord,
  signedInReplies,
  usernameParams,
} from "../common.ts";
import { repositoryShape } from "./repositories.ts";

export const repositorySorts = [
  "alpha",
  "created",
  "updated",
  "size",
  "git_size",
  "lfs_size",
  "stars",
  "forks",
  "id",
] as const;

export const repositoryModes = ["source", "fork", "mirror", "collaborative"] as const;

export const listOwnRepositories = endpoint({
  name: "forge.user.repos.list",
  method: "GET",
  path: "/api/v1/user/repos",
  summary:
    "The repositories that the signed-in user owns, collaborates in or reaches through a team, by name",
  gate: forgeUser("repository"),
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(repositoryShape), ...signedInReplies },
});

export const listUserRepositories = endpoint({
  name: "forge.users.repos.list",
  method: "GET",
  path: "/api/v1/users/:username/repos",
  summary: "An account's repositories that the caller may read, the latest updated first",
  gate: anyoneWithin("repository"),
  params: usernameParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(repositoryShape), ...signedInReplies, 404: apiError },
});

export const listOrganizationRepositories = endpoint({
  name: "forge.orgs.repos.list",
  method: "GET",
  path: "/api/v1/orgs/:org/repos",
  summary: "An organization's repositories that the caller may read, the latest updated first",
  gate: anyoneWithin("repository"),
  params: z.object({ org: z.string() }),
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(repositoryShape), ...signedInReplies, 404: apiError },
  apiOnly: '"croft repo list OWNER" lists them by the route for any owner',
});

export const searchRepositories = endpoint({
  name: "forge.repos.search",
  method: "GET",
  path: "/api/v1/repos/search",
  summary: "Search the repositories that the caller may read",
  gate: anyoneWithin("repository"),
  query: z.object({
    q: queryText,
    topic: queryFlag,
    includeDesc: queryFlag,
    uid: queryInteger,
    priority_owner_id: queryInteger,
    team_id: queryInteger,
    starredBy: queryInteger,
    private: optionalQueryFlag,
    is_private: optionalQueryFlag,
    template: optionalQueryFlag,
    archived: optionalQueryFlag,
    mode: queryWord(repositoryModes),
    exclusive: queryFlag,
    sort: queryWord(repositorySorts),
    order: queryWord(["asc", "desc"]),
    ...paging,
  }),
  paging: "link_and_total",
  replies: {
    200: z.object({ ok: z.boolean(), data: z.array(repositoryShape) }),
    ...signedInReplies,
    422: apiError,
  },
});

export const repositoryListEndpoints = {
  listOwnRepositories,
  listUserRepositories,
  listOrganizationRepositories,
  searchRepositories,
};
