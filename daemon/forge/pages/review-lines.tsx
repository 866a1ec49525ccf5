import {
  reviewEndpoints,
  type WireReview,
  type WireReviewLine,
} from "../../contract/forge/pulls/reviews.ts";
import { Rendered, State, Time } from "../../pages/elements.tsx";
import { declareForm, Form } from "../../pages/form.tsx";
import { withoutSuggestion } from "../reviews/suggestions.ts";
import { Hunks } from "./diff.tsx";
import { Author } from "./elements.tsx";
import type { ForgePageContext } from "./forge-page.ts";
import { renderComment } from "./texts.tsx";

/** A comment on a line, with its text as HTML; undefined when it is shown as it is. */
export interface ShownLine extends WireReviewLine {
  readonly html: string | undefined;
}

/** A review with its comments on lines. */
export interface ShownReview {
  readonly review: WireReview;
  readonly lines: readonly ShownLine[];
}

/** Most comments on lines of a page, and characters of them with their hunks. */
const PAGE_MAX = { lines: 500, characters: 1_000_000 };

/** Loads comments on lines of a pull request, oldest first: as many as a page has room for. */
export async function loadReviewLines(
  { call }: ForgePageContext,
  params: { readonly owner: string; readonly repo: string; readonly index: string },
  query: { readonly outdated?: string; readonly reviews?: string },
): Promise<readonly WireReviewLine[]> {
  const { body } = await call(reviewEndpoints.listPullReviewLines, { params, query });
  const shown: WireReviewLine[] = [];
  let left = PAGE_MAX.characters;
  for (const line of body.slice(0, PAGE_MAX.lines)) {
    left -= line.body.length + line.diff_hunk.length;
    if (left <= 0) break;
    shown.push(line);
  }
  return shown;
}

/** Renders the texts of comments on lines. `home` is `owner/name`. */
export function renderLines(
  context: ForgePageContext,
  home: string,
  lines: readonly WireReviewLine[],
): Promise<ShownLine[]> {
  return Promise.all(
    lines.map(async (line) => {
      // The page shows the suggested lines as a diff below the text.
      const text = line.suggestion === null ? line.body : withoutSuggestion(line.body).trim();
      const body = text.replaceAll("\r\n", "\n");
      return { ...line, body, html: await renderComment(context, home, body) };
    }),
  );
}

/** What the forms of a conversation need. `mayChange`: the viewer writes to the base, or has opened the pull request. */
export interface LineForms {
  /** The address of the pull request. */
  readonly home: string;
  readonly token: string;
  readonly isOpen: boolean;
  readonly mayChange: boolean;
  /** The address to which the forms lead back, if it is not that of the pull request. */
  readonly back?: string;
}

/** The verdict of a review and its conversations about lines. */
export function ReviewLines({
  shown,
  forms,
}: {
  shown: ShownReview | undefined;
  forms: LineForms | undefined;
}) {
  if (shown === undefined) return null;
  const { state, dismissed, stale } = shown.review;
  const conversations = [...Map.groupBy(shown.lines, toPlace).values()];
  const applicable = conversations.flatMap(([first]) =>
    first !== undefined && isApplicable(first) ? [first.id] : [],
  );
  return (
    <>
      <p className="content">
        <State word={state.toLowerCase().replaceAll("_", " ")} />
        {dismissed ? " dismissed" : null}
        {stale ? " of an earlier state" : null}
      </p>
      {conversations.map((lines) => (
        <Conversation key={lines[0]?.id} lines={lines} forms={forms} />
      ))}
      {applicable.length > 1 && forms?.mayChange === true && forms.isOpen ? (
        <ApplyForm forms={forms} ids={applicable} text={`Apply ${applicable.length} suggestions`} />
      ) : null}
    </>
  );
}

export const toPlace = ({
  path,
  commit_id: commit,
  position,
  original_position: old,
}: WireReviewLine) => `${commit} ${position} ${old} ${path}`;

const isApplicable = ({ suggestion, outdated, resolver, position }: WireReviewLine) =>
  suggestion !== null && !outdated && resolver === null && position > 0;

/** The comments on one line. It is folded once it is resolved, or about a line that was changed since. */
export function Conversation({
  lines,
  forms,
  hasHunk = true,
}: {
  lines: readonly ShownLine[];
  forms: LineForms | undefined;
  /** Whether the lines of the diff are shown above; not where they stand there already. */
  hasHunk?: boolean;
}) {
  const [first] = lines;
  if (first === undefined) return null;
  const { path, line, outdated, resolver } = first;
  const notes = [
    outdated ? "Outdated" : `line ${line}`,
    ...(resolver === null ? [] : [`resolved by ${resolver.login}`]),
  ];
  return (
    <details className="conversation" open={!outdated && resolver === null}>
      <summary>
        {hasHunk ? <bdi>{path}</bdi> : "Comments on"} {notes.join(", ")}
      </summary>
      {hasHunk ? <Hunks lines={first.diff_hunk.split("\n")} /> : null}
      {lines.map((comment) => (
        <div key={comment.id} id={`issuecomment-${comment.id}`} className="content">
          <p className="quiet">
            <Author user={comment.user} original={comment.original_author} />{" "}
            <Time at={comment.created_at} />
          </p>
          {comment.body === "" ? null : <Rendered html={comment.html} text={comment.body} />}
          <Suggestion comment={comment} forms={forms} />
        </div>
      ))}
      {forms === undefined ? null : <ConversationForms first={first} forms={forms} />}
    </details>
  );
}

/** The suggested lines as a diff. */
function Suggestion({ comment, forms }: { comment: WireReviewLine; forms: LineForms | undefined }) {
  const { suggestion, diff_hunk: hunk, position, line } = comment;
  if (suggestion === null) return null;
  const at = line > 0 ? line : position;
  const before = `-${hunk.slice(hunk.lastIndexOf("\n") + 2)}`;
  const lines = [`@@ -${at},1 +${at},${suggestion.length} @@`, before];
  return (
    <>
      <Hunks lines={[...lines, ...suggestion.map((text) => `+${text}`)]} />
      {isApplicable(comment) && forms?.mayChange === true && forms.isOpen ? (
        <ApplyForm forms={forms} ids={[comment.id]} text="Apply suggestion" />
      ) : null}
    </>
  );
}

function ApplyForm({
  forms: { home, token },
  ids,
  text,
}: {
  forms: LineForms;
  ids: readonly number[];
  text: string;
}) {
  return (
    <Form action={`${home}/suggestions`} token={token} className="after">
      <input type="hidden" name="comments" value={ids.join(" ")} />
      <button type="submit">{text}</button>
    </Form>
  );
}

export const replyForm = declareForm({
  submit: "Reply",
  fields: {
    back: { type: "hidden", isOptional: true },
    body: { label: "Reply", type: "multiline", lengthMax: 65_536 },
  },
});

function ConversationForms({
  first: { id, resolver },
  forms: { home, token, mayChange, back },
}: {
  first: WireReviewLine;
  forms: LineForms;
}) {
  return (
    <div className="content">
      <replyForm.Form
        action={`${home}/lines/${id}/replies`}
        token={token}
        values={{ back: back === undefined ? "" : `${back}#issuecomment-${id}` }}
      />
      {mayChange ? (
        <Form action={`${home}/lines/${id}/resolution`} token={token}>
          {back === undefined ? null : (
            <input type="hidden" name="back" value={`${back}#issuecomment-${id}`} />
          )}
          <button type="submit" name="resolved" value={resolver === null ? "yes" : "no"}>
            {resolver === null ? "Resolve" : "Open again"}
          </button>
        </Form>
      ) : null}
    </div>
  );
}
