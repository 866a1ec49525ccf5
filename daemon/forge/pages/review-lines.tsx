import type { WireReview, WireReviewLine } from "../../contract/forge/pulls/reviews.ts";
import { State } from "../../pages/elements.tsx";
import { declareForm, Form } from "../../pages/form.tsx";
import { Hunks } from "./diff.tsx";
import { UserLink } from "./elements.tsx";

/** A review with its comments on lines. */
export interface ShownReview {
  readonly review: WireReview;
  readonly lines: readonly WireReviewLine[];
}

/** What the forms of a conversation need. `mayChange`: the viewer writes to the base, or has opened the pull request. */
export interface LineForms {
  /** The address of the pull request. */
  readonly home: string;
  readonly token: string;
  readonly isOpen: boolean;
  readonly mayChange: boolean;
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
      <p>
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

const toPlace = ({ path, commit_id: commit, position, original_position: old }: WireReviewLine) =>
  `${commit} ${position} ${old} ${path}`;

const isApplicable = ({ suggestion, outdated, resolver, position }: WireReviewLine) =>
  suggestion !== null && !outdated && resolver === null && position > 0;

/** The comments on one line. It is folded once it is resolved, or about a line that was changed since. */
function Conversation({
  lines,
  forms,
}: {
  lines: readonly WireReviewLine[];
  forms: LineForms | undefined;
}) {
  const [first] = lines;
  if (first === undefined) return null;
  const { path, line, outdated, resolver } = first;
  const notes = [
    outdated ? "Outdated" : `line ${line}`,
    ...(resolver === null ? [] : [`resolved by ${resolver.login}`]),
  ];
  return (
    <details open={!outdated && resolver === null}>
      <summary>
        <bdi>{path}</bdi> {notes.join(", ")}
      </summary>
      <Hunks lines={first.diff_hunk.split("\n")} />
      {lines.map((comment) => (
        <div key={comment.id} id={`issuecomment-${comment.id}`}>
          <p>
            <UserLink user={comment.user} />: <bdi>{comment.body}</bdi>
          </p>
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
    <Form action={`${home}/suggestions`} token={token}>
      <input type="hidden" name="comments" value={ids.join(" ")} />
      <button type="submit">{text}</button>
    </Form>
  );
}

export const replyForm = declareForm({
  submit: "Reply",
  fields: { body: { label: "Reply", type: "multiline", lengthMax: 65_536 } },
});

function ConversationForms({
  first: { id, resolver },
  forms: { home, token, mayChange },
}: {
  first: WireReviewLine;
  forms: LineForms;
}) {
  return (
    <>
      <replyForm.Form action={`${home}/lines/${id}/replies`} token={token} />
      {mayChange ? (
        <Form action={`${home}/lines/${id}/resolution`} token={token}>
          <button type="submit" name="resolved" value={resolver === null ? "yes" : "no"}>
            {resolver === null ? "Resolve" : "Open again"}
          </button>
        </Form>
      ) : null}
    </>
  );
}
