import { AppError } from "../../errors.ts";
import { attachmentEndpoints } from "../../contract/forge/issues/attachments.ts";
import { issueDependencyEndpoints } from "../../contract/forge/issues/dependencies.ts";
import { issueStateEndpoints } from "../../contract/forge/issues/issue-states.ts";
import { issueEndpoints, type WireIssue } from "../../contract/forge/issues/issues.ts";
import { reactionEndpoints } from "../../contract/forge/issues/reactions.ts";
import { Label, UserLink } from "./elements.tsx";
import {
  EmptyState,
  Facts,
  FileList,
  Pager,
  Rendered,
  State,
  Tabs,
  Time,
} from "../../pages/elements.tsx";
import { declareForm, SearchForm } from "../../pages/form.tsx";
import { get, post, toPageNumber, toPath } from "../../pages/page.ts";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type RepositoryParams,
  toSignIn,
} from "./forge-page.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";
import { CommitLink, toEventText, toReference } from "./issue-event.tsx";

type IssueParams = RepositoryParams & { readonly index: string };

/** Number of entries of a list and of a timeline on one page. */
const LIMIT = 30;

/** The issues of a repository, and one issue with its timeline. */
export function issuePages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/issues", showIssues),
    get("/:owner/:repo/issues/:index", (context, params) => showIssue(context, params)),
    post("/:owner/:repo/issues/:index/comments", addComment),
  ];
}

async function showIssues(context: ForgePageContext, params: RepositoryParams) {
  const { call, request } = context;
  const head = await loadHead(context, params);
  const page = toPageNumber(request);
  const state = request.query.get("state") ?? "open";
  const q = request.query.get("q") ?? "";
  const query = { state, q, page: String(page), limit: String(LIMIT) };
  const { body: issues, total = 0 } = await call(issueEndpoints.listIssues, { params, query });
  return {
    kind: "page",
    title: `Issues of ${head.full_name}`,
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <SearchForm label="Search issues" query={q} kept={{ state }} />
        <Tabs
          label="State"
          tabs={["open", "closed", "all"].map((word) => ({
            key: word,
            text: word,
            href: `?${new URLSearchParams({ state: word, q })}`,
          }))}
          current={state}
        />
        <IssueList issues={issues} />
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

function IssueList({ issues }: { issues: readonly WireIssue[] }) {
  if (issues.length === 0) return <EmptyState>No issues.</EmptyState>;
  return (
    <ul className="list">
      {issues.map((issue) => (
        <li key={issue.id}>
          <a href={toIssuePath(issue)}>
            <bdi>{issue.title}</bdi>
          </a>{" "}
          {issue.labels.map((label) => (
            <Label key={label.id} label={label} />
          ))}
          <p className="quiet">
            {`#${issue.number} `}
            <State word={issue.state} /> opened <Time at={issue.created_at} /> by{" "}
            <UserLink user={issue.user} />
            {issue.comments === 0 ? null : `, ${issue.comments} comments`}
          </p>
        </li>
      ))}
    </ul>
  );
}

/** The files of an issue. Their addresses accept the session of this page. */
function Files({ files }: { files: WireIssue["assets"] }) {
  if (files.length === 0) return null;
  return (
    <FileList
      label="Files"
      entries={files.map(({ uuid, name, size }) => ({
        name,
        href: `/attachments/${uuid}`,
        note: `${size} bytes`,
      }))}
    />
  );
}

const toIssuePath = ({ repository, number }: WireIssue) =>
  toPath(repository.owner, repository.name, "issues", String(number));

async function showIssue(context: ForgePageContext, params: IssueParams, failed?: string) {
  const { call, render, request, session } = context;
  const { body: issue } = await call(issueEndpoints.getIssue, { params });
  const head = await loadHead(context, params);
  const page = toPageNumber(request);
  const window = { page: String(page), limit: String(LIMIT) };
  const timeline = await call(issueStateEndpoints.listIssueTimeline, { params, query: window });
  const reactions = await call(reactionEndpoints.listIssueReactions, {
    params,
    query: { limit: "50" },
  });
  const renderContext = `/${head.full_name}`;
  const entries = await Promise.all(
    timeline.body.map(async (entry) => {
      if (entry.type !== "comment") return { entry, html: undefined, files: [] };
      const { owner, repo } = params;
      const id = String(entry.id);
      return {
        entry,
        html: await render({ text: entry.body, mode: "comment", context: renderContext }),
        files: (
          await call(attachmentEndpoints.listCommentAttachments, { params: { owner, repo, id } })
        ).body,
      };
    }),
  );
  const { blockers, blocked } = await loadDependencies(context, params);
  const bodyHtml = await render({ text: issue.body, mode: "comment", context: renderContext });
  const action = `${toIssuePath(issue)}/comments`;
  return {
    kind: "page",
    title: `${issue.title} #${issue.number} in ${head.full_name}`,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <h2>
          <bdi>{issue.title}</bdi> <span className="quiet">{`#${issue.number}`}</span>
        </h2>
        <IssueProperties issue={issue} />
        <Dependencies title="Depends on" issues={blockers} home={head.full_name} />
        <Dependencies title="Blocks" issues={blocked} home={head.full_name} />
        <article className="card">
          <p className="head">
            <UserLink user={issue.user} /> opened this <Time at={issue.created_at} />
          </p>
          <Rendered html={bodyHtml} text={issue.body} />
          <Files files={issue.assets} />
          <Reactions contents={reactions.body.map(({ content }) => content)} />
        </article>
        {entries.map(({ entry, html, files }) =>
          entry.type === "comment" ? (
            <article className="card" key={entry.id} id={`issuecomment-${entry.id}`}>
              <p className="head">
                <UserLink user={entry.user} /> commented <Time at={entry.created_at} />
              </p>
              <Rendered html={html} text={entry.body} />
              <Files files={files} />
            </article>
          ) : (
            <p className="event" key={entry.id} id={`issuecomment-${entry.id}`}>
              <UserLink user={entry.user} /> {toEventText(entry, head.full_name)}{" "}
              <CommitLink entry={entry} /> <Time at={entry.created_at} />
            </p>
          ),
        )}
        <Pager page={page} limit={LIMIT} total={timeline.total ?? 0} query={request.query} />
        {session === undefined ? (
          <p>
            <a href={`/user/login?redirect_to=${encodeURIComponent(request.target)}`}>Sign in</a> to
            comment.
          </p>
        ) : (
          <commentForm.Form
            action={action}
            token={session.formToken}
            values={failed === undefined ? undefined : commentForm.read(context.form)}
            failed={failed === undefined ? undefined : { text: failed }}
          />
        )}
      </>
    ),
  } as const;
}

/** Number of issues on one page of dependencies; an issue has few. */
const DEPENDENCIES_SHOWN = "50";

/** Loads the dependencies of an issue; empty when the repository has them disabled. */
async function loadDependencies({ call }: ForgePageContext, params: IssueParams) {
  const input = { params, query: { limit: DEPENDENCIES_SHOWN } };
  try {
    const { body: blockers } = await call(issueDependencyEndpoints.listIssueDependencies, input);
    const { body: blocked } = await call(issueDependencyEndpoints.listBlockedIssues, input);
    return { blockers, blocked };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "not_found") throw error;
    return { blockers: [], blocked: [] };
  }
}

function Dependencies({
  title,
  issues,
  home,
}: {
  title: string;
  issues: readonly WireIssue[];
  home: string;
}) {
  if (issues.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul className="list">
        {issues.map((issue) => (
          <li key={issue.id}>
            <a href={toIssuePath(issue)}>
              <bdi>{issue.title}</bdi>
            </a>{" "}
            <span className="quiet">{toReference(issue, home)}</span> <State word={issue.state} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function IssueProperties({ issue }: { issue: WireIssue }) {
  const assignees = issue.assignees ?? [];
  return (
    <Facts
      rows={[
        [
          "State",
          <>
            <State word={issue.state} />
            {issue.is_locked ? " locked" : null}
          </>,
        ],
        [
          "Labels",
          issue.labels.length === 0
            ? undefined
            : issue.labels.map((label) => <Label key={label.id} label={label} />),
        ],
        [
          "Assignees",
          assignees.length === 0
            ? undefined
            : assignees.map((user) => (
                <span key={user.id}>
                  <UserLink user={user} />{" "}
                </span>
              )),
        ],
        ["Milestone", issue.milestone?.title],
        ["Due", issue.due_date?.slice(0, 10)],
      ]}
    />
  );
}

function Reactions({ contents }: { contents: readonly string[] }) {
  if (contents.length === 0) return null;
  const counts = new Map<string, number>();
  for (const content of contents) counts.set(content, (counts.get(content) ?? 0) + 1);
  return (
    <p className="content">
      {[...counts].map(([content, count]) => (
        <span className="label" key={content}>
          <span role="img" aria-label={content}>
            {reactionEmoji[content] ?? content}
          </span>
          {count}
        </span>
      ))}
    </p>
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

const commentForm = declareForm({
  submit: "Comment",
  fields: { body: { label: "Comment, in Markdown", type: "multiline", lengthMax: 65_536 } },
});

async function addComment(
  context: ForgePageContext,
  params: IssueParams,
): Promise<ForgePageAnswer> {
  const { call, form, session } = context;
  if (session === undefined)
    return toSignIn(toPath(params.owner, params.repo, "issues", params.index));
  const body = commentForm.read(form).body.replaceAll("\r\n", "\n");
  let commentId = 0;
  const refusal = await findRefusal(["forbidden", "unprocessable", "archived"], async () => {
    commentId = (await call(issueEndpoints.createIssueComment, { params, body: { body } })).body.id;
  });
  if (refusal !== undefined) return showIssue(context, params, refusal.message);
  const { body: issue } = await call(issueEndpoints.getIssue, { params });
  const { total = 1 } = await call(issueStateEndpoints.listIssueTimeline, {
    params,
    query: { limit: "1" },
  });
  const page = Math.max(1, Math.ceil(total / LIMIT));
  const to = `${toIssuePath(issue)}?page=${page}#issuecomment-${commentId}`;
  return { kind: "redirect", to };
}
