import type { WireOrganization, WireTeam } from "../../../contract/forge/accounts/orgs.ts";
import { teamEndpoints } from "../../../contract/forge/organizations/teams.ts";
import { AppError } from "../../../errors.ts";
import { toPath } from "../../../pages/page.ts";
import { notFound } from "../../refusals.ts";
import { isMissing } from "../place.tsx";
import { UserLink } from "../elements.tsx";
import type { ForgePageRoute } from "../forge-page.ts";
import { repositoryUnits } from "../../../../storage/tables/forge/accounts/teams.ts";
import {
  ActionForm,
  ActionMenu,
  DeleteEntry,
  Entries,
  readFlag,
  readText,
  type SettingsField,
} from "./settings-form.tsx";
import {
  type Request,
  settingsPage,
  type SettingsPlace,
  toWindow,
  type View,
} from "./settings-page.tsx";

/** An organization, and whether the caller owns it. */
export interface OpenedOrganization {
  readonly organization: WireOrganization;
  readonly isOwner: boolean;
}

/** The teams of an organization, and each with its members and repositories. */
export function teamPages(place: SettingsPlace<OpenedOrganization>): ForgePageRoute[] {
  return [
    ...settingsPage(place, {
      at: "teams",
      title: "Teams",
      show: showTeams,
      actions: {
        async create(request) {
          const { body } = await request.call(teamEndpoints.createTeam, {
            params: request.params,
            body: readTeam(request),
          });
          return { to: toPath("org", request.params["org"] ?? "", "teams", body.name) };
        },
      },
    }),
    ...settingsPage(place, {
      at: "teams/:name",
      tab: "teams",
      title: "Team",
      show: showTeam,
      actions: {
        async edit(request) {
          const { id } = await findTeam(request);
          const body = readTeam(request);
          const { body: team } = await request.call(teamEndpoints.editTeam, {
            params: { team: String(id) },
            body,
          });
          return { to: toPath("org", request.params["org"] ?? "", "teams", team.name) };
        },
        async delete(request) {
          await request.call(teamEndpoints.deleteTeam, { params: await ofTeam(request) });
          return { to: toPath("org", request.params["org"] ?? "", "teams") };
        },
        async addMember(request) {
          await request.call(teamEndpoints.addTeamMember, { params: await ofMember(request) });
        },
        async removeMember(request) {
          await request.call(teamEndpoints.removeTeamMember, { params: await ofMember(request) });
        },
        async addRepository(request) {
          const params = await ofRepository(request);
          await request.call(teamEndpoints.addTeamRepository, { params });
        },
        async removeRepository(request) {
          const params = await ofRepository(request);
          await request.call(teamEndpoints.removeTeamRepository, { params });
        },
      },
    }),
  ];
}

const unitFields = Object.fromEntries(
  repositoryUnits.map((unit) => [
    unit,
    {
      label: unit.replace("repo.", ""),
      type: "select",
      options: [["none", "no access"], "read", "write"],
    } satisfies SettingsField,
  ]),
);

const fields = {
  name: { label: "Name", max: 255 },
  description: { label: "Description", isOptional: true, max: 255 },
  includes_all_repositories: { label: "It has all repositories", type: "check" },
  can_create_org_repo: { label: "Its members create repositories", type: "check" },
  is_admin: { label: "It administers its repositories; otherwise it has:", type: "check" },
  ...unitFields,
} as const satisfies Record<string, SettingsField>;

const readUnits = (request: Request) =>
  Object.entries(unitFields).map(([unit]) => [unit, readText(request, unit) || "none"] as const);

function readTeam(request: Request) {
  const units = readUnits(request);
  const level = units.some(([, each]) => each === "write") ? "write" : "read";
  return {
    name: readText(request, "name"),
    description: readText(request, "description"),
    includes_all_repositories: readFlag(request, "includes_all_repositories"),
    can_create_org_repo: readFlag(request, "can_create_org_repo"),
    ...(readFlag(request, "is_admin")
      ? { permission: "admin" }
      : { permission: level, units_map: Object.fromEntries(units) }),
  };
}

const toValues = (team: WireTeam) => ({
  ...team,
  ...team.units_map,
  is_admin: team.permission === "admin",
});

async function showTeams(view: View<OpenedOrganization>) {
  const { body: teams, total } = await view.call(teamEndpoints.listTeams, {
    params: view.params,
    query: toWindow(view),
  });
  return (
    <>
      <Entries
        view={view}
        label="Teams"
        empty="No teams that you may see."
        total={total}
        entries={teams.map((team) => ({
          key: team.id,
          name: (
            <a href={`${view.home}/${encodeURIComponent(team.name)}`}>
              <bdi>{team.name}</bdi>
            </a>
          ),
          note: [team.permission, team.description].filter((text) => text !== "").join(" · "),
        }))}
      />
      {view.opened.isOwner ? (
        <ActionMenu
          name="New team"
          view={view}
          action="create"
          submit="Create team"
          tone="primary"
          fields={fields}
          values={{ "repo.code": "write", "repo.issues": "write", "repo.pulls": "write" }}
        />
      ) : null}
    </>
  );
}

/** Finds a team by its name. Throws `not_found` for one that the caller may not see. */
async function findTeam({ call, params }: Request): Promise<WireTeam> {
  const { org = "", name: wanted = "" } = params;
  const { body } = await call(teamEndpoints.searchTeams, {
    params: { org },
    query: { q: wanted, limit: "50" },
  });
  const team = body.data.find((each) => each.name.toLowerCase() === wanted.toLowerCase());
  if (team === undefined) throw notFound();
  return team;
}

const ofTeam = async (request: Request) => ({ team: String((await findTeam(request)).id) });
const ofMember = async (request: Request) => ({
  ...(await ofTeam(request)),
  member: readText(request, "member"),
});
const ofRepository = async (request: Request) => ({
  ...(await ofTeam(request)),
  org: request.params["org"] ?? "",
  repo: readText(request, "repo"),
});

/** Returns undefined where the caller may see the team, but not what it has. */
async function findHidden<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    if (isMissing(error) || (error instanceof AppError && error.code === "forbidden"))
      return undefined;
    throw error;
  }
}

async function showTeam(view: View<OpenedOrganization>) {
  const { call, opened } = view;
  const team = await findTeam(view);
  const params = { team: String(team.id) };
  const query = { limit: "50" };
  const loaded = await findHidden(async () => ({
    members: (await call(teamEndpoints.listTeamMembers, { params, query })).body,
    repositories: (await call(teamEndpoints.listTeamRepositories, { params, query })).body,
  }));
  if (loaded === undefined) return <p>{`Only members of ${team.name} see more of it.`}</p>;
  const { members, repositories } = loaded;
  const { isOwner } = opened;
  const isOfOwners = team.permission === "owner";
  const choosesRepositories = isOwner && !team.includes_all_repositories;
  return (
    <>
      <p>
        <bdi>{team.name}</bdi> <span className="quiet">{`${team.permission} `}</span>
        {team.description}
      </p>
      {isOwner && !isOfOwners ? (
        <div className="tools">
          <ActionMenu
            name="Edit"
            view={view}
            action="edit"
            submit="Save team"
            fields={fields}
            values={toValues(team)}
          />
          <DeleteEntry view={view} hidden={{}} submit={`Delete ${team.name}`} />
        </div>
      ) : null}
      <h3>Members</h3>
      <Entries
        view={view}
        label="Members"
        empty="No members."
        entries={members.map((user) => ({
          key: user.id,
          name: <UserLink user={user} />,
          tools: isOwner ? (
            <DeleteEntry
              view={view}
              action="removeMember"
              hidden={{ member: user.login }}
              name="Remove"
              submit={`Remove ${user.login}`}
            />
          ) : undefined,
        }))}
      />
      {isOwner ? (
        <ActionForm
          view={view}
          action="addMember"
          submit="Add member"
          fields={{ member: { label: "User name", max: 40 } }}
        />
      ) : null}
      <h3>Repositories</h3>
      <Entries
        view={view}
        label="Repositories"
        empty="No repositories."
        entries={repositories.map((repository) => ({
          key: repository.id,
          name: (
            <a href={toPath(repository.owner.login, repository.name)}>{repository.full_name}</a>
          ),
          tools: choosesRepositories ? (
            <DeleteEntry
              view={view}
              action="removeRepository"
              hidden={{ repo: repository.name }}
              name="Remove"
              submit={`Remove ${repository.name}`}
            />
          ) : undefined,
        }))}
      />
      {choosesRepositories ? (
        <ActionForm
          view={view}
          action="addRepository"
          submit="Add repository"
          fields={{ repo: { label: "Name of the repository", max: 100 } }}
        />
      ) : null}
    </>
  );
}
