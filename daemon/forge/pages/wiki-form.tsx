import { wikiEndpoints } from "../../contract/forge/repositories/wiki.ts";
import { EmptyState, Menu } from "../../pages/elements.tsx";
import { declareForm, Form } from "../../pages/form.tsx";
import { notFound } from "../refusals.ts";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type RepositoryParams,
  toSignIn,
} from "./forge-page.ts";
import {
  decodeText,
  getPage,
  openPlace,
  renderText,
  toWikiAnswer,
  type WikiPlace,
} from "./wiki-place.tsx";

/** Longest text that a form takes; its bytes may be sent as three characters each. */
const TEXT_BYTES_MAX = 80_000;

const pageForm = declareForm({
  submit: "Save",
  fields: {
    title: { label: "Title", type: "text", lengthMax: 255 },
    content: { label: "Text, in Markdown", type: "multiline", isOptional: true },
    message: { label: "What you changed", type: "text", isOptional: true, lengthMax: 255 },
    /** The commit that the form began with. */
    base: { type: "hidden" },
  },
});

/** The fields of a form that is shown, and why it is shown again. */
interface FormFields {
  readonly title: string;
  readonly content?: string;
  readonly message?: string;
  readonly base?: string;
  readonly failed?: string;
  /** Shows the text as the page would. */
  readonly isPreview?: boolean;
  /** Whether the page exists. */
  readonly isEdit?: boolean;
}

/** The form of an existing page, as it is now. */
export async function showEdit(place: WikiPlace, failed?: string): Promise<ForgePageAnswer> {
  const page = await getPage(place);
  const { title, last_commit: last } = page;
  return showForm(place, {
    title,
    content: decodeText(page.content_base64),
    base: last.sha,
    isEdit: true,
    ...(failed === undefined ? {} : { failed }),
  });
}

/** The form of a page, for those who may write. */
export async function showForm(place: WikiPlace, fields: FormFields): Promise<ForgePageAnswer> {
  const { context, token, home, name } = place;
  const { content = "", isEdit = false, isPreview = false, failed } = fields;
  if (context.session === undefined) return toSignIn(context.request.target);
  if (token === undefined) throw notFound();
  const title = fields.title || (context.request.query.get("title") ?? "");
  const address = isEdit ? `${home}/${name}` : home;
  const preview = isPreview
    ? await renderText(place, Buffer.from(content).toString("base64"))
    : undefined;
  const isTooLong = Buffer.byteLength(content) > TEXT_BYTES_MAX;
  return toWikiAnswer(
    place,
    isEdit ? `Edit ${fields.title}` : "New page",
    <>
      <h2>{isEdit ? "Edit page" : "New page"}</h2>
      {isTooLong ? (
        <EmptyState>This page is too long for a form: clone the wiki and push it.</EmptyState>
      ) : (
        <pageForm.Form
          action={`${address}?action=${isEdit ? "_edit" : "_new"}`}
          token={token}
          values={{ message: "", base: "", ...fields, title, content }}
          failed={failed === undefined ? undefined : { text: failed }}
        >
          <button type="submit" name="do" value="preview">
            Preview
          </button>
        </pageForm.Form>
      )}
      {preview === undefined ? null : (
        <section className="card" aria-label="Preview">
          <p className="head">Preview</p>
          {preview}
        </section>
      )}
      {isEdit ? (
        <Menu name="Delete this page">
          <Form action={`${address}?action=_delete`} token={token}>
            <p>Its history stays in the repository of the wiki.</p>
            <input type="hidden" name="base" value={fields.base ?? ""} />
            <button type="submit">Delete the page</button>
          </Form>
        </Menu>
      ) : null}
    </>,
    failed === undefined ? 200 : 422,
  );
}

const refusals = [
  "invalid_argument",
  "unprocessable",
  "forbidden",
  "archived",
  "conflict",
  "precondition_failed",
  "too_large",
] as const;

const STALE =
  "The page was changed in the meantime. Open it in another window, and merge your text with it.";

const toIfMatch = (commit: string) => ({ "if-match": `"${commit}"` });

/** Creates, changes or deletes a page, or shows its preview. */
export async function submitPage(
  context: ForgePageContext,
  params: RepositoryParams,
): Promise<ForgePageAnswer> {
  const place = await openPlace(context, params);
  const { call, session, request } = context;
  if (session === undefined) return toSignIn(place.home);
  const { name, home } = place;
  const action = request.query.get("action");
  if (action === "_delete") {
    const base = context.form.get("base") ?? "";
    const changed = await findRefusal(["precondition_failed"], () =>
      call(wikiEndpoints.deleteWikiPage, {
        params: { ...place.params, name },
        ...(base === "" ? {} : { headers: toIfMatch(base) }),
      }),
    );
    if (changed !== undefined)
      return showEdit(place, "The page was changed in the meantime. This is its text now.");
    return { kind: "redirect", to: `${home}?action=_pages` };
  }
  const isEdit = action !== "_new";
  const values = pageForm.read(context.form);
  const content = values.content.replaceAll("\r\n", "\n");
  const fields = { ...values, content, isEdit };
  if (context.form.get("do") === "preview") return showForm(place, { ...fields, isPreview: true });
  const { title, message, base } = values;
  const body = { title, content_base64: Buffer.from(content).toString("base64"), message };
  let saved = name;
  const refusal = await findRefusal(refusals, async () => {
    const { body: page } = isEdit
      ? await call(wikiEndpoints.editWikiPage, {
          params: { ...place.params, name },
          body,
          headers: toIfMatch(base),
        })
      : await call(wikiEndpoints.createWikiPage, { params: place.params, body });
    saved = page.sub_url;
  });
  if (refusal !== undefined) {
    const failed = refusal.code === "precondition_failed" ? STALE : refusal.message;
    return showForm(place, { ...fields, failed });
  }
  return { kind: "redirect", to: `${home}/${saved}` };
}
