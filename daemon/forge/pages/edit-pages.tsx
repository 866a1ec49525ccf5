import type { WireContents } from "../../contract/forge/code/contents.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import { Alert, Rendered } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { get, post } from "../../pages/page.ts";
import {
  CommitFields,
  commitChanges,
  type CommitTarget,
  type FileChange,
  findTarget,
} from "./commit-form.tsx";
import { toEditable, withLineEnds } from "./edited-text.ts";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type ForgeSession,
  type RepositoryParams,
  toSignIn,
} from "./forge-page.ts";
import {
  Crumbs,
  type FileForm,
  findBranchPlace,
  isMissing,
  type Place,
  readPlace,
  toFormPath,
  toSourcePath,
} from "./place.tsx";
import { loadHead, RepositoryHead } from "./repository-head.tsx";
import { FILE_BYTES_MAX, readBytes, renderFile } from "./source-text.ts";

/** A file of the largest size whose text is percent-encoded, and the other fields. */
const FORM_BYTES_MAX = 3 * FILE_BYTES_MAX + 256 * 1024;
const REFUSALS: readonly AppError["code"][] = [
  "archived",
  "conflict",
  "forbidden",
  "invalid_argument",
  "not_found",
  "unprocessable",
];

export type FileFormParams = RepositoryParams & { readonly rest: string };

/** Forms that change, add and delete a file of a branch. */
export function editPages(): ForgePageRoute[] {
  const large = { formBytesMax: FORM_BYTES_MAX };
  return [
    get("/:owner/:repo/_edit/**:rest", withForm("_edit", showEditor)),
    post("/:owner/:repo/_edit/**:rest", withForm("_edit", saveFile), large),
    get("/:owner/:repo/_new/**:rest", withForm("_new", showEditor)),
    post("/:owner/:repo/_new/**:rest", withForm("_new", saveFile), large),
    get("/:owner/:repo/_delete/**:rest", withForm("_delete", showDeletion)),
    post("/:owner/:repo/_delete/**:rest", withForm("_delete", deleteFile)),
  ];
}

/** A form that is open: its repository, place and session, and where its commit may go. */
export interface OpenedForm extends CommitTarget {
  readonly kind: FileForm;
  readonly session: ForgeSession;
}

/** Opens a form for a signed-in person; others are sent to the sign-in. */
export const withForm =
  (
    kind: FileForm,
    run: (context: ForgePageContext, opened: OpenedForm) => Promise<ForgePageAnswer>,
  ) =>
  async (context: ForgePageContext, params: FileFormParams): Promise<ForgePageAnswer> => {
    const { session, request } = context;
    const repository = await loadHead(context, params);
    if (session === undefined) return toSignIn(request.target);
    if (repository.archived)
      throw new AppError("archived", "The repository is archived: its files do not change.");
    const place = repository.empty
      ? toFirstPlace(repository, params)
      : await findBranchPlace(context, params);
    const target = await findTarget(context, session, { repository, place });
    return run(context, { ...target, kind, session });
  };

/** The place of the first file of an empty repository, on its default branch. */
function toFirstPlace({ default_branch: ref }: WireRepository, { rest }: FileFormParams): Place {
  if (rest !== ref && !rest.startsWith(`${ref}/`)) throw notFound();
  return { kind: "branch", ref, path: rest.slice(ref.length + 1) };
}

/** The file that an editor shows: undefined for a new one. */
interface EditedFile {
  readonly entry: WireContents | undefined;
  readonly text: string;
}

const showEditor = async (context: ForgePageContext, opened: OpenedForm) => {
  const file = await loadFile(context, opened);
  if (typeof file === "string") return showRefusedFile(opened, file);
  const path = opened.kind === "_new" ? toPrefix(opened.place.path) : opened.place.path;
  return renderEditor(opened, context.form, {
    ...{ path, text: file.text, sha: file.entry?.sha ?? "" },
  });
};

const toPrefix = (folder: string) => (folder === "" ? "" : `${folder}/`);

/** Reads the file of an editor; returns why it cannot be edited. */
async function loadFile(
  context: ForgePageContext,
  { repository, place, kind }: OpenedForm,
): Promise<EditedFile | string> {
  if (kind === "_new") return { entry: undefined, text: "" };
  const params = { owner: repository.owner.login, repo: repository.name };
  const { file_contents: entry } = await readPlace(context, params, place);
  if (entry?.type !== "file") throw notFound();
  if (entry.size > FILE_BYTES_MAX) return "it is too large";
  const bytes = await readBytes(context, params, entry.sha);
  if (bytes === undefined) return "it is too large";
  const editable = toEditable(bytes);
  return editable.kind === "refused" ? editable.reason : { entry, text: editable.text };
}

function showRefusedFile({ repository, place }: OpenedForm, reason: string): ForgePageAnswer {
  return {
    kind: "page",
    title: `Edit ${place.path}`,
    status: 422,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <Crumbs repository={repository} place={place} />
        <p>{`A browser cannot edit this file: ${reason}. Change it in a clone, or upload it again.`}</p>
      </>
    ),
  };
}

interface EditorState {
  readonly path: string;
  readonly text: string;
  /** The blob that the person edits; empty for a new file. */
  readonly sha: string;
  readonly failed?: string;
  readonly preview?: string | undefined;
}

function renderEditor(
  opened: OpenedForm,
  form: URLSearchParams,
  { path, text, sha, failed, preview }: EditorState,
): ForgePageAnswer {
  const { repository, place, kind, session } = opened;
  return {
    kind: "page",
    title: kind === "_new" ? "New file" : `Edit ${place.path}`,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <h2>{kind === "_new" ? "New file" : "Edit file"}</h2>
        <Alert text={failed} />
        {preview === undefined ? null : (
          <section className="card" aria-label="Preview">
            <p className="head">Preview</p>
            <Rendered html={preview} text={text} />
          </section>
        )}
        <Form
          action={toFormPath(repository, place, kind)}
          token={session.formToken}
          className="stack wide-form"
        >
          <input type="hidden" name="sha" value={sha} />
          <label>
            Path
            <input name="path" required maxLength={500} defaultValue={path} autoCapitalize="none" />
          </label>
          <label>
            Text
            <textarea
              name="text"
              className="editor"
              spellCheck={false}
              wrap="off"
              defaultValue={text}
            />
          </label>
          <CommitFields target={opened} form={form} summary={toSummary(opened, path)} />
          <div className="actions">
            <button type="submit" className="primary">
              Commit
            </button>
            <button type="submit" name="preview" value="yes">
              Preview
            </button>
            <a href={toSourcePath(repository, place)}>Cancel</a>
          </div>
        </Form>
      </>
    ),
  };
}

const toSummary = ({ kind, place }: OpenedForm, path: string) => {
  if (kind === "_new") return `Add ${path.endsWith("/") || path === "" ? "a file" : path}`;
  return path === place.path ? `Update ${path}` : `Move ${place.path} to ${path}`;
};

const saveFile = async (
  context: ForgePageContext,
  opened: OpenedForm,
): Promise<ForgePageAnswer> => {
  const { form } = context;
  const { repository, place, session } = opened;
  const path = (form.get("path") ?? "").trim();
  const sha = form.get("sha") ?? "";
  const params = { owner: repository.owner.login, repo: repository.name };
  const before = sha === "" ? undefined : await readBytes(context, params, sha);
  const text = withLineEnds(form.get("text") ?? "", before?.toString("utf8") ?? "");
  if (form.has("preview")) {
    const at = { ...place, path };
    const preview = await renderFile(context, repository, at, text);
    return renderEditor(opened, form, { path, text, sha, preview: preview ?? "" });
  }
  const summary = toSummary(opened, path);
  const change: FileChange = {
    operation: sha === "" ? "create" : "update",
    path,
    content: Buffer.from(text).toString("base64"),
    ...(sha === "" ? {} : { sha, from_path: place.path }),
  };
  let to = "";
  const refusal = await findRefusal(REFUSALS, async () => {
    to = await commitChanges(context, session, opened, [change], { summary, shownPath: path });
  });
  if (refusal === undefined) return { kind: "redirect", to };
  const current = sha === "" ? undefined : await findCurrent(context, params, place);
  const isStale = current !== undefined && current !== sha;
  return renderEditor(opened, form, {
    path,
    text,
    sha: isStale ? current : sha,
    failed: isStale
      ? "Somebody changed the file after you opened it. Your text is below: compare it with the file, then commit again to replace that version."
      : refusal.message,
  });
};

/** Returns the blob that a file has by now; undefined for a file that is gone. */
async function findCurrent(
  context: ForgePageContext,
  params: RepositoryParams,
  place: Place,
): Promise<string | undefined> {
  try {
    return (await readPlace(context, params, place)).file_contents?.sha;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const showDeletion = (context: ForgePageContext, opened: OpenedForm) =>
  renderDeletion(context, opened);

async function renderDeletion(
  context: ForgePageContext,
  opened: OpenedForm,
  failed?: string,
): Promise<ForgePageAnswer> {
  const { repository, place, session } = opened;
  const params = { owner: repository.owner.login, repo: repository.name };
  const { file_contents: entry } = await readPlace(context, params, place);
  if (entry === undefined || entry.type === "submodule") throw notFound();
  return {
    kind: "page",
    title: `Delete ${place.path}`,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <h2>
          Delete <bdi>{place.path}</bdi>
        </h2>
        <Alert text={failed} />
        <Form
          action={toFormPath(repository, place, "_delete")}
          token={session.formToken}
          className="stack wide-form"
        >
          <input type="hidden" name="sha" value={entry.sha} />
          <CommitFields target={opened} form={context.form} summary={`Delete ${place.path}`} />
          <div className="actions">
            <button type="submit" className="danger">
              Delete the file
            </button>
            <a href={toSourcePath(repository, place)}>Cancel</a>
          </div>
        </Form>
      </>
    ),
  };
}

const deleteFile = async (
  context: ForgePageContext,
  opened: OpenedForm,
): Promise<ForgePageAnswer> => {
  const { path } = opened.place;
  const change: FileChange = { operation: "delete", path, sha: context.form.get("sha") ?? "" };
  const shown = { summary: `Delete ${path}`, shownPath: "" };
  let to = "";
  const refusal = await findRefusal(REFUSALS, async () => {
    to = await commitChanges(context, opened.session, opened, [change], shown);
  });
  if (refusal !== undefined) return renderDeletion(context, opened, refusal.message);
  return { kind: "redirect", to };
};
