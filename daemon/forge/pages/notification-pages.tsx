import { issueStateEndpoints } from "../../contract/forge/issues/issue-states.ts";
import { issueEndpoints, type WireComment } from "../../contract/forge/issues/issues.ts";
import { notificationEndpoints, type WireThread } from "../../contract/forge/notifications.ts";
import { EmptyState, Pager, Rendered, State, Tabs, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { get, post, toPageNumber, toPath } from "../../pages/page.ts";
import { UserLink } from "./elements.tsx";
import type { IssueParams } from "./issue-work.ts";
import {
  findRefusal,
  formRefusals,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  toSentence,
  toSignIn,
} from "./forge-page.ts";
import { readText, renderComment, type ShownForm, TextButtons, TextField } from "./texts.tsx";

export const NOTIFICATIONS = "/notifications";
const THREAD = "/notifications/:id";
const LIMIT = 30;
/** Number of entries of a timeline that the page of a thread looks at for comments. */
const ENTRIES_READ = 30;

/** The statuses of threads: the word of the address, the text, and the statuses of the API. */
const statuses = [
  ["unread", "Unread", "unread"],
  ["pinned", "Pinned", "pinned"],
  ["read", "Done", "read"],
] as const;

/** The inbox of the signed-in person, and a thread with its newest texts. */
export function notificationPages(): ForgePageRoute[] {
  return [
    get(NOTIFICATIONS, showInbox),
    post(NOTIFICATIONS, mark),
    get(THREAD, (context, params) => showThread(context, params)),
    post(`${THREAD}/reply`, reply),
    post(`${THREAD}/reply/preview`, preview),
  ];
}

async function showInbox({ call, request, session }: ForgePageContext): Promise<ForgePageAnswer> {
  if (session === undefined) return toSignIn(NOTIFICATIONS);
  const page = toPageNumber(request);
  const isAll = request.query.get("all") === "true";
  const [current, , status] =
    statuses.find(([key]) => key === request.query.get("status")) ?? statuses[0];
  const load = (more: Readonly<Record<string, string>>) =>
    call(notificationEndpoints.listNotifications, { query: { ...more } });
  const filter: Readonly<Record<string, string>> = isAll
    ? { all: "true" }
    : { "status-types": status };
  const found = await load({ ...filter, page: String(page), limit: String(LIMIT) });
  const threads = found.status === 200 ? found.body : [];
  const { total = 0 } = found;
  const counts = await Promise.all(
    statuses.map(async ([, , word]) => (await load({ "status-types": word, limit: "1" })).total),
  );
  const token = session.formToken;
  return {
    kind: "page",
    title: "Notifications",
    body: (
      <>
        <h1>Notifications</h1>
        <Tabs
          label="Which"
          tabs={[
            ...statuses.map(([key, text], at) => ({
              key,
              text: `${text} (${counts[at] ?? 0})`,
              href: `?status=${key}`,
            })),
            { key: "all", text: "All", href: "?all=true" },
          ]}
          current={isAll ? "all" : current}
        />
        {threads.length === 0 ? (
          <EmptyState command="croft notification list">
            {current === "unread" && !isAll ? "Nothing to read." : "Nothing here."}
          </EmptyState>
        ) : (
          <>
            {isAll || current === "unread" ? (
              <Form action={NOTIFICATIONS} token={token} className="inline">
                <input type="hidden" name="last_read_at" value={threads[0]?.updated_at} />
                <button type="submit">Mark all as done</button>
              </Form>
            ) : null}
            <ul className="list" aria-label="Notifications">
              {threads.map((thread) => (
                <ThreadRow key={thread.id} thread={thread} token={token} />
              ))}
            </ul>
          </>
        )}
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  };
}

function ThreadRow({ thread, token }: { thread: WireThread; token: string }) {
  const { id, subject, repository, unread, pinned, updated_at: at } = thread;
  const title = subject?.title ?? "unknown";
  return (
    <li className={unread ? "unread" : undefined}>
      {subject === null ? (
        "No longer readable"
      ) : (
        <>
          {subject.state === "" ? null : <State word={subject.state} />}{" "}
          <a className="heading" href={`${NOTIFICATIONS}/${id}`}>
            <bdi>{subject.title}</bdi>
          </a>
        </>
      )}
      <p className="quiet">
        {`${repository?.full_name ?? ""} · ${toStatus(thread)} · `}
        <Time at={at} />
      </p>
      <div className="tools">
        {unread ? <Mark id={id} to="read" text="Done" title={title} token={token} /> : null}
        {unread || pinned ? null : (
          <Mark id={id} to="unread" text="Mark as unread" title={title} token={token} />
        )}
        {pinned ? (
          <Mark id={id} to="read" text="Unpin" title={title} token={token} />
        ) : (
          <Mark id={id} to="pinned" text="Pin" title={title} token={token} />
        )}
      </div>
    </li>
  );
}

const toStatus = ({ unread, pinned }: WireThread) =>
  pinned ? "pinned" : unread ? "unread" : "done";

function Mark({
  id,
  to,
  text,
  title,
  token,
}: {
  id: number;
  to: "read" | "unread" | "pinned";
  text: string;
  title: string;
  token: string;
}) {
  return (
    <Form action={NOTIFICATIONS} token={token} className="inline">
      <input type="hidden" name="id" value={String(id)} />
      <button
        type="submit"
        className="link"
        name="status"
        value={to}
        aria-label={`${text}: ${title}`}
      >
        {text}
      </button>
    </Form>
  );
}

async function mark({ call, session, form }: ForgePageContext): Promise<ForgePageAnswer> {
  if (session === undefined) return toSignIn(NOTIFICATIONS);
  const id = form.get("id");
  if (id === null) {
    const lastReadAt = form.get("last_read_at") ?? "";
    await call(notificationEndpoints.markNotifications, { query: { last_read_at: lastReadAt } });
  } else {
    const query = { "to-status": form.get("status") ?? "read" };
    await call(notificationEndpoints.markNotification, { params: { id }, query });
  }
  return { kind: "redirect", to: NOTIFICATIONS };
}

type ThreadParams = { readonly id: string };

/** The issue or pull request of a thread. */
function toIssueParams({ subject }: WireThread) {
  if (subject === null || (subject.type !== "Issue" && subject.type !== "Pull")) return undefined;
  const { pathname } = new URL(subject.url);
  const [index = "", , repo = "", owner = ""] = pathname.split("/").reverse();
  return { owner: decodeURIComponent(owner), repo: decodeURIComponent(repo), index };
}

/** Shows a thread: the subject, its newest comments and a reply. Threads of other subjects lead to their pages. */
async function showThread(
  context: ForgePageContext,
  params: ThreadParams,
  shown?: ShownForm,
): Promise<ForgePageAnswer> {
  const { call, session, request } = context;
  if (session === undefined) return toSignIn(request.target);
  const { body: thread } = await call(notificationEndpoints.getNotification, { params });
  const { subject } = thread;
  if (subject === null) return { kind: "redirect", to: NOTIFICATIONS };
  const target = toTarget(subject.latest_comment_html_url || subject.html_url);
  const issueParams = toIssueParams(thread);
  if (issueParams === undefined) return { kind: "redirect", to: target };
  const { body: issue } = await call(issueEndpoints.getIssue, { params: issueParams });
  const home = issue.repository.full_name;
  const { comments, page, last } = await loadComments(context, issueParams);
  const here = `${NOTIFICATIONS}/${thread.id}`;
  const texts = await Promise.all(
    comments.map(async (comment) => ({
      comment,
      html: await renderComment(context, home, comment.body),
    })),
  );
  const action = `${NOTIFICATIONS}/${thread.id}/reply`;
  const token = session.formToken;
  return {
    kind: "page",
    title: subject.title,
    ...(shown?.failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <p className="crumbs">
          <a href={NOTIFICATIONS}>Notifications</a> / {home}
        </p>
        <h1>
          <a href={target}>
            <bdi>{subject.title}</bdi>
          </a>{" "}
          <span className="quiet">{`#${issue.number}`}</span> <State word={subject.state} />
        </h1>
        <div className="tools">
          <Mark id={thread.id} to="read" text="Done" title={subject.title} token={token} />
          <Mark id={thread.id} to="pinned" text="Pin" title={subject.title} token={token} />
        </div>
        {page > 1 ? (
          <p>
            <a href={`${here}?page=${page - 1}`}>Show older comments</a>
          </p>
        ) : (
          <Entry
            author={issue.user}
            at={issue.created_at}
            verb="opened this"
            text={issue.body}
            html={await renderComment(context, home, issue.body)}
          />
        )}
        {texts.map(({ comment, html }) => (
          <Entry
            key={comment.id}
            author={comment.user}
            at={comment.created_at}
            verb="commented"
            text={comment.body}
            html={html}
          />
        ))}
        {page < last ? (
          <p>
            <a href={page + 1 === last ? here : `${here}?page=${page + 1}`}>Show newer comments</a>
          </p>
        ) : null}
        <Form action={action} token={token} className="wide">
          <TextField
            label="Reply, in Markdown"
            value={shown === undefined ? "" : readText(context)}
            shown={shown}
            isNeeded
          />
          <TextButtons submit="Reply" preview={`${action}/preview`} />
        </Form>
      </>
    ),
  };
}

/** Loads the comments of the part of a timeline that the address names; by default the last part that has any. */
async function loadComments({ call, request }: ForgePageContext, params: IssueParams) {
  const load = async (page: number) => {
    const query = { page: String(page), limit: String(ENTRIES_READ) };
    const { body, total = 0 } = await call(issueStateEndpoints.listIssueTimeline, {
      params,
      query,
    });
    const last = Math.max(1, Math.ceil(total / ENTRIES_READ));
    return { comments: body.filter(({ type }) => type === "comment"), page, last };
  };
  if (request.query.has("page")) return load(toPageNumber(request));
  const first = await load(1);
  if (first.last === 1) return first;
  const newest = await load(first.last);
  return newest.comments.length > 0 || newest.page === 1 ? newest : load(newest.page - 1);
}

function Entry({
  author,
  at,
  verb,
  text,
  html,
}: {
  author: WireComment["user"];
  at: string;
  verb: string;
  text: string;
  html: string | undefined;
}) {
  return (
    <article className="card">
      <p className="head">
        <span>
          <UserLink user={author} /> {verb} <Time at={at} />
        </span>
      </p>
      {text === "" ? (
        <p className="content quiet">No text.</p>
      ) : (
        <Rendered html={html} text={text} />
      )}
    </article>
  );
}

/** Returns the path of an address of this server, so that the page works at every address of the server. */
function toTarget(address: string): string {
  const { pathname, hash } = new URL(address);
  return `${pathname}${hash}`;
}

/** Comments on the subject of a thread, and marks the thread as read. */
async function reply(context: ForgePageContext, params: ThreadParams): Promise<ForgePageAnswer> {
  const { call, session } = context;
  const here = toPath("notifications", params.id);
  if (session === undefined) return toSignIn(here);
  const { body: thread } = await call(notificationEndpoints.getNotification, { params });
  const issueParams = toIssueParams(thread);
  if (issueParams === undefined) return { kind: "redirect", to: here };
  const refusal = await findRefusal(formRefusals, async () => {
    const body = { body: readText(context) };
    await call(issueEndpoints.createIssueComment, { params: issueParams, body });
    await call(notificationEndpoints.markNotification, { params, query: {} });
  });
  if (refusal === undefined) return { kind: "redirect", to: here };
  return showThread(context, params, { of: "comment", failed: toSentence(refusal) });
}

async function preview(context: ForgePageContext, params: ThreadParams): Promise<ForgePageAnswer> {
  const { body: thread } = await context.call(notificationEndpoints.getNotification, { params });
  const text = readText(context);
  const html = await renderComment(context, thread.repository?.full_name ?? "", text);
  return showThread(context, params, { of: "comment", preview: { html, text } });
}
