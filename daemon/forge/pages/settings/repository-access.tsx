import { collaboratorEndpoints } from "../../../contract/forge/repositories/collaborators.ts";
import { deployKeyEndpoints } from "../../../contract/forge/repositories/deploy-keys.ts";
import type { WireRepository } from "../../../contract/forge/repositories/repositories.ts";
import { teamEndpoints } from "../../../contract/forge/organizations/teams.ts";
import { isMissing } from "../place.tsx";
import { UserLink } from "../elements.tsx";
import { findRefusal, type ForgePageRoute } from "../forge-page.ts";
import { KeyList } from "./key-list.tsx";
import { ActionForm, DeleteEntry, Entries, readFlag, readText } from "./settings-form.tsx";
import {
  type Request,
  settingsPage,
  type SettingsPlace,
  toWindow,
  type View,
} from "./settings-page.tsx";

/** The people, the teams and the deploy keys that have access to a repository. */
export function accessPages(place: SettingsPlace<WireRepository>): ForgePageRoute[] {
  return [
    ...settingsPage(place, {
      at: "collaboration",
      title: "Collaborators",
      show: showCollaborators,
      actions: { put, delete: removeCollaborator, addTeam, removeTeam },
    }),
    ...settingsPage(place, {
      at: "keys",
      title: "Deploy keys",
      show: showKeys,
      isFixed: ({ archived }) => archived,
      kept: ["delete"],
      actions: { add: addKey, delete: deleteKey },
    }),
  ];
}

const permission = {
  label: "Permission",
  type: "select",
  options: ["read", "write", "admin"],
} as const;

async function showCollaborators(view: View<WireRepository>) {
  const { call, params } = view;
  const { body: users, total } = await call(collaboratorEndpoints.listCollaborators, {
    params,
    query: toWindow(view),
  });
  const entries = await Promise.all(
    users.map(async (user) => {
      let given = "";
      // The account may have been deleted since the list was read.
      await findRefusal(["not_found"], async () => {
        const path = { ...params, collaborator: user.login };
        ({
          body: { permission: given },
        } = await call(collaboratorEndpoints.getCollaboratorPermission, { params: path }));
      });
      const hidden = { user: user.login };
      return {
        key: user.id,
        name: <UserLink user={user} />,
        note: given,
        tools: (
          <>
            <ActionForm
              view={view}
              action="put"
              submit={`Change ${user.login}`}
              fields={{ permission }}
              values={{ permission: given }}
              hidden={hidden}
              isInline
            />
            <DeleteEntry
              view={view}
              hidden={hidden}
              name="Remove"
              submit={`Remove ${user.login}`}
            />
          </>
        ),
      };
    }),
  );
  return (
    <>
      <Entries
        view={view}
        label="Collaborators"
        empty="No collaborators."
        total={total}
        entries={entries}
        command={`croft repo collaborator add ${view.opened.full_name} NAME --permission write`}
      />
      <h3>Add a collaborator</h3>
      <ActionForm
        view={view}
        action="put"
        submit="Add collaborator"
        fields={{ user: { label: "User name", max: 40 }, permission }}
        values={{ permission: "write" }}
      />
      <Teams view={view} names={await listTeams(view)} />
    </>
  );
}

/** The teams that have the repository; undefined if a person owns it. */
async function listTeams({ call, params }: Request): Promise<readonly string[] | undefined> {
  try {
    const { body } = await call(teamEndpoints.listRepositoryTeams, {
      params,
      query: { limit: "50" },
    });
    return body.map(({ name }) => name);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function Teams({
  view,
  names,
}: {
  view: View<WireRepository>;
  names: readonly string[] | undefined;
}) {
  if (names === undefined) return null;
  return (
    <>
      <h3>Teams</h3>
      <Entries
        view={view}
        label="Teams"
        empty="No teams."
        entries={names.map((name) => ({
          key: name,
          name: <bdi>{name}</bdi>,
          tools: (
            <DeleteEntry
              view={view}
              action="removeTeam"
              hidden={{ team: name }}
              name="Remove"
              submit={`Remove ${name}`}
            />
          ),
        }))}
      />
      <ActionForm
        view={view}
        action="addTeam"
        submit="Add team"
        fields={{ team: { label: "Name of the team", max: 255 } }}
      />
    </>
  );
}

const ofUser = (request: Request) => ({
  ...request.params,
  collaborator: readText(request, "user"),
});
const ofTeam = (request: Request) => ({ ...request.params, team: readText(request, "team") });

async function put(request: Request): Promise<void> {
  const body = { permission: readText(request, "permission") };
  await request.call(collaboratorEndpoints.putCollaborator, { params: ofUser(request), body });
}

async function removeCollaborator(request: Request): Promise<void> {
  await request.call(collaboratorEndpoints.deleteCollaborator, { params: ofUser(request) });
}

async function addTeam(request: Request): Promise<void> {
  await request.call(teamEndpoints.addRepositoryTeam, { params: ofTeam(request) });
}

async function removeTeam(request: Request): Promise<void> {
  await request.call(teamEndpoints.removeRepositoryTeam, { params: ofTeam(request) });
}

async function showKeys(view: View<WireRepository>) {
  const { body: keys, total } = await view.call(deployKeyEndpoints.listDeployKeys, {
    params: view.params,
    query: toWindow(view),
  });
  return (
    <>
      <p className="quiet">An SSH key that opens this repository alone.</p>
      <KeyList
        view={view}
        keys={keys}
        total={total}
        label="Deploy keys"
        empty="No deploy keys."
        name="a deploy key"
        access={{ writes: { label: "May write", type: "check" } }}
      />
    </>
  );
}

async function addKey(request: Request): Promise<void> {
  await request.call(deployKeyEndpoints.addDeployKey, {
    params: request.params,
    body: {
      title: readText(request, "title"),
      key: readText(request, "key"),
      read_only: !readFlag(request, "writes"),
    },
  });
}

async function deleteKey(request: Request): Promise<void> {
  const params = { ...request.params, id: readText(request, "id") };
  await request.call(deployKeyEndpoints.deleteDeployKey, { params });
}
