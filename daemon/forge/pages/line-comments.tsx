import type { WirePull } from "../../contract/forge/pulls/pulls.ts";
import { reviewEndpoints } from "../../contract/forge/pulls/reviews.ts";
import { toPath } from "../../pages/page.ts";
import { Form } from "../../pages/form.tsx";
import type { LineExtras } from "./diff.tsx";
import type { DiffLine, FileDiff } from "./diff-text.ts";
import {
  findRefusal,
  formRefusals,
  type ForgePageAnswer,
  type ForgePageContext,
  toSentence,
  toSignIn,
} from "./forge-page.ts";
import type { PullParams } from "./pull-head.tsx";
import {
  Conversation,
  type LineForms,
  loadReviewLines,
  renderLines,
  type ShownLine,
  toPlace,
} from "./review-lines.tsx";
import { readText, TextField } from "./texts.tsx";

/** Side and number of a line: `R` after the change, `L` before it. */
const toPosition = ({ before, after }: DiffLine) =>
  after === undefined ? `L${before}` : `R${after}`;

/** The line of the address on which the form for a comment stands: `?on=3.R12` is line 12 of the third file. */
const toChosen = (query: URLSearchParams) => {
  const [, file = "", position = ""] =
    /^(\d{1,6})\.([LR]\d{1,9})$/.exec(query.get("on") ?? "") ?? [];
  return { index: Number(file) - 1, position };
};

/** What the page of the changes shows beside and below the lines of its diff. */
export interface LineTalk {
  readonly pull: WirePull;
  /** The address of the pull request. */
  readonly home: string;
  /** By path and position. */
  readonly conversations: ReadonlyMap<string, readonly (readonly ShownLine[])[]>;
  readonly forms: LineForms | undefined;
  readonly failed: string | undefined;
}

/** Loads the comments on lines that are still in the diff. */
export async function loadLines(
  context: ForgePageContext,
  { owner, repo, index }: PullParams,
): Promise<LineTalk["conversations"]> {
  const found = await loadReviewLines(context, { owner, repo, index }, { outdated: "false" });
  const current = found.filter(({ line }) => line > 0);
  const lines = await renderLines(context, `${owner}/${repo}`, current);
  const conversations = [...Map.groupBy(lines, toPlace).values()];
  return Map.groupBy(conversations, ([first]) =>
    first === undefined ? "" : toKey(first.path, `${first.position > 0 ? "R" : "L"}${first.line}`),
  );
}

const toKey = (path: string, position: string) => `${position} ${path}`;

/** The links of lines, the form on the chosen line, and the comments below their lines. */
export function toLineExtras(
  { request: { query }, form }: ForgePageContext,
  talk: LineTalk,
): LineExtras {
  const { forms, conversations, home, pull, failed } = talk;
  const chosen = toChosen(query);
  const of = (file: FileDiff, line: DiffLine) =>
    line.kind === "note" ? [] : (conversations.get(toKey(file.path, toPosition(line))) ?? []);
  const isChosen = (index: number, line: DiffLine) =>
    forms?.isOpen === true &&
    index === chosen.index &&
    line.kind !== "note" &&
    toPosition(line) === chosen.position;
  return {
    ...(forms?.isOpen === true && {
      toHref: (index: number, line: DiffLine) => `${toOn(query, index, line)}#on`,
    }),
    isOpen: (file, index) =>
      index === chosen.index ||
      file.hunks.some(({ lines }) => lines.some((line) => of(file, line).length > 0)),
    below: (file, line, index) => {
      const found = of(file, line);
      if (!isChosen(index, line) && found.length === 0) return null;
      return (
        <div className="talk">
          {found.map((lines) => (
            <Conversation key={lines[0]?.id} lines={lines} forms={forms} hasHunk={false} />
          ))}
          {forms === undefined || !isChosen(index, line) ? null : (
            <Form
              action={`${home}/files${toOn(query, index, line)}#on`}
              token={forms.token}
              className="wide"
            >
              <span id="on" />
              <input type="hidden" name="path" value={file.path} />
              <input type="hidden" name="position" value={chosen.position} />
              <input type="hidden" name="commit" value={pull.head.sha} />
              <TextField
                label={`Comment on line ${chosen.position.slice(1)}, in Markdown`}
                value={toText(query, line, failed === undefined ? undefined : form)}
                shown={failed === undefined ? undefined : { of: "line", failed }}
                isNeeded
              />
              <div className="buttons">
                <button type="submit" className="primary">
                  Comment
                </button>
                {line.after === undefined ? null : (
                  <a href={`${toOn(query, index, line)}&suggest=yes#on`}>Suggest a change</a>
                )}
                <a href={`${home}/files#file-${index + 1}`}>Cancel</a>
              </div>
            </Form>
          )}
        </div>
      );
    },
  };
}

/** The query of the same page with the form on a line. The split view has no room for one. */
function toOn(query: URLSearchParams, index: number, line: DiffLine): string {
  const whitespace = query.get("whitespace");
  return `?${whitespace === null ? "" : `${new URLSearchParams({ whitespace })}&`}on=${index + 1}.${toPosition(line)}`;
}

/** The text that the form has at first: the refused one, or a suggestion that holds the line. */
function toText(query: URLSearchParams, line: DiffLine, sent: URLSearchParams | undefined): string {
  if (sent !== undefined) return sent.get("body") ?? "";
  return query.get("suggest") === "yes" ? `\`\`\`suggestion\n${line.text}\n\`\`\`\n` : "";
}

/** Adds a comment on a line. `showFiles` shows the page again with the refusal. */
export async function addLineComment(
  context: ForgePageContext,
  { owner, repo, index }: PullParams,
  showFiles: (failed: string) => Promise<ForgePageAnswer>,
): Promise<ForgePageAnswer> {
  const { call, form, session } = context;
  const address = `${toPath(owner, repo, "pulls", index)}/files`;
  if (session === undefined) return toSignIn(address);
  const params = { owner, repo, index };
  const [, side, number] = /^([LR])(\d{1,9})$/.exec(form.get("position") ?? "") ?? [];
  const position = side === "L" ? "old_position" : "new_position";
  const comment = {
    path: form.get("path") ?? "",
    body: readText(context),
    [position]: Number(number ?? 0),
  };
  let anchor = "";
  const refusal = await findRefusal(formRefusals, async () => {
    const body = { event: "COMMENT", commit_id: form.get("commit") ?? "", comments: [comment] };
    const { body: review } = await call(reviewEndpoints.createReview, { params, body });
    const path = { ...params, id: String(review.id) };
    const { body: lines } = await call(reviewEndpoints.listReviewLines, { params: path });
    anchor = `#issuecomment-${lines[0]?.id ?? ""}`;
  });
  if (refusal !== undefined) return showFiles(toSentence(refusal));
  return { kind: "redirect", to: address + anchor };
}
