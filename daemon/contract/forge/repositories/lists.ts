import { z } from "zod";
import { resource } from "../resource.ts";
import { anyoneWithin, forgeUser } from "../../endpoint.ts";
import { organization } from "../../permission.ts";
import {
  optionalQueryFlag,
  paging,
  queryFlag,
  queryInteger,
  queryText,
  queryWord,
  usernameParams,
} from "../common.ts";
import { repositoryShape } from "./repositories.ts";

const repositorySorts = [
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

export const repositoryListEndpoints = {
  ...resource(
    {
      name: "forge.user.repos",
      path: "/api/v1/user/repos",
      shape: repositoryShape,
      gate: forgeUser("repository"),
    },
    ({ list }) => ({
      listOwnRepositories: list(
        "The repositories that the signed-in user owns, collaborates in or reaches through a team, by name",
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.users.repos",
      path: "/api/v1/users/:username/repos",
      params: usernameParams,
      shape: repositoryShape,
      gate: anyoneWithin("repository"),
    },
    ({ list }) => ({
      listUserRepositories: list(
        "An account's repositories that the caller may read, the latest updated first",
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs.repos",
      path: "/api/v1/orgs/:org/repos",
      params: z.object({ org: z.string() }),
      shape: repositoryShape,
      gate: anyoneWithin("repository"),
      on: organization("viewer"),
    },
    ({ list }) => ({
      listOrganizationRepositories: list(
        "An organization's repositories that the caller may read, the latest updated first",
        { apiOnly: '"croft repo list OWNER" lists them by the route for any owner' },
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/search",
      shape: z.object({ ok: z.boolean(), data: z.array(repositoryShape) }),
      gate: anyoneWithin("repository"),
    },
    ({ get }) => ({
      searchRepositories: get("Search the repositories that the caller may read", {
        as: "search",
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
        refuses: [422],
      }),
    }),
  ),
};
