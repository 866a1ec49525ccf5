import { releaseAssetEndpoints } from "../../contract/forge/releases/assets.ts";
import { releaseEndpoints, type WireRelease } from "../../contract/forge/releases/releases.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { Menu } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { get, post, toFolderPath, toPath } from "../../pages/page.ts";
import { notFound } from "../refusals.ts";
import { attachFiles } from "./attach-files.ts";
import {
  findRefusal,
  formRefusals,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type RepositoryParams,
  toSentence,
  toSignIn,
} from "./forge-page.ts";
import { loadRefs } from "./ref-menu.tsx";
import { loadHead, mayChangeCode, RepositoryHead } from "./repository-head.tsx";
import {
  FilePicker,
  readText,
  renderComment,
  type ShownForm,
  TextButtons,
  TextField,
} from "./texts.tsx";

export type TagParams = RepositoryParams & { readonly tag: string };

/** The forms that write, change and delete a release. */
export function releaseFormPages(): ForgePageRoute[] {
  const files = { takesFiles: true } as const;
  return [
    get("/:owner/:repo/releases/new", (context, params) => showForm(context, params)),
    post("/:owner/:repo/releases/new", save, files),
    post("/:owner/:repo/releases/new/preview", preview, files),
    post("/:owner/:repo/releases/new/notes", generate, files),
    get("/:owner/:repo/releases/edit/**:tag", (context, params) => showForm(context, params)),
    post("/:owner/:repo/releases/edit/**:tag", save, files),
    post("/:owner/:repo/releases/delete/**:tag", remove),
    post("/:owner/:repo/releases/delete-file/**:tag", removeFile),
  ];
}

/** Parameters of both kinds of addresses; a new release has no tag. */
type FormParams = RepositoryParams & { readonly tag?: string };

/** What the form has, as texts. */
interface Values {
  readonly tag: string;
  readonly target: string;
  readonly name: string;
  readonly body: string;
  readonly draft: boolean;
  readonly prerelease: boolean;
}

const readValues = (context: ForgePageContext): Values => {
  const of = (name: string) => (context.form.get(name) ?? "").trim();
  return {
    tag: of("tag"),
    target: of("target"),
    name: of("name"),
    body: readText(context),
    draft: of("draft") === "yes",
    prerelease: of("prerelease") === "yes",
  };
};

/** Returns the release that a form changes. A draft has no tag yet, so it is in the list only. */
async function findRelease(
  { call }: ForgePageContext,
  { owner, repo, tag = "" }: FormParams,
): Promise<WireRelease> {
  const params = { owner, repo };
  const query = { draft: "true", limit: "50" };
  const { body: drafts } = await call(releaseEndpoints.listReleases, { params, query });
  const draft = drafts.find((each) => each.tag_name === tag);
  if (draft !== undefined) return draft;
  return (await call(releaseEndpoints.getReleaseByTag, { params: { owner, repo, tag } })).body;
}

async function openRepository(context: ForgePageContext, params: FormParams) {
  const repository = await loadHead(context, params);
  if (!mayChangeCode(repository)) throw notFound();
  return repository;
}

async function showForm(
  context: ForgePageContext,
  params: FormParams,
  shown?: ShownForm & { readonly values?: Values },
): Promise<ForgePageAnswer> {
  const { request, session } = context;
  if (session === undefined) return toSignIn(request.target);
  const repository = await openRepository(context, params);
  const release = params.tag === undefined ? undefined : await findRelease(context, params);
  const values =
    shown?.values ?? (release === undefined ? toNew(context, repository) : toValues(release));
  const { branches, tags } = await loadRefs(context, params);
  const home = `${toPath(params.owner, params.repo)}/releases`;
  const title = release === undefined ? "New release" : `Edit ${release.tag_name}`;
  return {
    kind: "page",
    title: `${title} in ${repository.full_name}`,
    ...(shown?.failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="releases" />
        <h2>{title}</h2>
        <Form
          action={release === undefined ? `${home}/new` : toEditPath(params, release)}
          token={session.formToken}
          className="wide"
          encType="multipart/form-data"
        >
          <label>
            Tag
            <input
              name="tag"
              required
              maxLength={255}
              list="tags"
              autoCapitalize="none"
              defaultValue={values.tag}
              readOnly={release !== undefined && !release.draft}
            />
          </label>
          <datalist id="tags">
            {tags.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          {release === undefined || release.draft ? (
            <>
              <label>
                Target: the branch or commit that a new tag names
                <input name="target" maxLength={255} list="branches" defaultValue={values.target} />
              </label>
              <datalist id="branches">
                {branches.map((name) => (
                  <option key={name} value={name} />
                ))}
              </datalist>
            </>
          ) : null}
          <label>
            Title
            <input name="name" maxLength={255} data-draft="" defaultValue={values.name} />
          </label>
          <TextField label="Notes, in Markdown" value={values.body} shown={shown} />
          {(["draft", "prerelease"] as const).map((name) => (
            <label key={name} className="check">
              <input type="checkbox" name={name} value="yes" defaultChecked={values[name]} />
              {name === "draft"
                ? "Draft: only those who may write see it, and the tag is not made"
                : "Prerelease: it never is the latest release"}
            </label>
          ))}
          <TextButtons submit="Save" preview={`${home}/new/preview`}>
            {release === undefined ? (
              <button type="submit" formAction={`${home}/new/notes`} formNoValidate>
                Write the notes from merged pull requests
              </button>
            ) : null}
          </TextButtons>
          <FilePicker />
        </Form>
        {release === undefined ? null : (
          <ReleaseFiles
            release={release}
            action={`${home}/delete-file/${toFolderPath(release.tag_name)}`}
            token={session.formToken}
          />
        )}
        {release === undefined ? null : (
          <Form
            action={`${home}/delete/${toFolderPath(release.tag_name)}`}
            token={session.formToken}
            className="after"
          >
            <input type="hidden" name="id" value={release.id} />
            <button type="submit" className="danger">
              Delete the release; its tag stays
            </button>
          </Form>
        )}
      </>
    ),
  };
}

/** The files of a release, each with the form that deletes it, which opens below its name. */
function ReleaseFiles({
  release: { id, assets },
  action,
  token,
}: {
  release: WireRelease;
  action: string;
  token: string;
}) {
  if (assets.length === 0) return null;
  return (
    <section className="after" aria-label="Files of the release">
      <h3>Files</h3>
      <ul className="list">
        {assets.map((file) => (
          <li key={file.id}>
            <bdi>{file.name}</bdi>
            <Menu name={`Delete ${file.name}`}>
              <Form action={action} token={token} className="inline">
                <input type="hidden" name="id" value={id} />
                <input type="hidden" name="file" value={file.id} />
                <button type="submit" className="danger">
                  {`Delete ${file.name} for good`}
                </button>
              </Form>
            </Menu>
          </li>
        ))}
      </ul>
    </section>
  );
}

const toNew = ({ request }: ForgePageContext, { default_branch: target }: WireRepository) => ({
  tag: request.query.get("tag") ?? "",
  target,
  name: "",
  body: "",
  draft: false,
  prerelease: false,
});

const toValues = (release: WireRelease): Values => ({
  ...release,
  tag: release.tag_name,
  target: release.target_commitish,
});

export const toEditPath = (
  { owner, repo }: RepositoryParams,
  { tag_name: tag }: Pick<WireRelease, "tag_name">,
) => `${toPath(owner, repo)}/releases/edit/${toFolderPath(tag)}`;

/** Shows the new form again with its notes as a page shows them. */
async function preview(context: ForgePageContext, params: RepositoryParams) {
  const values = readValues(context);
  const html = await renderComment(context, `${params.owner}/${params.repo}`, values.body);
  return showForm(context, params, { of: "release", values, preview: { html, text: values.body } });
}

/** Shows the new form with notes that list what was merged and closed since the previous release. */
async function generate(context: ForgePageContext, params: RepositoryParams) {
  const values = readValues(context);
  let body = values.body;
  const refusal = await findRefusal(formRefusals, async () => {
    const { body: notes } = await context.call(releaseEndpoints.generateReleaseNotes, {
      params,
      body: { tag_name: values.tag },
    });
    ({ body } = notes);
  });
  const failed = refusal && { failed: toSentence(refusal) };
  return showForm(context, params, { of: "release", values: { ...values, body }, ...failed });
}

async function save(context: ForgePageContext, params: FormParams): Promise<ForgePageAnswer> {
  const { call, session, request } = context;
  if (session === undefined) return toSignIn(request.target);
  const { owner, repo } = params;
  const values = readValues(context);
  const { tag, target, ...rest } = values;
  const body = { ...rest, tag_name: tag, ...(target === "" ? {} : { target_commitish: target }) };
  const release = params.tag === undefined ? undefined : await findRelease(context, params);
  let saved = release;
  const refusal = await findRefusal(formRefusals, async () => {
    const { body: written } =
      release === undefined
        ? await call(releaseEndpoints.createRelease, { params: { owner, repo }, body })
        : await call(releaseEndpoints.editRelease, {
            params: { owner, repo, id: String(release.id) },
            body,
          });
    saved = written;
    await attachFiles(context, releaseAssetEndpoints.createReleaseAsset, {
      owner,
      repo,
      id: String(written.id),
    });
  });
  if (refusal === undefined || saved === undefined) {
    if (refusal === undefined) return { kind: "redirect", to: `${toPath(owner, repo)}/releases` };
    return showForm(context, params, { of: "release", values, failed: toSentence(refusal) });
  }
  // The release exists: only a file was refused.
  const now = { owner, repo, tag: saved.tag_name };
  return showForm(context, now, { of: "release", values, failed: toSentence(refusal) });
}

async function remove(context: ForgePageContext, { owner, repo }: TagParams) {
  const { call, form, session } = context;
  const home = `${toPath(owner, repo)}/releases`;
  if (session === undefined) return toSignIn(home);
  await call(releaseEndpoints.deleteRelease, {
    params: { owner, repo, id: form.get("id") ?? "" },
  });
  return { kind: "redirect", to: home } as const;
}

async function removeFile(context: ForgePageContext, params: TagParams): Promise<ForgePageAnswer> {
  const { call, form, session } = context;
  const { owner, repo, tag } = params;
  const edit = toEditPath(params, { tag_name: tag });
  if (session === undefined) return toSignIn(edit);
  const file = { id: form.get("id") ?? "", attachment: form.get("file") ?? "" };
  const refusal = await findRefusal(formRefusals, () =>
    call(releaseAssetEndpoints.deleteReleaseAsset, { params: { owner, repo, ...file } }),
  );
  if (refusal === undefined) return { kind: "redirect", to: edit };
  return showForm(context, params, { of: "release", failed: toSentence(refusal) });
}
