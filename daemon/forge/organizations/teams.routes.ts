import { teamEndpoints } from "../../contract/forge/organizations/teams.ts";
import { isTrueWord } from "../../contract/forge/common.ts";
import type { Route } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import { toTeamView } from "../accounts/organization.view.ts";
import { toUserView } from "../accounts/user.view.ts";
import { serve } from "../handle.ts";
import type { Repositories } from "../repositories/repositories.service.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import type { ForgeUrls } from "../urls.ts";
import { toNewTeam, toTeamEdit } from "./team-requests.view.ts";
import type { TeamRepositories } from "./team-repositories.service.ts";
import type { TeamDetails, Teams } from "./teams.service.ts";

interface TeamRoutesDeps {
  readonly teams: Teams;
  readonly teamRepositories: TeamRepositories;
  readonly repositories: Pick<Repositories, "get">;
  readonly urls: ForgeUrls;
}

/** Routes of teams, of their members and of their repositories. */
export function teamRoutes({
  teams,
  teamRepositories,
  repositories,
  urls,
}: TeamRoutesDeps): Route[] {
  const toView = ({ team, organization }: TeamDetails) => toTeamView(team, organization, urls);
  return serve(teamEndpoints, {
    listTeams: async ({ opened, caller, query }) => {
      const { teams: found, total } = await teams.list(opened, query, caller, undefined);
      return page(found.map(toView), total);
    },
    searchTeams: async ({ opened, caller, query }) => {
      const { q: term, include_desc: word } = query;
      const search = { term, includesDescription: word === "" || isTrueWord(word) };
      const { teams: found, total } = await teams.list(opened, query, caller, search);
      return answer({ ok: true, data: found.map(toView) }, { total });
    },
    createTeam: async ({ opened, body }) =>
      toView(await teams.create(opened, toNewTeam(body.name, body))),
    listOwnTeams: async ({ caller, query }) => {
      const { teams: found, total } = await teams.listOwn(query, caller);
      return page(found.map(toView), total);
    },
    getTeam: async ({ opened }) => toView(opened),
    editTeam: async ({ opened, body }) => toView(await teams.edit(opened, toTeamEdit(body))),
    deleteTeam: ({ opened }) => teams.remove(opened),
    listTeamMembers: async ({ opened, caller, query }) => {
      const { users, total } = await teams.listMembers(opened, query);
      return page(
        users.map((user) => toUserView(user, caller.user, urls)),
        total,
      );
    },
    getTeamMember: async ({ opened, caller, params }) =>
      toUserView(await teams.getMember(opened, params.member), caller.user, urls),
    addTeamMember: ({ opened, params }) => teams.addMember(opened, params.member),
    removeTeamMember: ({ opened, params }) => teams.removeMember(opened, params.member),
    listTeamRepositories: async ({ opened, query }) => {
      const { repositories: found, total } = await teamRepositories.list(opened, query);
      return page(
        found.map((each) => toRepositoryView(each, urls)),
        total,
      );
    },
    getTeamRepository: async ({ opened, params }) =>
      toRepositoryView(await repositories.get(await teamRepositories.get(opened, params)), urls),
    addTeamRepository: ({ opened, params }) => teamRepositories.add(opened, params),
    removeTeamRepository: ({ opened, params }) => teamRepositories.remove(opened, params),
    listRepositoryTeams: async ({ opened, caller, query }) => {
      const { teams: found, total } = await teamRepositories.listTeamsOf(opened, query, caller);
      return page(found.map(toView), total);
    },
    getRepositoryTeam: async ({ opened, caller, params }) =>
      toView(await teamRepositories.getTeamOf(opened, params.team, caller)),
    addRepositoryTeam: ({ opened, caller, params }) =>
      teamRepositories.change(opened, params.team, true, caller),
    removeRepositoryTeam: ({ opened, caller, params }) =>
      teamRepositories.change(opened, params.team, false, caller),
  });
}
