import type { ReactNode } from "react";
import type { WireUser } from "../../contract/forge/accounts/users.ts";
import type { WireIssue } from "../../contract/forge/issues/issues.ts";
import { reactionNames, type WireReaction } from "../../contract/forge/issues/reactions.ts";
import { Menu, Rendered, Time, toBytesText } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { Author } from "./elements.tsx";
import { type IssueWork, mayEditText } from "./issue-work.ts";
import { openTasks, readText, TextButtons, TextField, toTextVersion } from "./texts.tsx";

/** A text of a conversation: that of the issue, or a comment. */
export interface ShownText {
  /** Names its forms: `text` for the issue, `comment-12` for a comment. */
  readonly key: string;
  /** The end of the addresses of its forms, such as `/comments/12`. */
  readonly path: string;
  readonly author: WireUser | null;
  /** The name of the author at the place from which the text was imported; empty for one that was written here. */
  readonly originalAuthor: string;
  /** The verb of the heading. */
  readonly verb: string;
  readonly createdAt: string;
  readonly isEdited: boolean;
  readonly text: string;
  /** Undefined if the text is shown as it is. */
  readonly html: string | undefined;
  readonly files: WireIssue["assets"];
  readonly reactions: readonly WireReaction[];
}

/** The card of a text with its reactions, files, and the forms of those who may change it. */
export function TextCard({
  work,
  text: shown,
  id,
  title,
  children,
}: {
  work: IssueWork;
  text: ShownText;
  id?: string;
  /** The title of the issue, which is edited with its text. */
  title?: string;
  children?: ReactNode;
}) {
  const { key, author, originalAuthor, verb, createdAt, isEdited, text } = shown;
  const mayEdit = mayEditText(work, author);
  const formId = `tasks-${key}`;
  const tasks = mayEdit && shown.html !== undefined ? openTasks(shown.html, formId) : undefined;
  return (
    <article className="card" id={id}>
      <p className="head">
        <span>
          <Author user={author} original={originalAuthor} /> {verb} <Time at={createdAt} />
          {isEdited ? <span className="quiet"> · edited</span> : null}
        </span>
      </p>
      {text === "" ? (
        title === undefined ? null : (
          <p className="content quiet">No text.</p>
        )
      ) : (
        <Rendered html={tasks?.html ?? shown.html} text={text} />
      )}
      <Attachments work={work} text={shown} mayEdit={mayEdit} />
      {children}
      <div className="foot">
        <Reactions work={work} text={shown} />
        {tasks === undefined || tasks.positions.length === 0 ? null : (
          <Form
            id={formId}
            action={`${work.actions}${shown.path}/tasks${work.query}`}
            token={work.token}
          >
            <input type="hidden" name="version" value={toTextVersion(text)} />
            <input type="hidden" name="positions" value={tasks.positions.join(",")} />
            <button type="submit" data-saves-tasks="">
              Save ticked tasks
            </button>
          </Form>
        )}
        {mayEdit ? <EditForm work={work} text={shown} title={title} /> : null}
        {mayEdit && title === undefined ? <DeleteForm work={work} text={shown} /> : null}
      </div>
    </article>
  );
}

function EditForm({
  work,
  text: { key, path, text },
  title,
}: {
  work: IssueWork;
  text: ShownText;
  title: string | undefined;
}) {
  const shown = work.shown?.of === key ? work.shown : undefined;
  const { context } = work;
  const action = `${work.actions}${path}/edit`;
  return (
    <Menu name="Edit" isOpen={shown !== undefined}>
      <Form action={`${action}${work.query}`} token={work.token} className="wide">
        <input
          type="hidden"
          name="version"
          value={
            shown === undefined || shown.isConflict === true
              ? toTextVersion(text)
              : (context.form.get("version") ?? "")
          }
        />
        {title === undefined ? null : (
          <label>
            Title
            <input
              name="title"
              required
              maxLength={255}
              data-draft=""
              defaultValue={shown === undefined ? title : readText(context, "title")}
            />
          </label>
        )}
        <TextField
          label="Text, in Markdown"
          value={shown === undefined ? text : readText(context)}
          shown={shown}
          isNeeded={title === undefined}
        />
        <TextButtons submit="Save" preview={`${action}/preview${work.query}`} />
      </Form>
    </Menu>
  );
}

function DeleteForm({ work, text: { path } }: { work: IssueWork; text: ShownText }) {
  return (
    <Menu name="Delete">
      <Form action={`${work.actions}${path}/delete${work.query}`} token={work.token}>
        <button type="submit" className="danger">
          Delete this comment for good
        </button>
      </Form>
    </Menu>
  );
}

/** Types that browsers show as pictures, by the ends of names; the server decides again by the bytes. */
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif)$/i;

function Attachments({
  work,
  text: { files, path },
  mayEdit,
}: {
  work: IssueWork;
  text: ShownText;
  mayEdit: boolean;
}) {
  if (files.length === 0) return null;
  return (
    <div className="content">
      <ul className="attachments" aria-label="Files">
        {files.map(({ id, uuid, name, size }) => (
          <li key={id}>
            <a href={`/attachments/${uuid}`}>
              {PICTURE.test(name) ? (
                <img src={`/attachments/${uuid}`} alt="" loading="lazy" />
              ) : null}
              <bdi>{name}</bdi>
            </a>{" "}
            <span className="quiet">{toBytesText(size)}</span>
            {mayEdit ? (
              <Form
                action={`${work.actions}${path}/files/${id}/delete${work.query}`}
                token={work.token}
                className="inline"
              >
                <button type="submit" className="link" aria-label={`Remove ${name}`}>
                  Remove
                </button>
              </Form>
            ) : null}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The reactions that the API accepts, listed by `/settings/ui`. */
const reactionEmoji: Readonly<Record<string, string>> = {
  "+1": "👍",
  "-1": "👎",
  laugh: "😄",
  hooray: "🎉",
  confused: "😕",
  heart: "❤️",
  rocket: "🚀",
  eyes: "👀",
};

function Reactions({ work, text: { reactions, path } }: { work: IssueWork; text: ShownText }) {
  const given = Map.groupBy(reactions, ({ content }) => content);
  const { me, mayComment, actions, query, token } = work;
  const isMine = (content: string) =>
    (given.get(content) ?? []).some(({ user }) => user?.login === me);
  const emoji = (content: string) => (
    <span role="img" aria-label={content}>
      {reactionEmoji[content] ?? content}
    </span>
  );
  if (!mayComment)
    return given.size === 0 ? null : (
      <p className="reactions">
        {[...given].map(([content, list]) => (
          <span className="label" key={content}>
            {emoji(content)} {list.length}
          </span>
        ))}
      </p>
    );
  const button = (content: string, count?: number) => (
    <button
      key={content}
      type="submit"
      className="reaction"
      name={isMine(content) ? "remove" : "add"}
      value={content}
      aria-pressed={isMine(content)}
      title={(given.get(content) ?? []).map(({ user }) => user?.login ?? "unknown").join(", ")}
    >
      {emoji(content)} {count}
    </button>
  );
  return (
    <Form action={`${actions}${path}/reactions${query}`} token={token} className="reactions">
      {[...given].map(([content, list]) => button(content, list.length))}
      <Menu name="React">
        {reactionNames.filter((content) => !given.has(content)).map((content) => button(content))}
      </Menu>
    </Form>
  );
}
