import { teamEndpoints } from "../../contract/forge/organizations/teams.ts";
import { isTrueWord } from "../../contract/forge/common.ts";
import type { Route } from "../../http/handle.ts";
import { toTeamView } from "../accounts/organization.view.ts";
import { toUserView } from "../accounts/user.view.ts";
import { handle } from "../handle.ts";
import type { Repositories } from "../repositories/repositories.service.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import type { ForgeUrls } from "../urls.ts";
import { toNewTeam, toTeamEdit } from "./team-requests.view.ts";
import type { TeamRepositories } from "./team-repositories.service.ts";
import type { TeamDetails, Teams } from "./teams.service.ts";

/** Routes of teams and their members. */
export function teamRoutes({
  teams,
  urls,
}: {
  readonly teams: Teams;
  readonly urls: ForgeUrls;
}): Route[] {
  const toView = ({ team, organization }: TeamDetails) => toTeamView(team, organization, urls);
  return [
    handle(teamEndpoints.listTeams, async ({ opened, caller, query }) => {
      const { teams: page, total } = await teams.list(opened, query, caller, undefined);
      return { status: 200, body: page.map(toView), total };
    }),
    handle(teamEndpoints.searchTeams, async ({ opened, caller, query }) => {
      const { q: term, include_desc: word } = query;
      const search = { term, includesDescription: word === "" || isTrueWord(word) };
      const { teams: page, total } = await teams.list(opened, query, caller, search);
      return { status: 200, body: { ok: true, data: page.map(toView) }, total };
    }),
    handle(teamEndpoints.createTeam, async ({ opened, body }) => {
      const made = await teams.create(opened, toNewTeam(body.name, body));
      return { status: 201, body: toView(made) };
    }),
    handle(teamEndpoints.listOwnTeams, async ({ caller, query }) => {
      const { teams: page, total } = await teams.listOwn(query, caller);
      return { status: 200, body: page.map(toView), total };
    }),
    handle(teamEndpoints.getTeam, async ({ caller, params }) => ({
      status: 200,
      body: toView(await teams.get(params.team, caller)),
    })),
    handle(teamEndpoints.editTeam, async ({ caller, params, body }) => ({
      status: 200,
      body: toView(await teams.edit(params.team, toTeamEdit(body), caller)),
    })),
    handle(teamEndpoints.deleteTeam, async ({ caller, params }) => {
      await teams.remove(params.team, caller);
      return { status: 204 };
    }),
    handle(teamEndpoints.listTeamMembers, async ({ caller, params, query }) => {
      const { users, total } = await teams.listMembers(params.team, query, caller);
      return { status: 200, body: users.map((user) => toUserView(user, caller.user, urls)), total };
    }),
    handle(teamEndpoints.getTeamMember, async ({ caller, params }) => {
      const user = await teams.getMember(params.team, params.member, caller);
      return { status: 200, body: toUserView(user, caller.user, urls) };
    }),
    handle(teamEndpoints.addTeamMember, async ({ caller, params }) => {
      await teams.addMember(params.team, params.member, caller);
      return { status: 204 };
    }),
    handle(teamEndpoints.removeTeamMember, async ({ caller, params }) => {
      await teams.removeMember(params.team, params.member, caller);
      return { status: 204 };
    }),
  ];
}

/** Routes of the repositories of teams. */
export function teamRepositoryRoutes({
  teamRepositories,
  repositories,
  urls,
}: {
  readonly teamRepositories: TeamRepositories;
  readonly repositories: Pick<Repositories, "get">;
  readonly urls: ForgeUrls;
}): Route[] {
  const toView = ({ team, organization }: TeamDetails) => toTeamView(team, organization, urls);
  return [
    handle(teamEndpoints.listTeamRepositories, async ({ caller, params, query }) => {
      const { repositories: page, total } = await teamRepositories.list(params.team, query, caller);
      return { status: 200, body: page.map((each) => toRepositoryView(each, urls)), total };
    }),
    handle(teamEndpoints.getTeamRepository, async ({ caller, params }) => {
      const { owner, repo } = await teamRepositories.assertHas(params, caller);
      const details = await repositories.get(owner, repo, caller);
      return { status: 200, body: toRepositoryView(details, urls) };
    }),
    handle(teamEndpoints.addTeamRepository, async ({ caller, params }) => {
      await teamRepositories.add(params, caller);
      return { status: 204 };
    }),
    handle(teamEndpoints.removeTeamRepository, async ({ caller, params }) => {
      await teamRepositories.remove(params, caller);
      return { status: 204 };
    }),
    handle(teamEndpoints.listRepositoryTeams, async ({ opened, caller, query }) => {
      const { teams, total } = await teamRepositories.listTeamsOf(opened, query, caller);
      return { status: 200, body: teams.map(toView), total };
    }),
    handle(teamEndpoints.getRepositoryTeam, async ({ opened, caller, params }) => ({
      status: 200,
      body: toView(await teamRepositories.getTeamOf(opened, params.team, caller)),
    })),
    handle(teamEndpoints.addRepositoryTeam, async ({ opened, caller, params }) => {
      await teamRepositories.change(opened, params.team, true, caller);
      return { status: 204 };
    }),
    handle(teamEndpoints.removeRepositoryTeam, async ({ opened, caller, params }) => {
      await teamRepositories.change(opened, params.team, false, caller);
      return { status: 204 };
    }),
  ];
}
