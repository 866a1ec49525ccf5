import { z } from "zod";
import { resource } from "../resource.ts";
import { organization, repository, team } from "../../permission.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import {
  optionalFlag,
  optionalText,
  optionalTextMap,
  optionalVisibility,
  optionalWords,
  paging,
  pathInteger,
  queryText,
  requiredText,
  trimmedQueryText,
} from "../common.ts";
import { teamShape } from "../accounts/orgs.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryParams, repositoryShape } from "../repositories/repositories.ts";
import { organizationParams } from "./organizations.ts";

const isTeamName = (name: string) => /^[\w.-]+$/.test(name);
const isPermission = (word: string) => ["read", "write", "admin"].includes(word);

const teamFields = {
  description: optionalText({ max: 255 }),
  includes_all_repositories: optionalFlag,
  permission: optionalText({ rules: [["In", isPermission]] }),
  units: optionalWords,
  units_map: optionalTextMap,
  can_create_org_repo: optionalFlag,
  visibility: optionalVisibility,
};
const newTeamBody = z.object({
  name: requiredText({ max: 255, rules: [["AlphaDashDot", isTeamName]] }),
  ...teamFields,
});
const teamEditBody = z.object({
  name: optionalText({ max: 255, rules: [["AlphaDashDot", isTeamName]] }),
  ...teamFields,
});
export type TeamFields = z.output<typeof teamEditBody>;

const teamParams = z.object({ team: pathInteger });

export const teamEndpoints = {
  ...resource(
    {
      name: "forge.orgs.teams",
      path: "/api/v1/orgs/:org/teams",
      params: organizationParams,
      shape: teamShape,
      gate: forgeUser("organization"),
      on: { read: organization("viewer"), change: organization("owner") },
    },
    ({ list, create, operation }) => ({
      listTeams: list("The teams of an organization that you may see, the owners first"),
      searchTeams: operation({
        method: "GET",
        at: "search",
        summary: "The teams of an organization whose name or description has a text",
        query: z.object({ ...paging, q: trimmedQueryText, include_desc: queryText }),
        paging: "link_and_total",
        replies: { 200: z.object({ ok: z.boolean(), data: z.array(teamShape) }) },
        apiOnly: '"croft team list" shows the teams',
      }),
      createTeam: create(
        "Create a team with a permission on its repositories, or one for each of their units",
        newTeamBody,
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.user.teams",
      path: "/api/v1/user/teams",
      shape: teamShape,
      gate: forgeUser("organization"),
    },
    ({ list }) => ({
      listOwnTeams: list("The teams that you are a member of"),
    }),
  ),
  ...resource(
    {
      name: "forge.teams",
      path: "/api/v1/teams/:team",
      params: teamParams,
      shape: teamShape,
      gate: forgeUser("organization"),
      on: { read: team("viewer"), change: team("owner") },
    },
    ({ get, edit, remove }) => ({
      getTeam: get("A team"),
      editTeam: edit("Change a team; absent members stay as they are", teamEditBody),
      deleteTeam: remove("Delete a team; the team of the owners cannot be deleted", {
        refuses: [422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.teams.members",
      path: "/api/v1/teams/:team/members",
      params: teamParams,
      id: { member: z.string() },
      shape: userShape,
      gate: forgeUser("organization"),
      on: { read: team("viewer"), change: team("owner") },
    },
    ({ list, get, remove, operation }) => ({
      listTeamMembers: list("The members of a team, by name"),
      getTeamMember: get("A member of a team", {
        apiOnly: '"croft team member list" shows all of them',
      }),
      addTeamMember: operation({
        as: "put",
        method: "PUT",
        item: true,
        summary: "Add a user to a team, and thereby to the organization",
        replies: { 204: empty },
        refuses: [422],
      }),
      removeTeamMember: remove(
        "Remove a user from a team, and with the last team from the organization",
        // Members may leave.
        { refuses: [422], on: team("viewer") },
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.teams.repos",
      path: "/api/v1/teams/:team/repos",
      params: teamParams,
      id: { org: z.string(), repo: z.string() },
      shape: repositoryShape,
      gate: forgeUser("organization"),
      // A change also needs a permission on the repository, which the service checks.
      on: team("viewer"),
    },
    ({ list, get, remove, operation }) => ({
      listTeamRepositories: list("The repositories of a team that you may read, by name"),
      getTeamRepository: get("A repository of a team", {
        apiOnly: '"croft team repo list" shows all of them',
      }),
      addTeamRepository: operation({
        as: "put",
        method: "PUT",
        item: true,
        summary: "Give a team a repository of its organization",
        replies: { 204: empty },
      }),
      removeTeamRepository: remove(
        "Take a repository from a team; a team that includes all keeps it",
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.teams",
      path: "/api/v1/repos/:owner/:repo/teams",
      params: repositoryParams,
      id: { team: z.string() },
      shape: teamShape,
      gate: forgeUser("repository"),
      on: {
        read: repository("any", "read"),
        change: repository("any", "owner", { checkedBy: "service" }),
      },
      acceptsArchived: true,
    },
    ({ list, get, remove, operation }) => ({
      listRepositoryTeams: list("The teams that have a repository", {
        apiOnly: '"croft team repo list" shows the repositories of a team',
      }),
      getRepositoryTeam: get("A team, by name, that has a repository", {
        apiOnly: '"croft team view" shows a team',
      }),
      addRepositoryTeam: operation({
        as: "put",
        method: "PUT",
        item: true,
        summary: "Give a repository to a team, by name",
        replies: { 204: empty },
        refuses: [422],
        apiOnly: '"croft team repo add" does the same',
      }),
      removeRepositoryTeam: remove("Take a repository from a team, by name", {
        refuses: [422],
        apiOnly: '"croft team repo remove" does the same',
      }),
    }),
  ),
};
