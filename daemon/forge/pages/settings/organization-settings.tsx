import { avatarEndpoints } from "../../../contract/forge/accounts/avatars.ts";
import { adminOrgEndpoints } from "../../../contract/forge/accounts/orgs.ts";
import { visibilityWords } from "../../../contract/forge/common.ts";
import { memberEndpoints } from "../../../contract/forge/organizations/members.ts";
import { organizationEndpoints } from "../../../contract/forge/organizations/organizations.ts";
import { AppError } from "../../../errors.ts";
import { Tabs } from "../../../pages/elements.tsx";
import { toPath } from "../../../pages/page.ts";
import { notFound } from "../../refusals.ts";
import { UserLink } from "../elements.tsx";
import type { ForgePageRoute } from "../forge-page.ts";
import { hookPages } from "./hook-pages.tsx";
import { levelPages } from "./level-pages.tsx";
import { picturePage } from "./picture-pages.tsx";
import {
  ActionForm,
  ActionMenu,
  DeleteEntry,
  Entries,
  readFlag,
  readText,
  readTexts,
  type SettingsField,
} from "./settings-form.tsx";
import {
  type Request,
  settingsPage,
  type SettingsPlace,
  toWindow,
  type View,
} from "./settings-page.tsx";
import { type OpenedOrganization, teamPages } from "./team-pages.tsx";

const tabs = [
  ["members", "Members", false],
  ["teams", "Teams", false],
  ["settings", "Settings", true],
  ["settings/avatar", "Picture", true],
  ["settings/hooks", "Webhooks", true],
  ["settings/actions/secrets", "Secrets", true],
  ["settings/actions/variables", "Variables", true],
  ["settings/actions/runners", "Runners", true],
] as const;

async function open({ call, params, session }: Request): Promise<OpenedOrganization> {
  const { org = "" } = params;
  const { body: organization } = await call(adminOrgEndpoints.getOrganization, { params: { org } });
  const { name: username, isAdmin } = session.caller.user;
  const { body } = await call(organizationEndpoints.getOrganizationPermissions, {
    params: { username, org },
  });
  return { organization, isOwner: body.is_owner || isAdmin };
}

const common = {
  toName: ({ organization }: OpenedOrganization) => organization.username,
  Head: ({ opened, current }: { opened: OpenedOrganization; current: string }) => {
    const { username } = opened.organization;
    const home = `/org/${encodeURIComponent(username)}`;
    return (
      <>
        <h1>
          <a href={toPath(username)}>{username}</a>
        </h1>
        <Tabs
          label="Organization"
          tabs={tabs
            .filter(([, , isOwned]) => opened.isOwner || !isOwned)
            .map(([key, text]) => ({ key, text, href: `${home}/${key}` }))}
          current={current}
        />
      </>
    );
  },
};

/** The members and teams of an organization, for everybody who may see them. */
const ofOrganization: SettingsPlace<OpenedOrganization> = { ...common, base: "/org/:org", open };

/** The settings of an organization, for its owners. */
const ofOwned: SettingsPlace<OpenedOrganization> = {
  toName: common.toName,
  Head: ({ opened, current }) => (
    <common.Head opened={opened} current={current === "" ? "settings" : `settings/${current}`} />
  ),
  base: "/org/:org/settings",
  async open(request) {
    const opened = await open(request);
    if (!opened.isOwner) throw notFound();
    return opened;
  },
};

/** The pages of organizations: members, teams and settings. */
export function organizationPages(): ForgePageRoute[] {
  return [
    ...settingsPage(ofOrganization, {
      at: "members",
      title: "Members",
      show: showMembers,
      actions: {
        async show(request) {
          await request.call(memberEndpoints.publicizeMember, { params: ofMember(request) });
        },
        async hide(request) {
          await request.call(memberEndpoints.concealMember, { params: ofMember(request) });
        },
        async delete(request) {
          await request.call(memberEndpoints.deleteMember, { params: ofMember(request) });
        },
      },
    }),
    ...teamPages(ofOrganization),
    ...settingsPage(ofOwned, {
      at: "",
      title: "Settings",
      show: showSettings,
      actions: { update, rename, delete: remove },
    }),
    ...picturePage(ofOwned, {
      load: async ({ opened }) => opened.organization.avatar_url,
      set: ({ call, params }, image) =>
        call(avatarEndpoints.setOrganizationAvatar, { params, body: { image } }),
      remove: ({ call, params }) => call(avatarEndpoints.deleteOrganizationAvatar, { params }),
    }),
    ...hookPages(ofOwned, "organization"),
    ...levelPages(ofOwned, "organization"),
  ];
}

const ofMember = (request: Request) => ({ ...request.params, member: readText(request, "member") });

async function showMembers(view: View<OpenedOrganization>) {
  const { call, params, session, opened } = view;
  const { body: members, total } = await call(memberEndpoints.listMembers, {
    params,
    query: toWindow(view),
  });
  const { body: shown } = await call(memberEndpoints.listPublicMembers, {
    params,
    query: { limit: "50" },
  });
  const publicNames = new Set(shown.map(({ login }) => login));
  return (
    <Entries
      view={view}
      label="Members"
      empty="No members that you may see."
      total={total}
      entries={members.map((user) => {
        const isSelf = user.login === session.caller.user.name;
        const isPublic = publicNames.has(user.login);
        const hidden = { member: user.login };
        return {
          key: user.id,
          name: <UserLink user={user} />,
          note: isPublic ? "public" : "hidden",
          tools:
            isSelf || opened.isOwner ? (
              <>
                <ActionForm
                  view={view}
                  action={isPublic ? "hide" : "show"}
                  submit={isPublic ? "Hide" : "Make public"}
                  hidden={hidden}
                  isInline
                />
                <DeleteEntry
                  view={view}
                  hidden={hidden}
                  name={isSelf ? "Leave" : "Remove"}
                  submit={isSelf ? "Leave the organization" : `Remove ${user.login}`}
                />
              </>
            ) : undefined,
        };
      })}
    />
  );
}

const texts = {
  full_name: { label: "Full name", isOptional: true, max: 100 },
  description: { label: "Description", type: "multiline", isOptional: true, max: 255 },
  email: { label: "E-mail address", type: "email", isOptional: true, max: 255 },
  website: { label: "Website", isOptional: true, max: 255 },
  location: { label: "Location", isOptional: true, max: 50 },
  visibility: { label: "Visible to", type: "select", options: visibilityWords },
} as const satisfies Record<string, SettingsField>;

async function showSettings(view: View<OpenedOrganization>) {
  const { organization } = view.opened;
  const typed = { label: `Type ${organization.username}` };
  return (
    <>
      <ActionForm
        view={view}
        action="update"
        submit="Save"
        tone="primary"
        fields={{
          ...texts,
          repo_admin_change_team_access: {
            label: "Administrators of a repository choose its teams",
            type: "check",
          },
        }}
        values={organization}
      />
      <h3>Rename, delete</h3>
      <ActionMenu
        name="Rename this organization"
        view={view}
        action="rename"
        submit="Rename"
        fields={{ new_name: { label: "New name", max: 40 } }}
      />
      <ActionMenu
        name="Delete this organization"
        view={view}
        action="delete"
        submit="Delete it"
        tone="danger"
        fields={{ typed }}
      />
    </>
  );
}

async function update(request: Request): Promise<void> {
  await request.call(organizationEndpoints.editOrganization, {
    params: request.params,
    body: {
      ...readTexts(request, Object.keys(texts)),
      repo_admin_change_team_access: readFlag(request, "repo_admin_change_team_access"),
    },
  });
}

async function rename(request: Request) {
  const name = readText(request, "new_name");
  const body = { new_name: name };
  await request.call(organizationEndpoints.renameOrganization, { params: request.params, body });
  return { to: toPath("org", name, "settings") };
}

async function remove(request: Request) {
  const { params } = request;
  if (readText(request, "typed") !== params["org"])
    throw new AppError("unprocessable", "Type the name of the organization to confirm.");
  await request.call(organizationEndpoints.deleteOrganization, { params });
  return { to: "/" };
}
