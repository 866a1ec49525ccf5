import { repositoryAvatarEndpoints } from "../../../contract/forge/repositories/avatars.ts";
import { branchEndpoints } from "../../../contract/forge/code/branches.ts";
import { collaboratorEndpoints } from "../../../contract/forge/repositories/collaborators.ts";
import {
  repositoryEndpoints,
  type WireRepository,
} from "../../../contract/forge/repositories/repositories.ts";
import { organizationEndpoints } from "../../../contract/forge/organizations/organizations.ts";
import { mergeStyles } from "../../../contract/forge/repositories/settings.ts";
import { transferEndpoints } from "../../../contract/forge/repositories/transfers.ts";
import { AppError } from "../../../errors.ts";
import { Tabs } from "../../../pages/elements.tsx";
import { toPath } from "../../../pages/page.ts";
import { notFound } from "../../refusals.ts";
import type { ForgePageRoute } from "../forge-page.ts";
import { findRefusal } from "../forge-page.ts";
import { loadHead, RepositoryHead } from "../repository-head.tsx";
import { hookPages } from "./hook-pages.tsx";
import { levelPages } from "./level-pages.tsx";
import { picturePage } from "./picture-pages.tsx";
import { accessPages } from "./repository-access.tsx";
import { protectionPages } from "./protection-pages.tsx";
import {
  ActionForm,
  ActionMenu,
  readFlags,
  readText,
  readTexts,
  type SettingsField,
} from "./settings-form.tsx";
import { type Request, settingsPage, type SettingsPlace, type View } from "./settings-page.tsx";

/** The settings of a repository, for its administrators. */
const ofRepository: SettingsPlace<WireRepository> = {
  base: "/:owner/:repo/settings",
  async open({ context, params }) {
    const repository = await loadHead(context, toRepository(params));
    if (repository.permissions?.admin !== true) throw notFound();
    return repository;
  },
  toName: ({ full_name: name }) => name,
  Head: ({ opened, current }) => {
    const home = toPath(opened.owner.login, opened.name, "settings");
    return (
      <>
        <RepositoryHead repository={opened} current="settings" />
        <Tabs
          label="Settings"
          tabs={sections.map(([key, text]) => ({
            key,
            text,
            href: key === "" ? home : `${home}/${key}`,
          }))}
          current={current}
        />
      </>
    );
  },
};

/** A repository that is offered to a new owner, for those who may read it. */
const ofOffer: SettingsPlace<WireRepository> = {
  base: "/:owner/:repo/transfer",
  async open({ context, params }) {
    const repository = await loadHead(context, toRepository(params));
    if (repository.repo_transfer === undefined) throw notFound();
    return repository;
  },
  toName: ({ full_name: name }) => name,
  Head: ({ opened }) => <RepositoryHead repository={opened} current="settings" />,
};

/** The answer is that of the recipient, or of an owner of the organization that receives. */
async function showOffer(view: View<WireRepository>) {
  const { opened, session, call } = view;
  const recipient = opened.repo_transfer?.recipient.login ?? "";
  const me = session.caller.user.name;
  let mayAnswer = recipient === me;
  await findRefusal(["not_found"], async () => {
    const { body } = await call(organizationEndpoints.getOrganizationPermissions, {
      params: { username: me, org: recipient },
    });
    mayAnswer ||= body.is_owner;
  });
  return (
    <>
      <p>{`${opened.repo_transfer?.doer.login} offers this repository to ${recipient}.`}</p>
      {mayAnswer ? (
        <>
          <ActionForm view={view} action="accept" submit="Accept the repository" tone="primary" />
          <ActionForm view={view} action="reject" submit="Reject it" />
        </>
      ) : null}
    </>
  );
}

const sections = [
  ["", "General"],
  ["avatar", "Picture"],
  ["collaboration", "Collaborators"],
  ["branches", "Branches"],
  ["tags", "Tags"],
  ["hooks", "Webhooks"],
  ["keys", "Deploy keys"],
  ["actions/secrets", "Secrets"],
  ["actions/variables", "Variables"],
  ["actions/runners", "Runners"],
] as const;

/** The pages of the settings of a repository. */
export function repositorySettingsPages(): ForgePageRoute[] {
  return [
    ...settingsPage(ofRepository, {
      at: "",
      title: "Settings",
      show: showGeneral,
      actions: {
        update,
        features: (request) => edit(request, readFlags(request, Object.keys(features))),
        merging: (request) =>
          edit(request, {
            ...readFlags(request, Object.keys(merging)),
            default_merge_style: readText(request, "default_merge_style"),
          }),
        archive: (request) => edit(request, { archived: true }),
        unarchive: (request) => edit(request, { archived: false }),
        transfer,
        withdraw,
        delete: remove,
      },
    }),
    ...picturePage(ofRepository, {
      load: async ({ opened }) => opened.avatar_url,
      set: ({ call, params }, image) =>
        call(repositoryAvatarEndpoints.setRepositoryAvatar, { params, body: { image } }),
      remove: ({ call, params }) =>
        call(repositoryAvatarEndpoints.deleteRepositoryAvatar, { params }),
      isFixed: ({ archived }) => archived,
    }),
    ...settingsPage(ofOffer, {
      at: "",
      title: "Transfer",
      show: showOffer,
      actions: {
        accept: async ({ call, params }) => {
          const { body } = await call(transferEndpoints.acceptTransfer, { params });
          return { to: toPath(body.owner.login, body.name) };
        },
        reject: async (request) => {
          await withdraw(request);
          return { to: "/" };
        },
      },
    }),
    ...accessPages(ofRepository),
    ...protectionPages(ofRepository),
    ...hookPages(ofRepository, "repository"),
    ...levelPages(ofRepository, "repository"),
  ];
}

const toRepository = ({ owner = "", repo = "" }: Request["params"]) => ({ owner, repo });

const features = {
  has_code: { label: "Code", type: "check" },
  has_issues: { label: "Issues", type: "check" },
  has_pull_requests: { label: "Pull requests", type: "check" },
  has_releases: { label: "Releases", type: "check" },
  has_packages: { label: "Packages", type: "check" },
  has_wiki: { label: "Wiki", type: "check" },
  has_actions: { label: "Actions", type: "check" },
} as const satisfies Record<string, SettingsField>;

const merging = {
  allow_merge_commits: { label: "Merge commit", type: "check" },
  allow_rebase: { label: "Rebase, then fast-forward", type: "check" },
  allow_rebase_explicit: { label: "Rebase, then merge commit", type: "check" },
  allow_squash_merge: { label: "Squash", type: "check" },
  allow_fast_forward_only_merge: { label: "Fast-forward only", type: "check" },
  allow_manual_merge: { label: "Merged by hand", type: "check" },
  allow_rebase_update: { label: "Update of a pull request by rebase", type: "check" },
  default_delete_branch_after_merge: { label: "Delete the branch after the merge", type: "check" },
  default_allow_maintainer_edit: { label: "Maintainers may edit pull requests", type: "check" },
} as const satisfies Record<string, SettingsField>;

async function showGeneral(view: View<WireRepository>) {
  const { opened: repository, call, params, session } = view;
  if (repository.archived)
    return (
      <>
        <p className="notice">The repository is archived: nobody can change it.</p>
        <ActionForm view={view} action="unarchive" submit="Unarchive" />
        {(await isOwner(view)) ? <DeleteMenu view={view} /> : null}
      </>
    );
  const branches = repository.empty
    ? []
    : (await call(branchEndpoints.listBranches, { params, query: { limit: "50" } })).body;
  const names = branches.map(({ name }) => name);
  const { default_branch: branch } = repository;
  const pending = repository.repo_transfer;
  return (
    <>
      <ActionForm
        view={view}
        action="update"
        submit="Save"
        tone="primary"
        fields={{
          name: { label: "Name", max: 100 },
          description: { label: "Description", type: "multiline", isOptional: true, max: 2048 },
          website: { label: "Website", isOptional: true, max: 1024 },
          ...(names.length === 0
            ? {}
            : {
                default_branch: {
                  label: "Default branch",
                  type: "select",
                  options: names.includes(branch) ? names : [branch, ...names],
                },
              }),
          private: { label: "Private: only those who have access see it", type: "check" },
          template: { label: "Template for new repositories", type: "check" },
        }}
        values={{ ...toValues(repository), default_branch: branch }}
      />
      <h3>Features</h3>
      <ActionForm
        view={view}
        action="features"
        submit="Save features"
        fields={features}
        values={{ ...repository }}
      />
      {repository.has_pull_requests ? (
        <>
          <h3>Merging</h3>
          <ActionForm
            view={view}
            action="merging"
            submit="Save merging"
            fields={{
              ...merging,
              default_merge_style: { label: "Default", type: "select", options: mergeStyles },
            }}
            values={{ ...repository }}
          />
        </>
      ) : null}
      <h3>Archive, transfer, delete</h3>
      <ActionMenu
        name="Archive this repository"
        view={view}
        action="archive"
        submit="Archive: it becomes read-only"
        tone="danger"
      />
      {pending === undefined ? null : (
        <>
          <p>{`It is offered to ${pending.recipient.login}.`}</p>
          <ActionForm view={view} action="withdraw" submit="Withdraw the offer" />
        </>
      )}
      {(await isOwner(view)) ? (
        <>
          {pending === undefined ? (
            <ActionMenu
              name="Transfer this repository"
              view={view}
              action="transfer"
              submit="Transfer"
              tone="danger"
              fields={{
                new_owner: { label: "New owner" },
                typed: { label: `Type ${repository.full_name}` },
              }}
            />
          ) : null}
          <DeleteMenu view={view} />
        </>
      ) : null}
    </>
  );

  async function isOwner({ opened }: View<WireRepository>): Promise<boolean> {
    const { body } = await call(collaboratorEndpoints.getCollaboratorPermission, {
      params: { ...params, collaborator: session.caller.user.name },
    });
    return body.permission === "owner" || opened.owner.login === session.caller.user.name;
  }
}

function DeleteMenu({ view }: { view: View<WireRepository> }) {
  return (
    <ActionMenu
      name="Delete this repository"
      view={view}
      action="delete"
      submit="Delete it with everything in it"
      tone="danger"
      fields={{ typed: { label: `Type ${view.opened.full_name}` } }}
    />
  );
}

const toValues = (repository: WireRepository) => ({
  name: repository.name,
  description: repository.description,
  website: repository.website,
  private: repository.private,
  template: repository.template,
});

async function edit({ call, params }: Request, body: object): Promise<void> {
  await call(repositoryEndpoints.editRepository, { params, body });
}

async function update(request: Request) {
  const branch = readText(request, "default_branch");
  const { body } = await request.call(repositoryEndpoints.editRepository, {
    params: request.params,
    body: {
      ...readTexts(request, ["name", "description", "website"]),
      ...readFlags(request, ["private", "template"]),
      ...(branch === "" ? {} : { default_branch: branch }),
    },
  });
  return { to: toPath(body.owner.login, body.name, "settings") };
}

async function assertTyped(request: Request): Promise<WireRepository> {
  const repository = await loadHead(request.context, toRepository(request.params));
  if (readText(request, "typed") !== repository.full_name)
    throw new AppError("unprocessable", `Type ${repository.full_name} to confirm.`);
  return repository;
}

async function transfer(request: Request) {
  await assertTyped(request);
  const { body } = await request.call(transferEndpoints.transferRepository, {
    params: request.params,
    body: { new_owner: readText(request, "new_owner") },
  });
  return { to: toPath(body.owner.login, body.name) };
}

async function withdraw({ call, params }: Request): Promise<void> {
  await call(transferEndpoints.rejectTransfer, { params });
}

async function remove(request: Request) {
  const { owner } = await assertTyped(request);
  await request.call(repositoryEndpoints.deleteRepository, { params: request.params });
  return { to: toPath(owner.login) };
}
