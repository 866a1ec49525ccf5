import {
  mirrorEndpoints,
  type WireImport,
  type WirePullMirror,
} from "../../contract/forge/repositories/mirrors.ts";
import { Alert, Time } from "../../pages/elements.tsx";
import { declareForm } from "../../pages/form.tsx";
import { get, post, toPath } from "../../pages/page.ts";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  formRefusals,
  type RepositoryParams,
  toSentence,
  toSignIn,
} from "./forge-page.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

const ADDRESS = "/repo/migrate";

const text = { type: "text", isTrimmed: true, autoCapitalize: "none" } as const;

const importForm = declareForm({
  action: ADDRESS,
  submit: "Import",
  fields: {
    clone_addr: {
      ...text,
      label: "Address",
      lengthMax: 2048,
      placeholder: "https://example.org/mira/notes.git",
    },
    repo_owner: {
      ...text,
      label: "Organization, or empty for your own account",
      isOptional: true,
      lengthMax: 40,
    },
    repo_name: { ...text, label: "Name here", lengthMax: 100 },
    service: {
      ...text,
      label:
        "What runs there: git, gitea, forgejo or github; issues and releases come from the last three",
      isOptional: true,
      lengthMax: 10,
    },
    auth_username: {
      ...text,
      label: "Your name there, for a private repository",
      isOptional: true,
      lengthMax: 255,
      autoComplete: "off",
    },
    auth_password: {
      label: "Password or token there",
      type: "password",
      isOptional: true,
      lengthMax: 2048,
      autoComplete: "off",
    },
    mirror: {
      label: "Follow it as a mirror, which takes no pushes",
      type: "check",
      isOptional: true,
    },
    private: { label: "Private", type: "check", isOptional: true },
    everything: {
      label: "Issues, pull requests, releases, wiki and Git LFS files as well",
      type: "check",
      isOptional: true,
    },
  },
});

/** The form that imports a repository, and the state of an import or a mirror. */
export function importPages(): ForgePageRoute[] {
  return [
    get(ADDRESS, async (context) => showForm(context)),
    post(ADDRESS, importRepository),
    get("/:owner/:repo/import", showState),
  ];
}

function showForm({ session, form }: ForgePageContext, failed?: string): ForgePageAnswer {
  if (session === undefined) return toSignIn(ADDRESS);
  return {
    kind: "page",
    title: "Import a repository",
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <h1>Import a repository</h1>
        <importForm.Form
          token={session.formToken}
          values={failed === undefined ? { service: "git" } : importForm.read(form)}
          failed={failed === undefined ? undefined : { text: failed }}
        />
      </>
    ),
  };
}

async function importRepository(context: ForgePageContext): Promise<ForgePageAnswer> {
  const { call, form, session } = context;
  if (session === undefined) return toSignIn(ADDRESS);
  const {
    everything,
    mirror,
    private: isPrivate,
    auth_password: secret,
    ...fields
  } = importForm.read(form);
  const isAll = everything === "yes";
  const isPlain = ["", "git"].includes(fields.service.toLowerCase());
  const hasIssues = isAll && !isPlain && mirror !== "yes";
  // Without a name it is a token.
  const credentials =
    fields.auth_username === "" ? { auth_token: secret } : { auth_password: secret };
  let to = "";
  const refusal = await findRefusal(formRefusals, async () => {
    const body = {
      ...fields,
      ...credentials,
      mirror: mirror === "yes",
      private: isPrivate === "yes",
      issues: hasIssues,
      pull_requests: hasIssues,
      releases: hasIssues,
      wiki: isAll,
      lfs: isAll && mirror !== "yes",
    };
    const made = (await call(mirrorEndpoints.migrateRepository, { body })).body;
    const hasJob = hasIssues || body.lfs;
    to = toPath(made.owner.login, made.name, ...(hasJob ? ["import"] : []));
  });
  return refusal === undefined ? { kind: "redirect", to } : showForm(context, toSentence(refusal));
}

async function showState(
  context: ForgePageContext,
  params: RepositoryParams,
): Promise<ForgePageAnswer> {
  const repository = await loadHead(context, params);
  const isAdministrator = repository.permissions?.admin === true;
  const { call } = context;
  const mirror =
    repository.mirror && isAdministrator
      ? (await call(mirrorEndpoints.getPullMirror, { params })).body
      : undefined;
  const found = repository.mirror
    ? undefined
    : (await call(mirrorEndpoints.getImport, { params })).body;
  return {
    kind: "page",
    title: `Import of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        {mirror === undefined ? null : <MirrorState mirror={mirror} />}
        {found === undefined ? null : <ImportState found={found} />}
      </>
    ),
  };
}

function MirrorState({ mirror }: { mirror: WirePullMirror }) {
  return (
    <>
      <Alert text={mirror.last_error === "" ? undefined : `It failed: ${mirror.last_error}.`} />
      <p>
        Compared every {mirror.interval}
        {mirror.last_sync_at === null ? null : (
          <>
            , last <Time at={mirror.last_sync_at} />
          </>
        )}
        .
      </p>
    </>
  );
}

function ImportState({ found }: { found: WireImport }) {
  return (
    <>
      <Alert text={found.error === "" ? undefined : `It failed: ${found.error}.`} />
      <p>
        The import is {found.state}. Changed <Time at={found.updated_at} />.
      </p>
      <ul className="list">
        {found.parts.map(({ name, imported, total, skipped }) => (
          <li key={name}>
            {name.replace("_", " ")}: {imported}
            {total === null ? "" : ` of ${total}`}
            {skipped === 0 ? "" : `, ${skipped} left out`}
          </li>
        ))}
      </ul>
    </>
  );
}
