import { hash } from "node:crypto";
import type { ReactNode } from "react";
import { issueEndpoints } from "../../contract/forge/issues/issues.ts";
import { AppError } from "../../errors.ts";
import { Alert, Rendered } from "../../pages/elements.tsx";
import { escapeHtml } from "../../rendering/html/escape.ts";
import { toIssueState } from "./issue-list.tsx";
import type { ForgePageContext } from "./forge-page.ts";

/** Longest text of a form in characters; the API allows more. */
const TEXT_MAX = 65_536;
/** Maximum number of references of all texts of a page whose titles are looked up. */
const REFERENCES_MAX = 50;
/** The titles of a page by addresses, which its texts share; of the request, as long as it is there. */
const titlesOf = new WeakMap<ForgePageContext["request"], Map<string, Promise<string>>>();

/** Renders a text of an issue; its references to issues have their titles. `home` is `owner/name`. */
export async function renderComment(
  context: ForgePageContext,
  home: string,
  text: string,
): Promise<string | undefined> {
  const html = await context.render({ text, mode: "comment", context: `/${home}` });
  return html === undefined ? undefined : nameReferences(context, html);
}

/** A reference as the renderer writes it: the address begins with that of the server. */
const REFERENCE =
  /<a href="([^"]*\/([\w.-]+)\/([\w.-]+)\/(?:issues|pulls)\/(\d+))" class="ref-issue"/g;

/** Adds the title and the state of an issue to its reference, if the caller may read it. */
async function nameReferences(context: ForgePageContext, html: string): Promise<string> {
  const looked = titlesOf.get(context.request) ?? new Map<string, Promise<string>>();
  titlesOf.set(context.request, looked);
  for (const [, address = "", owner = "", repo = "", index = ""] of html.matchAll(REFERENCE)) {
    if (looked.has(address) || looked.size === REFERENCES_MAX) continue;
    if (!address.startsWith(`${context.publicUrl()}/`) && !address.startsWith("/")) continue;
    const title = findTitle(context, { owner, repo, index });
    // It is awaited below, and by other texts.
    title.catch(() => undefined);
    looked.set(address, title);
  }
  const titles = new Map<string, string>();
  for (const [, address = ""] of html.matchAll(REFERENCE))
    titles.set(address, (await looked.get(address)) ?? "");
  return html.replace(REFERENCE, (link, address: string) => {
    const title = titles.get(address) ?? "";
    return title === "" ? link : `${link} title="${escapeHtml(title)}"`;
  });
}

async function findTitle(
  { call }: ForgePageContext,
  params: { readonly owner: string; readonly repo: string; readonly index: string },
): Promise<string> {
  try {
    const { body } = await call(issueEndpoints.getIssue, { params });
    return `${body.title} (${toIssueState(body)})`;
  } catch (error) {
    // Missing, or hidden from this caller: the link has no title.
    if (error instanceof AppError) return "";
    throw error;
  }
}

/** Identifies a text, so that a change of another person is noticed. */
export const toTextVersion = (text: string): string => hash("sha256", text, "hex");

const BOX = /<input type="checkbox" disabled="" data-source-position="(\d+)"( checked="")?\s*\/?>/g;

/** Makes the boxes of task lists fields of a form. Returns their positions, which `tickTasks` takes. */
export function openTasks(
  html: string,
  formId: string,
): { readonly html: string; readonly positions: readonly string[] } {
  const positions: string[] = [];
  const opened = html.replace(BOX, (_box, position: string, checked = "") => {
    positions.push(position);
    return `<input type="checkbox" name="task" value="${position}" form="${formId}" aria-label="Task ${positions.length}"${checked}>`;
  });
  return { html: opened, positions };
}

/**
 * Returns a text whose boxes at `positions`, in bytes, are ticked if they are in `ticked`, else not. Positions without a
 * box are ignored.
 */
export function tickTasks(
  text: string,
  positions: readonly string[],
  ticked: ReadonlySet<string>,
): string {
  // The renderer counts with these ends of lines.
  const bytes = Buffer.from(text.replace(/\r\n?/g, "\n"));
  for (const position of positions) {
    const at = Number(position);
    const [open, mark, close] = bytes.subarray(at, at + 3).toString("latin1");
    if (open !== "[" || close !== "]" || !" xX".includes(mark ?? "")) continue;
    if ((mark !== " ") !== ticked.has(position))
      bytes.write(ticked.has(position) ? "x" : " ", at + 1);
  }
  return bytes.toString("utf8");
}

/** Why a page of a form is shown again: a refusal, or a preview of its text. */
export interface ShownForm {
  /** Names the form of the page. */
  readonly of: string;
  readonly failed?: string;
  /** The rendered text. */
  readonly preview?: { readonly html: string | undefined; readonly text: string };
  /** Whether the text has changed meanwhile, so that the next try replaces the current one. */
  readonly isConflict?: true;
  /** Whether the text was accepted, so that the form is empty again. */
  readonly isSent?: true;
}

/** Returns a text of a submitted form. */
export const readText = ({ form }: ForgePageContext, name = "body"): string =>
  (form.get(name) ?? "").replaceAll("\r\n", "\n");

/** The refusal and the preview of the form that was sent. */
export function FormResult({ shown }: { shown: ShownForm | undefined }) {
  return (
    <>
      <Alert text={shown?.failed} />
      {shown?.preview === undefined ? null : (
        <section className="card" aria-label="Preview">
          <p className="head">Preview</p>
          {shown.preview.text.trim() === "" ? (
            <p className="content quiet">Nothing to preview.</p>
          ) : (
            <Rendered html={shown.preview.html} text={shown.preview.text} />
          )}
        </section>
      )}
    </>
  );
}

/** The field for a text in Markdown, with the refusal and the preview of the form that was sent. */
export function TextField({
  label,
  name = "body",
  value,
  shown,
  isNeeded = false,
}: {
  label: string;
  name?: string;
  value: string;
  shown: ShownForm | undefined;
  isNeeded?: boolean;
}) {
  return (
    <>
      <FormResult shown={shown} />
      <label>
        {label}
        <textarea name={name} defaultValue={value} maxLength={TEXT_MAX} required={isNeeded} />
      </label>
    </>
  );
}

/** The buttons of a form with a text. Buttons have addresses of their own, because files follow all fields. */
export function TextButtons({
  submit,
  preview,
  children,
}: {
  submit: string;
  /** The address that shows the form again with a preview. */
  preview: string;
  children?: ReactNode;
}) {
  return (
    <div className="buttons">
      <button type="submit" className="primary">
        {submit}
      </button>
      {children}
      <button type="submit" formAction={preview} formNoValidate>
        Preview
      </button>
    </div>
  );
}

/** The picker of files, the last field of its form. */
export function FilePicker() {
  return (
    <label className="picker">
      Attach files, up to 20; with JavaScript, paste or drop them into the text
      <input type="file" name="files" multiple />
    </label>
  );
}
