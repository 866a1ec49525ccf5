import { AppError } from "../../errors.ts";
import { issueDependencyEndpoints } from "../../contract/forge/issues/dependencies.ts";
import { issueStateEndpoints } from "../../contract/forge/issues/issue-states.ts";
import { issueEndpoints, type WireIssue } from "../../contract/forge/issues/issues.ts";
import { reactionEndpoints } from "../../contract/forge/issues/reactions.ts";
import { Label, StateTabs, UserLink } from "./elements.tsx";
import { EmptyState, Facts, Pager, Rendered, State, Time } from "../../pages/elements.tsx";
import { SearchForm } from "../../pages/form.tsx";
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
import { toReference } from "./issue-event.tsx";
import {
  CommentForm,
  commentForm,
  ENTRIES_SHOWN,
  Files,
  loadTimeline,
  Timeline,
} from "./timeline.tsx";

type IssueParams = RepositoryParams & { readonly index: string };

/** Number of issues on one page. */
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
  const query = { state, q, type: "issues", page: String(page), limit: String(LIMIT) };
  const { body: issues, total = 0 } = await call(issueEndpoints.listIssues, { params, query });
  return {
    kind: "page",
    title: `Issues of ${head.full_name}`,
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <SearchForm label="Search issues" query={q} kept={{ state }} />
        <StateTabs current={state} kept={{ q }} />
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

const toIssuePath = ({ repository, number, pull_request: pull }: WireIssue) =>
  toPath(repository.owner, repository.name, pull === null ? "issues" : "pulls", String(number));

async function showIssue(context: ForgePageContext, params: IssueParams, failed?: string) {
  const { call, render, request } = context;
  const { body: issue } = await call(issueEndpoints.getIssue, { params });
  if (issue.pull_request !== null && failed === undefined)
    return { kind: "redirect", to: toIssuePath(issue) } as const;
  const head = await loadHead(context, params);
  const timeline = await loadTimeline(context, params, head.full_name);
  const reactions = await call(reactionEndpoints.listIssueReactions, {
    params,
    query: { limit: "50" },
  });
  const renderContext = `/${head.full_name}`;
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
        <Timeline timeline={timeline} home={head.full_name} query={request.query} />
        <CommentForm context={context} action={action} failed={failed} />
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
  const page = Math.max(1, Math.ceil(total / ENTRIES_SHOWN));
  const to = `${toIssuePath(issue)}?page=${page}#issuecomment-${commentId}`;
  return { kind: "redirect", to };
}
