import type { ReactNode } from "react";
import { attachmentEndpoints } from "../../contract/forge/issues/attachments.ts";
import {
  issueStateEndpoints,
  type WireTimelineEntry,
} from "../../contract/forge/issues/issue-states.ts";
import { issueEndpoints, type WireIssue } from "../../contract/forge/issues/issues.ts";
import { reactionEndpoints, type WireReaction } from "../../contract/forge/issues/reactions.ts";
import { Pager, Rendered, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { toPageNumber } from "../../pages/page.ts";
import { TextCard } from "./comment-card.tsx";
import { Author, UserLink } from "./elements.tsx";
import { findRefusal, type ForgePageContext, type RepositoryParams } from "./forge-page.ts";
import { CauseLink, toEventText } from "./issue-event.tsx";
import type { IssueWork } from "./issue-work.ts";
import { FilePicker, readText, renderComment, TextButtons, TextField } from "./texts.tsx";

/** Number of entries on one page. */
export const ENTRIES_SHOWN = 30;

/** An entry of a timeline with what its page shows. */
export interface TimelineItem {
  readonly entry: WireTimelineEntry;
  /** The text of a comment or a review as HTML; undefined if it is shown as it is. */
  readonly html: string | undefined;
  /** Of a comment of an imported issue: the name of its author there; empty for one that was written here. */
  readonly originalAuthor: string;
  readonly files: WireIssue["assets"];
  readonly reactions: readonly WireReaction[];
}

/** A page of a timeline. */
export interface LoadedTimeline {
  readonly items: readonly TimelineItem[];
  readonly page: number;
  readonly total: number;
}

/** Loads the page of a timeline that the address names, of an issue or a pull request. */
export async function loadTimeline(
  context: ForgePageContext,
  params: RepositoryParams & { readonly index: string },
  {
    home,
    isImported,
  }: {
    /** `owner/name`. */
    readonly home: string;
    /** Whether comments may have authors on another server. */
    readonly isImported: boolean;
  },
): Promise<LoadedTimeline> {
  const { call } = context;
  const page = toPageNumber(context.request);
  const query = { page: String(page), limit: String(ENTRIES_SHOWN) };
  const { owner, repo, index } = params;
  const path = { owner, repo, index };
  const { body, total = 0 } = await call(issueStateEndpoints.listIssueTimeline, {
    params: path,
    query,
  });
  const items: TimelineItem[][] = await Promise.all(
    body.map(async (entry) => {
      const html =
        entry.type === "comment" || entry.type === "review"
          ? await renderComment(context, home, entry.body)
          : undefined;
      const plain = { entry, html, originalAuthor: "", files: [], reactions: [] };
      if (entry.type !== "comment") return [plain];
      const of = { owner, repo, id: String(entry.id) };
      const found: TimelineItem[] = [];
      // It may have been deleted since the timeline was read.
      await findRefusal(["not_found"], async () => {
        found.push({ ...plain, ...(await loadCommentParts(context, of, isImported)) });
      });
      return found;
    }),
  );
  return { items: items.flat(), page, total };
}

async function loadCommentParts(
  { call }: ForgePageContext,
  params: RepositoryParams & { readonly id: string },
  isImported: boolean,
): Promise<Pick<TimelineItem, "originalAuthor" | "files" | "reactions">> {
  const comment = isImported ? await call(issueEndpoints.getIssueComment, { params }) : undefined;
  const { body: files } = await call(attachmentEndpoints.listCommentAttachments, { params });
  const { body: reactions } = await call(reactionEndpoints.listCommentReactions, {
    params,
    query: { limit: "50" },
  });
  const originalAuthor = comment?.status === 200 ? comment.body.original_author : "";
  return { originalAuthor, files, reactions };
}

/** The comments and events of a timeline. `more` is shown below an entry. */
export function Timeline({
  timeline: { items, page, total },
  home,
  query,
  work,
  more,
  toReviewer = () => "",
}: {
  timeline: LoadedTimeline;
  home: string;
  query: URLSearchParams;
  work: IssueWork;
  more?: (entry: WireTimelineEntry) => ReactNode;
  /** Returns the name of the author of an imported review; empty for one that was written here. */
  toReviewer?: (entry: WireTimelineEntry) => string;
}) {
  return (
    <>
      {items.map(({ entry, html, originalAuthor, files, reactions }) =>
        entry.type === "comment" ? (
          <TextCard
            key={entry.id}
            id={`issuecomment-${entry.id}`}
            work={work}
            text={{
              key: `comment-${entry.id}`,
              path: `/comments/${entry.id}`,
              author: entry.user,
              originalAuthor,
              verb: "commented",
              createdAt: entry.created_at,
              isEdited: entry.updated_at > entry.created_at,
              text: entry.body,
              html,
              files,
              reactions,
            }}
          >
            {more?.(entry)}
          </TextCard>
        ) : entry.type === "review" ? (
          <article className="card" key={entry.id} id={`issuecomment-${entry.id}`}>
            <p className="head">
              <span>
                <Author user={entry.user} original={toReviewer(entry)} /> reviewed{" "}
                <Time at={entry.created_at} />
              </span>
            </p>
            {entry.body === "" ? null : <Rendered html={html} text={entry.body} />}
            {more?.(entry)}
          </article>
        ) : (
          <p className="event" key={entry.id} id={`issuecomment-${entry.id}`}>
            <UserLink user={entry.user} /> {toEventText(entry, home)}{" "}
            <CauseLink entry={entry} home={home} /> <Time at={entry.created_at} />
          </p>
        ),
      )}
      <Pager page={page} limit={ENTRIES_SHOWN} total={total} query={query} />
    </>
  );
}

/** The form for a comment, with the button that closes or reopens; or the reason why there is none. */
export function CommentForm({ work }: { work: IssueWork }) {
  const { context, issue, repository, actions, query, token, mayComment } = work;
  const shown = work.shown?.of === "comment" ? work.shown : undefined;
  const { request } = context;
  // The person wrote it while it was still allowed.
  const kept =
    shown === undefined ? null : (
      <div className="wide">
        <TextField label="Your comment" value={readText(context)} shown={shown} />
      </div>
    );
  if (token === undefined)
    return (
      <>
        {kept}
        <p className="notice">
          <a href={`/user/login?redirect_to=${encodeURIComponent(request.target)}`}>Sign in</a> to
          comment.
        </p>
      </>
    );
  if (!mayComment)
    return (
      <>
        {kept}
        <p className="notice">
          {repository.archived
            ? "This repository is archived: its issues can be read only."
            : "This conversation is locked: only people with write access may comment."}
        </p>
      </>
    );
  const path = `${actions}/comments`;
  return (
    <Form action={`${path}${query}`} token={token} className="wide" encType="multipart/form-data">
      <TextField
        label="Comment, in Markdown"
        value={shown === undefined || shown.isSent === true ? "" : readText(context)}
        shown={shown}
      />
      <TextButtons submit="Comment" preview={`${path}/preview${query}`}>
        {mayChangeState(work) ? (
          <button
            type="submit"
            formAction={`${path}/${issue.state === "open" ? "close" : "reopen"}${query}`}
          >
            {issue.state === "open" ? "Close" : "Reopen"}
          </button>
        ) : null}
      </TextButtons>
      <FilePicker />
    </Form>
  );
}

/** Authors and people with write access close and reopen; a merged pull request stays as it is. */
function mayChangeState({ issue, me, mayWrite }: IssueWork): boolean {
  return issue.pull_request?.merged !== true && (mayWrite || issue.user?.login === me);
}
