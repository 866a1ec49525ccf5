import { organizationEndpoints } from "../../../contract/forge/organizations/organizations.ts";
import { adminOrgEndpoints } from "../../../contract/forge/accounts/orgs.ts";
import { visibilityWords } from "../../../contract/forge/common.ts";
import { newRepositoryEndpoints } from "../../../contract/forge/repositories/new-repositories.ts";
import { templateEndpoints } from "../../../contract/forge/templates.ts";
import { toPath } from "../../../pages/page.ts";
import type { ForgePageRoute } from "../forge-page.ts";
import { ActionForm, readFlags, readText, readTexts } from "./settings-form.tsx";
import { type Request, settingsPage, type SettingsPlace, type View } from "./settings-page.tsx";

const place = (base: string, heading: string): SettingsPlace<string> => ({
  base,
  open: async ({ session }) => session.caller.user.name,
  toName: (name) => name,
  Head: () => <h1>{heading}</h1>,
});

/** The forms for a new repository and a new organization. */
export function newPages(): ForgePageRoute[] {
  return [
    ...settingsPage(place("/repo/create", "New repository"), {
      at: "",
      title: "Repository",
      show: showRepositoryForm,
      actions: { create: createRepository },
    }),
    ...settingsPage(place("/org/create", "New organization"), {
      at: "",
      title: "Organization",
      show: showOrganizationForm,
      actions: { create: createOrganization },
    }),
  ];
}

async function showRepositoryForm(view: View<string>) {
  const { call, opened: name } = view;
  const { body: orgs } = await call(adminOrgEndpoints.listOwnOrganizations, {
    query: { limit: "50" },
  });
  const { body: ignores } = await call(templateEndpoints.listGitignoreTemplates);
  const { body: licenses } = await call(templateEndpoints.listLicenseTemplates);
  return (
    <ActionForm
      view={view}
      action="create"
      submit="Create repository"
      tone="primary"
      fields={{
        owner: {
          label: "Owner",
          type: "select",
          options: [name, ...orgs.map(({ username }) => username)],
        },
        name: { label: "Name", max: 100 },
        description: { label: "Description", isOptional: true, max: 2048 },
        private: { label: "Private: only those who have access see it", type: "check" },
        auto_init: { label: "Begin with a commit", type: "check" },
        gitignores: {
          label: "Ignored files, in the first commit",
          type: "select",
          options: [["", "none"], ...ignores],
        },
        license: {
          label: "License, in the first commit",
          type: "select",
          options: [["", "none"], ...licenses.map(({ key }) => key)],
        },
        default_branch: { label: "Default branch", isOptional: true, max: 100 },
      }}
      values={{ owner: view.context.request.query.get("org") ?? name, default_branch: "main" }}
    />
  );
}

async function createRepository(request: Request) {
  const owner = readText(request, "owner");
  const body = {
    ...readTexts(request, ["name", "description", "gitignores", "license", "default_branch"]),
    ...readFlags(request, ["private", "auto_init"]),
  };
  const isOwn = owner === "" || owner === request.session.caller.user.name;
  const { body: made } = isOwn
    ? await request.call(newRepositoryEndpoints.createOwnRepository, { body })
    : await request.call(newRepositoryEndpoints.createOrganizationRepository, {
        params: { org: owner },
        body,
      });
  return { to: toPath(made.owner.login, made.name) };
}

async function showOrganizationForm(view: View<string>) {
  return (
    <ActionForm
      view={view}
      action="create"
      submit="Create organization"
      tone="primary"
      fields={{
        username: { label: "Name", max: 40 },
        full_name: { label: "Full name", isOptional: true, max: 100 },
        description: { label: "Description", isOptional: true, max: 255 },
        visibility: { label: "Visible to", type: "select", options: visibilityWords },
      }}
      values={{ visibility: "public" }}
    />
  );
}

async function createOrganization(request: Request) {
  const names = ["username", "full_name", "description", "visibility"];
  const body = readTexts(request, names);
  const { body: made } = await request.call(organizationEndpoints.createOwnOrganization, { body });
  return { to: toPath(made.username) };
}
