import { reactionEndpoints } from "../../contract/forge/issues/reactions.ts";
import { Alert, State } from "../../pages/elements.tsx";
import type { ForgePageContext } from "./forge-page.ts";
import { TextCard } from "./comment-card.tsx";
import { toIssuePath, toIssueState } from "./issue-list.tsx";
import { IssueSidebar } from "./issue-sidebar.tsx";
import { type IssueParams, type IssueWork, loadIssueBoxes, loadIssueWork } from "./issue-work.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";
import { renderComment, type ShownForm } from "./texts.tsx";
import { CommentForm, loadTimeline, Timeline } from "./timeline.tsx";

/** Shows an issue with its conversation; leads to the page of a pull request. */
export async function showIssue(context: ForgePageContext, params: IssueParams, shown?: ShownForm) {
  const { request } = context;
  const head = await loadHead(context, params);
  const work = await loadIssueWork(context, params, head, shown);
  const { issue } = work;
  if (issue.pull_request !== null) return { kind: "redirect", to: toIssuePath(issue) } as const;
  const timeline = await loadTimeline(context, params, {
    home: head.full_name,
    isImported: issue.original_author !== "",
  });
  const boxes = await loadIssueBoxes(work, params);
  return {
    kind: "page",
    title: `${issue.title} #${issue.number} in ${head.full_name}`,
    ...(shown?.failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <h2>
          <bdi>{issue.title}</bdi> <span className="quiet">{`#${issue.number}`}</span>
        </h2>
        <p className="quiet">
          <State word={toIssueState(issue)} />
          {issue.is_locked ? <span className="label">locked</span> : null}
          {issue.pin_order > 0 ? <span className="label">pinned</span> : null}
        </p>
        {shown?.of === "box" ? <Alert text={shown.failed} /> : null}
        <div className="beside">
          <div>
            {await IssueText(work, params)}
            <Timeline timeline={timeline} home={head.full_name} query={request.query} work={work} />
            <CommentForm work={work} />
          </div>
          <IssueSidebar work={work} boxes={boxes} />
        </div>
      </>
    ),
  } as const;
}

/** The text of an issue or a pull request with its forms. */
export async function IssueText(work: IssueWork, { owner, repo, index }: IssueParams) {
  const { issue, repository, context } = work;
  const reactions = await context.call(reactionEndpoints.listIssueReactions, {
    params: { owner, repo, index },
    query: { limit: "50" },
  });
  const text = {
    key: "text",
    path: "",
    author: issue.user,
    originalAuthor: issue.original_author,
    verb: "opened this",
    createdAt: issue.created_at,
    isEdited: issue.content_version > 0,
    text: issue.body,
    html: await renderComment(context, repository.full_name, issue.body),
    files: issue.assets,
    reactions: reactions.body,
  };
  return <TextCard work={work} text={text} title={issue.title} />;
}
