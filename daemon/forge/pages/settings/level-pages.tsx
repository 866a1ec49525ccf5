import { adminActionEndpoints } from "../../../contract/forge/actions/actions.ts";
import {
  organizationRunners,
  ownRunners,
  repositoryRunners,
} from "../../../contract/forge/actions/runners.ts";
import {
  instanceSecrets,
  organizationSecrets,
  ownSecrets,
  repositorySecrets,
} from "../../../contract/forge/actions/secrets.ts";
import {
  instanceVariables,
  organizationVariables,
  ownVariables,
  repositoryVariables,
} from "../../../contract/forge/actions/variables.ts";
import { State, Time } from "../../../pages/elements.tsx";
import type { ForgePageRoute } from "../forge-page.ts";
import { settingsPage, type SettingsPlace, toWindow } from "./settings-page.tsx";
import { ActionForm, ActionMenu, DeleteEntry, Entries, readText } from "./settings-form.tsx";

/** The level of secrets, variables and runners. */
export type Level = "repository" | "organization" | "own" | "instance";

const secretsOf = {
  repository: repositorySecrets,
  organization: organizationSecrets,
  own: ownSecrets,
  instance: instanceSecrets,
};

const variablesOf = {
  repository: repositoryVariables,
  organization: organizationVariables,
  own: ownVariables,
  instance: instanceVariables,
};

const runnersOf = {
  repository: repositoryRunners,
  organization: organizationRunners,
  own: ownRunners,
  instance: {
    list: adminActionEndpoints.listRunners,
    token: adminActionEndpoints.createRegistrationToken,
    edit: adminActionEndpoints.editRunner,
    delete: adminActionEndpoints.deleteRunner,
  },
};

/** The secrets, the variables and the runners of one level. */
export function levelPages<Opened>(place: SettingsPlace<Opened>, level: Level): ForgePageRoute[] {
  return [
    ...secretsPage(place, level),
    ...variablesPage(place, level),
    ...runnersPage(place, level),
  ];
}

function secretsPage<Opened>(place: SettingsPlace<Opened>, level: Level): ForgePageRoute[] {
  const { list, put, delete: remove } = secretsOf[level];
  return settingsPage(place, {
    at: "actions/secrets",
    title: "Secrets",
    async show(view) {
      const { params, call } = view;
      const { body, total } = await call(list, { params, query: toWindow(view) });
      return (
        <>
          <p className="quiet">Jobs get them as secrets.NAME; nobody reads them back.</p>
          <Entries
            view={view}
            label="Secrets"
            empty="No secrets."
            total={total}
            entries={body.map(({ name, description, created_at: at }) => ({
              key: name,
              name: <code>{name}</code>,
              note: (
                <>
                  {description} <Time at={at} />
                </>
              ),
              tools: <DeleteEntry view={view} hidden={{ name }} submit={`Delete ${name}`} />,
            }))}
          />
          <h3>Set a secret</h3>
          <ActionForm
            view={view}
            action="put"
            submit="Set secret"
            fields={{
              name: { label: "Name", max: 255 },
              value: { label: "Value", type: "multiline" },
              description: { label: "Description", isOptional: true, max: 4096 },
            }}
          />
        </>
      );
    },
    actions: {
      async put(request) {
        const params = { ...request.params, secretname: readText(request, "name") };
        const data = (request.form.get("value") ?? "").replaceAll("\r\n", "\n");
        const body = { data, description: readText(request, "description") };
        await request.call(put, { params, body });
      },
      async delete(request) {
        const params = { ...request.params, secretname: readText(request, "name") };
        await request.call(remove, { params });
      },
    },
  });
}

function variablesPage<Opened>(place: SettingsPlace<Opened>, level: Level): ForgePageRoute[] {
  const { list, create, edit, delete: remove } = variablesOf[level];
  const fields = {
    name: { label: "Name", max: 255 },
    value: { label: "Value", type: "multiline" },
    description: { label: "Description", isOptional: true, max: 4096 },
  } as const;
  return settingsPage(place, {
    at: "actions/variables",
    title: "Variables",
    async show(view) {
      const { params, call } = view;
      const { body, total } = await call(list, { params, query: toWindow(view) });
      return (
        <>
          <p className="quiet">Jobs get them as vars.NAME.</p>
          <Entries
            view={view}
            label="Variables"
            empty="No variables."
            total={total}
            entries={body.map(({ name, data, description }) => ({
              key: name,
              name: <code>{name}</code>,
              note: description,
              tools: (
                <>
                  <ActionMenu
                    name="Value, change"
                    view={view}
                    action="edit"
                    submit="Save variable"
                    fields={fields}
                    values={{ name, value: data, description }}
                    hidden={{ was: name }}
                  />
                  <DeleteEntry view={view} hidden={{ name }} submit={`Delete ${name}`} />
                </>
              ),
            }))}
          />
          <h3>Add a variable</h3>
          <ActionForm view={view} action="create" submit="Add variable" fields={fields} />
        </>
      );
    },
    actions: {
      async create(request) {
        const params = { ...request.params, variablename: readText(request, "name") };
        await request.call(create, { params, body: toVariable(request) });
      },
      async edit(request) {
        const params = { ...request.params, variablename: readText(request, "was") };
        const body = { ...toVariable(request), name: readText(request, "name") };
        await request.call(edit, { params, body });
      },
      async delete(request) {
        const params = { ...request.params, variablename: readText(request, "name") };
        await request.call(remove, { params });
      },
    },
  });
}

const toVariable = (request: Parameters<typeof readText>[0]) => ({
  value: (request.form.get("value") ?? "").replaceAll("\r\n", "\n"),
  description: readText(request, "description"),
});

function runnersPage<Opened>(place: SettingsPlace<Opened>, level: Level): ForgePageRoute[] {
  const { list, token, edit, delete: remove } = runnersOf[level];
  return settingsPage(place, {
    at: "actions/runners",
    title: "Runners",
    async show(view) {
      const { params, call } = view;
      const { body } = await call(list, { params, query: toWindow(view) });
      return (
        <>
          <Entries
            view={view}
            label="Runners"
            empty="No runners."
            total={body.total_count}
            entries={body.runners.map((runner) => {
              const hidden = { id: String(runner.id) };
              return {
                key: runner.id,
                name: <bdi>{runner.name}</bdi>,
                note: (
                  <>
                    <State word={runner.busy ? "busy" : runner.status} />{" "}
                    {runner.disabled ? <State word="disabled" /> : null}{" "}
                    {runner.labels.map(({ name }) => name).join(", ")}
                  </>
                ),
                tools: (
                  <>
                    <ActionForm
                      view={view}
                      action={runner.disabled ? "enable" : "disable"}
                      submit={runner.disabled ? "Enable" : "Disable"}
                      hidden={hidden}
                      isInline
                    />
                    <DeleteEntry view={view} hidden={hidden} submit={`Delete ${runner.name}`} />
                  </>
                ),
              };
            })}
          />
          <h3>Add a runner</h3>
          <p className="quiet">A runner registers itself with the token of this place.</p>
          <div className="actions">
            <ActionForm view={view} action="token" submit="Show the token" isInline />
            <ActionForm view={view} action="renew" submit="Renew the token" isInline />
          </div>
        </>
      );
    },
    actions: {
      token: ({ call, params }) => showToken(call(token, { params })),
      renew: ({ call, params }) => showToken(call(token, { params, query: { renew: "true" } })),
      enable: (request) => setDisabled(request, false),
      disable: (request) => setDisabled(request, true),
      async delete(request) {
        await request.call(remove, { params: ofRunner(request) });
      },
    },
  });

  async function setDisabled(request: Parameters<typeof ofRunner>[0], disabled: boolean) {
    await request.call(edit, { params: ofRunner(request), body: { disabled } });
  }
}

const ofRunner = (request: Parameters<typeof readText>[0]) => ({
  ...request.params,
  runner_id: readText(request, "id"),
});

async function showToken(answer: Promise<{ readonly body: { readonly token: string } }>) {
  const { body } = await answer;
  return { secret: { title: "Registration token", value: body.token } };
}
