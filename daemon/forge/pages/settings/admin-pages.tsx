import { adminActionEndpoints } from "../../../contract/forge/actions/actions.ts";
import { adminUserEndpoints } from "../../../contract/forge/accounts/admin-users.ts";
import { adminOrgEndpoints } from "../../../contract/forge/accounts/orgs.ts";
import { twoFactorEndpoints } from "../../../contract/forge/accounts/two-factor.ts";
import { adminCronEndpoints } from "../../../contract/forge/cron.ts";
import { instanceSettingsEndpoints } from "../../../contract/forge/instance-settings.ts";
import { versionEndpoints } from "../../../contract/forge/version.ts";
import { repositoryListEndpoints } from "../../../contract/forge/repositories/lists.ts";
import { Facts, State, Tabs, Time, toBytesText } from "../../../pages/elements.tsx";
import { SearchForm } from "../../../pages/form.tsx";
import { get, toPath } from "../../../pages/page.ts";
import { notFound } from "../../refusals.ts";
import { UserLink } from "../elements.tsx";
import type { ForgePageRoute } from "../forge-page.ts";
import { hookPages } from "./hook-pages.tsx";
import { levelPages } from "./level-pages.tsx";
import {
  ActionForm,
  ActionMenu,
  DeleteEntry,
  Entries,
  readFlag,
  readFlags,
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

export const ADMINISTRATION = "/-/admin";
/** People with the accounts of both APIs, on a page that gets the cookies of both sites. */
const PEOPLE = "/vault/admin/people";

const sections = [
  ["users", "Users"],
  ["orgs", "Organizations"],
  ["repos", "Repositories"],
  ["hooks", "Webhooks"],
  ["actions/jobs", "Jobs"],
  ["actions/runners", "Runners"],
  ["actions/secrets", "Secrets"],
  ["actions/variables", "Variables"],
  ["cron", "Tasks"],
  ["system", "System"],
] as const;

/** The instance, for its administrators. */
const ofInstance: SettingsPlace<string> = {
  base: ADMINISTRATION,
  async open({ session, context }) {
    if (!session.caller.user.isAdmin) throw notFound();
    return context.instanceName;
  },
  toName: (name) => name,
  Head: ({ opened, current }) => (
    <>
      <h1>{`Administration of ${opened}`}</h1>
      <Tabs
        label="Administration"
        tabs={[
          ...sections.map(([key, text]) => ({ key, text, href: `${ADMINISTRATION}/${key}` })),
          { key: "people", text: "People", href: PEOPLE },
        ]}
        current={current}
      />
    </>
  ),
};

/** The pages of the administration of the instance. */
export function adminPages(): ForgePageRoute[] {
  return [
    ...["", "users"].flatMap((at) =>
      settingsPage(ofInstance, {
        at,
        tab: "users",
        title: "Users",
        show: showUsers,
        actions: {
          create: createUser,
          edit: editUser,
          resetFactor: async (request) =>
            void (await request.call(twoFactorEndpoints.resetUserTwoFactor, {
              params: ofUser(request),
            })),
          delete: async (request) =>
            void (await request.call(adminUserEndpoints.deleteUser, { params: ofUser(request) })),
        },
      }),
    ),
    ...settingsPage(ofInstance, { at: "orgs", title: "Organizations", show: showOrganizations }),
    ...settingsPage(ofInstance, { at: "repos", title: "Repositories", show: showRepositories }),
    ...settingsPage(ofInstance, {
      at: "actions/jobs",
      title: "Jobs",
      show: showJobs,
    }),
    ...settingsPage(ofInstance, {
      at: "cron",
      title: "Scheduled tasks",
      show: showTasks,
      actions: {
        async run(request) {
          const params = { task: readText(request, "task") };
          await request.call(adminCronEndpoints.runCronTask, { params });
        },
      },
    }),
    ...settingsPage(ofInstance, { at: "system", title: "System", show: showSystem }),
    get(`${ADMINISTRATION}/people`, async () => ({ kind: "redirect", to: PEOPLE })),
    ...hookPages(ofInstance, "instance"),
    ...levelPages(ofInstance, "instance"),
  ];
}

const ofUser = (request: Request) => ({ username: readText(request, "user") });

const userFlags = {
  active: { label: "Active", type: "check" },
  admin: { label: "Administrator", type: "check" },
  restricted: { label: "Restricted: sees only what it is a member of", type: "check" },
  prohibit_login: { label: "May not sign in", type: "check" },
} as const satisfies Record<string, SettingsField>;

async function showUsers(view: View<string>) {
  const q = view.context.request.query.get("q") ?? "";
  const { body: users, total } = await view.call(adminUserEndpoints.listUsers, {
    query: { ...toWindow(view), q },
  });
  return (
    <>
      <SearchForm label="Search users" query={q} />
      <Entries
        view={view}
        label="Users"
        empty="No users."
        total={total}
        entries={users.map((user) => {
          const hidden = { user: user.login };
          return {
            key: user.id,
            name: <UserLink user={user} />,
            note: (
              <>
                {user.email} {user.is_admin ? <State word="administrator" /> : null}{" "}
                {user.active ? null : <State word="inactive" />}{" "}
                {user.prohibit_login ? <State word="may not sign in" /> : null}
              </>
            ),
            tools: (
              <>
                <ActionMenu
                  name="Edit"
                  view={view}
                  action="edit"
                  submit={`Save ${user.login}`}
                  fields={{
                    full_name: { label: "Full name", isOptional: true, max: 100 },
                    email: { label: "E-mail address", type: "email", max: 254 },
                    password: { label: "New password", type: "password", isOptional: true },
                    ...userFlags,
                  }}
                  values={{ ...user, admin: user.is_admin }}
                  hidden={hidden}
                />
                <ActionMenu
                  name="Second factor"
                  view={view}
                  action="resetFactor"
                  submit="Turn the second factor off"
                  hidden={hidden}
                />
                <DeleteEntry view={view} hidden={hidden} submit={`Delete ${user.login}`} />
              </>
            ),
          };
        })}
      />
      <ActionMenu
        name="New user"
        view={view}
        action="create"
        submit="Create user"
        tone="primary"
        fields={{
          username: { label: "Name", max: 40 },
          email: { label: "E-mail address", type: "email", max: 254 },
          password: { label: "Password", type: "password", max: 255 },
          must_change_password: { label: "Must change it at the first sign-in", type: "check" },
        }}
        values={{ must_change_password: true }}
      />
    </>
  );
}

async function createUser(request: Request): Promise<void> {
  await request.call(adminUserEndpoints.createUser, {
    body: {
      username: readText(request, "username"),
      email: readText(request, "email"),
      password: request.form.get("password") ?? "",
      must_change_password: readFlag(request, "must_change_password"),
    },
  });
}

async function editUser(request: Request): Promise<void> {
  const password = request.form.get("password") ?? "";
  await request.call(adminUserEndpoints.editUser, {
    params: ofUser(request),
    body: {
      login_name: readText(request, "user"),
      email: readText(request, "email"),
      full_name: readText(request, "full_name"),
      ...(password === "" ? {} : { password }),
      ...readFlags(request, Object.keys(userFlags)),
    },
  });
}

async function showOrganizations(view: View<string>) {
  const { body: organizations, total } = await view.call(adminOrgEndpoints.listOrganizations, {
    query: toWindow(view),
  });
  return (
    <Entries
      view={view}
      label="Organizations"
      empty="No organizations."
      total={total}
      entries={organizations.map(({ id, username, visibility, description }) => ({
        key: id,
        name: <a href={toPath(username)}>{username}</a>,
        note: `${visibility} ${description}`,
        tools: <a href={toPath("org", username, "settings")}>Settings</a>,
      }))}
    />
  );
}

async function showRepositories(view: View<string>) {
  const q = view.context.request.query.get("q") ?? "";
  const { body, total } = await view.call(repositoryListEndpoints.searchRepositories, {
    query: { ...toWindow(view), q },
  });
  return (
    <>
      <SearchForm label="Search repositories" query={q} />
      <Entries
        view={view}
        label="Repositories"
        empty="No repositories."
        total={total}
        entries={body.data.map((repository) => ({
          key: repository.id,
          name: (
            <a href={toPath(repository.owner.login, repository.name)}>{repository.full_name}</a>
          ),
          note: repository.private ? "private" : "public",
          tools: <a href={toPath(repository.owner.login, repository.name, "settings")}>Settings</a>,
        }))}
      />
    </>
  );
}

async function showJobs(view: View<string>) {
  const { body } = await view.call(adminActionEndpoints.listJobs, { query: toWindow(view) });
  return (
    <Entries
      view={view}
      label="Jobs"
      empty="No jobs of workflows."
      total={body.total_count}
      entries={body.jobs.map((job) => ({
        key: job.id,
        name: <a href={new URL(job.html_url).pathname}>{job.name}</a>,
        note: (
          <>
            <State word={job.conclusion ?? job.status} /> {toRepositoryName(job.html_url)} ·{" "}
            {job.labels.join(", ")}
          </>
        ),
      }))}
    />
  );
}

/** `owner/name` of the address of a page of a repository. */
const toRepositoryName = (url: string) =>
  new URL(url).pathname.split("/").slice(-7, -5).map(decodeURIComponent).join("/");

async function showTasks(view: View<string>) {
  const { body: tasks, total } = await view.call(adminCronEndpoints.listCronTasks, {
    query: toWindow(view),
  });
  return (
    <Entries
      view={view}
      label="Scheduled tasks"
      empty="No tasks."
      total={total}
      entries={tasks.map((task) => ({
        key: task.name,
        name: <code>{task.name}</code>,
        note: (
          <>
            {task.schedule} · next <Time at={task.next} /> · ran {task.exec_times} times
          </>
        ),
        tools: (
          <ActionForm
            view={view}
            action="run"
            submit={`Run ${task.name} now`}
            hidden={{ task: task.name }}
            isInline
          />
        ),
      }))}
    />
  );
}

/** What the instance is and holds. Its health is that of `croft doctor`, which reads files and processes. */
async function showSystem({ call, context }: View<string>) {
  const query = { limit: "1" };
  const { body: api } = await call(instanceSettingsEndpoints.getApiSettings);
  const { body: attachments } = await call(instanceSettingsEndpoints.getAttachmentSettings);
  const users = await call(adminUserEndpoints.listUsers, { query });
  const organizations = await call(adminOrgEndpoints.listOrganizations, { query });
  const repositories = await call(repositoryListEndpoints.searchRepositories, { query });
  const jobs = await call(adminActionEndpoints.listJobs, { query });
  const { body: running } = await call(versionEndpoints.forgeVersion);
  return (
    <>
      <Facts
        rows={[
          ["Version", running.version],
          ["Address", context.publicUrl()],
          ["Users", users.total],
          ["Organizations", organizations.total],
          ["Repositories", repositories.total],
          ["Jobs of workflows", jobs.body.total_count],
          ["Entries of a page of a list", `${api.default_paging_num} to ${api.max_response_items}`],
          ["Largest file of an answer as JSON", toBytesText(api.default_max_blob_size)],
          ["Files of a comment", `${attachments.max_files}, of ${attachments.max_size} MiB each`],
        ]}
      />
      <p>Checks of the machine, of storage and of backups, on the server:</p>
      <p>
        <code data-copy="">croft doctor</code>
      </p>
    </>
  );
}
