import { z } from "zod";
import { empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalText,
  optionalTextMap,
  optionalVisibility,
  optionalWords,
  paging,
  pathInteger,
  queryText,
  requiredText,
  signedInReplies,
  trimmedQueryText,
} from "../common.ts";
import { teamShape } from "../accounts/orgs.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryParams, repositoryShape } from "../repositories/repositories.ts";
import { belowOrganization, organizationParams } from "./organizations.ts";

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
const memberParams = teamParams.extend({ member: z.string() });
const teamRepositoryParams = teamParams.extend({ org: z.string(), repo: z.string() });

export const listTeams = endpoint({
  name: "forge.orgs.teams.list",
  method: "GET",
  path: "/api/v1/orgs/:org/teams",
  summary: "The teams of an organization that you may see, the owners first",
  gate: forgeUser("organization"),
  params: organizationParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(teamShape), ...belowOrganization },
});

export const searchTeams = endpoint({
  name: "forge.orgs.teams.search",
  method: "GET",
  path: "/api/v1/orgs/:org/teams/search",
  summary: "The teams of an organization whose name or description has a text",
  gate: forgeUser("organization"),
  params: organizationParams,
  query: z.object({ ...paging, q: trimmedQueryText, include_desc: queryText }),
  paging: "link_and_total",
  replies: { 200: z.object({ ok: z.boolean(), data: z.array(teamShape) }), ...belowOrganization },
  apiOnly: '"croft team list" shows the teams',
});

export const createTeam = endpoint({
  name: "forge.orgs.teams.create",
  method: "POST",
  path: "/api/v1/orgs/:org/teams",
  summary: "Create a team with a permission on its repositories, or one for each of their units",
  gate: forgeUser("organization"),
  params: organizationParams,
  body: newTeamBody,
  replies: { 201: teamShape, ...belowOrganization, 422: apiError },
});

export const listOwnTeams = endpoint({
  name: "forge.user.teams.list",
  method: "GET",
  path: "/api/v1/user/teams",
  summary: "The teams that you are a member of",
  gate: forgeUser("organization"),
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(teamShape), ...signedInReplies },
});

export const getTeam = endpoint({
  name: "forge.teams.get",
  method: "GET",
  path: "/api/v1/teams/:team",
  summary: "A team",
  gate: forgeUser("organization"),
  params: teamParams,
  replies: { 200: teamShape, ...belowOrganization },
});

export const editTeam = endpoint({
  name: "forge.teams.edit",
  method: "PATCH",
  path: "/api/v1/teams/:team",
  summary: "Change a team; absent members stay as they are",
  gate: forgeUser("organization"),
  params: teamParams,
  body: teamEditBody,
  replies: { 200: teamShape, ...belowOrganization, 422: apiError },
});

export const deleteTeam = endpoint({
  name: "forge.teams.delete",
  method: "DELETE",
  path: "/api/v1/teams/:team",
  summary: "Delete a team; the team of the owners cannot be deleted",
  gate: forgeUser("organization"),
  params: teamParams,
  replies: { 204: empty, ...belowOrganization, 422: apiError },
});

export const listTeamMembers = endpoint({
  name: "forge.teams.members.list",
  method: "GET",
  path: "/api/v1/teams/:team/members",
  summary: "The members of a team, by name",
  gate: forgeUser("organization"),
  params: teamParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(userShape), ...belowOrganization },
});

export const getTeamMember = endpoint({
  name: "forge.teams.members.get",
  method: "GET",
  path: "/api/v1/teams/:team/members/:member",
  summary: "A member of a team",
  gate: forgeUser("organization"),
  params: memberParams,
  replies: { 200: userShape, ...belowOrganization },
  apiOnly: '"croft team member list" shows all of them',
});

export const addTeamMember = endpoint({
  name: "forge.teams.members.put",
  method: "PUT",
  path: "/api/v1/teams/:team/members/:member",
  summary: "Add a user to a team, and thereby to the organization",
  gate: forgeUser("organization"),
  params: memberParams,
  replies: { 204: empty, ...belowOrganization, 422: apiError },
});

export const removeTeamMember = endpoint({
  name: "forge.teams.members.delete",
  method: "DELETE",
  path: "/api/v1/teams/:team/members/:member",
  summary: "Remove a user from a team, and with the last team from the organization",
  gate: forgeUser("organization"),
  params: memberParams,
  replies: { 204: empty, ...belowOrganization, 422: apiError },
});

export const listTeamRepositories = endpoint({
  name: "forge.teams.repos.list",
  method: "GET",
  path: "/api/v1/teams/:team/repos",
  summary: "The repositories of a team that you may read, by name",
  gate: forgeUser("organization"),
  params: teamParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(repositoryShape), ...belowOrganization },
});

export const getTeamRepository = endpoint({
  name: "forge.teams.repos.get",
  method: "GET",
  path: "/api/v1/teams/:team/repos/:org/:repo",
  summary: "A repository of a team",
  gate: forgeUser("organization"),
  params: teamRepositoryParams,
  replies: { 200: repositoryShape, ...belowOrganization },
  apiOnly: '"croft team repo list" shows all of them',
});

export const addTeamRepository = endpoint({
  name: "forge.teams.repos.put",
  method: "PUT",
  path: "/api/v1/teams/:team/repos/:org/:repo",
  summary: "Give a team a repository of its organization",
  gate: forgeUser("organization"),
  params: teamRepositoryParams,
  replies: { 204: empty, ...belowOrganization },
});

export const removeTeamRepository = endpoint({
  name: "forge.teams.repos.delete",
  method: "DELETE",
  path: "/api/v1/teams/:team/repos/:org/:repo",
  summary: "Take a repository from a team; a team that includes all keeps it",
  gate: forgeUser("organization"),
  params: teamRepositoryParams,
  replies: { 204: empty, ...belowOrganization },
});

const repositoryTeamParams = repositoryParams.extend({ team: z.string() });

export const listRepositoryTeams = endpoint({
  name: "forge.repos.teams.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/teams",
  summary: "The teams that have a repository",
  gate: forgeUser("repository"),
  params: repositoryParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(teamShape), ...belowOrganization },
  apiOnly: '"croft team repo list" shows the repositories of a team',
});

export const getRepositoryTeam = endpoint({
  name: "forge.repos.teams.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/teams/:team",
  summary: "A team, by name, that has a repository",
  gate: forgeUser("repository"),
  params: repositoryTeamParams,
  replies: { 200: teamShape, ...belowOrganization },
  apiOnly: '"croft team view" shows a team',
});

export const addRepositoryTeam = endpoint({
  name: "forge.repos.teams.put",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/teams/:team",
  summary: "Give a repository to a team, by name",
  gate: forgeUser("repository"),
  params: repositoryTeamParams,
  replies: { 204: empty, ...belowOrganization, 422: apiError },
  apiOnly: '"croft team repo add" does the same',
});

export const removeRepositoryTeam = endpoint({
  name: "forge.repos.teams.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/teams/:team",
  summary: "Take a repository from a team, by name",
  gate: forgeUser("repository"),
  params: repositoryTeamParams,
  replies: { 204: empty, ...belowOrganization, 422: apiError },
  apiOnly: '"croft team repo remove" does the same',
});

export const teamEndpoints = {
  listTeams,
  searchTeams,
  createTeam,
  listOwnTeams,
  getTeam,
  editTeam,
  deleteTeam,
  listTeamMembers,
  getTeamMember,
  addTeamMember,
  removeTeamMember,
  listTeamRepositories,
  getTeamRepository,
  addTeamRepository,
  removeTeamRepository,
  listRepositoryTeams,
  getRepositoryTeam,
  addRepositoryTeam,
  removeRepositoryTeam,
};
