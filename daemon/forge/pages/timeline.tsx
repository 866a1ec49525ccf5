import type { ReactNode } from "react";
import { attachmentEndpoints } from "../../contract/forge/issues/attachments.ts";
import {
  issueStateEndpoints,
  type WireTimelineEntry,
} from "../../contract/forge/issues/issue-states.ts";
import type { WireIssue } from "../../contract/forge/issues/issues.ts";
import { FileList, Pager, Rendered, Time } from "../../pages/elements.tsx";
import { declareForm } from "../../pages/form.tsx";
import { toPageNumber } from "../../pages/page.ts";
import { UserLink } from "./elements.tsx";
import type { ForgePageContext, RepositoryParams } from "./forge-page.ts";
import { CauseLink, toEventText } from "./issue-event.tsx";

/** Number of entries on one page. */
export const ENTRIES_SHOWN = 30;

/** An entry of a timeline with what its page shows. */
export interface TimelineItem {
  readonly entry: WireTimelineEntry;
  /** The text of a comment or a review as HTML; undefined if it is shown as it is. */
  readonly html: string | undefined;
  readonly files: WireIssue["assets"];
}

/** A page of a timeline. */
export interface LoadedTimeline {
  readonly items: readonly TimelineItem[];
  readonly page: number;
  readonly total: number;
}

/** Loads the page of a timeline that the address names, of an issue or a pull request. */
export async function loadTimeline(
  { call, render, request }: ForgePageContext,
  params: RepositoryParams & { readonly index: string },
  home: string,
): Promise<LoadedTimeline> {
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(ENTRIES_SHOWN) };
  const { owner, repo, index } = params;
  const path = { owner, repo, index };
  const { body, total = 0 } = await call(issueStateEndpoints.listIssueTimeline, {
    params: path,
    query,
  });
  const items = await Promise.all(
    body.map(async (entry) => {
      const isComment = entry.type === "comment";
      if (!isComment && entry.type !== "review") return { entry, html: undefined, files: [] };
      const id = String(entry.id);
      return {
        entry,
        html: await render({ text: entry.body, mode: "comment", context: `/${home}` }),
        files: isComment
          ? (
              await call(attachmentEndpoints.listCommentAttachments, {
                params: { owner, repo, id },
              })
            ).body
          : [],
      };
    }),
  );
  return { items, page, total };
}

/** The comments and events of a timeline. `more` is shown below an entry. */
export function Timeline({
  timeline: { items, page, total },
  home,
  query,
  more,
}: {
  timeline: LoadedTimeline;
  home: string;
  query: URLSearchParams;
  more?: (entry: WireTimelineEntry) => ReactNode;
}) {
  return (
    <>
      {items.map(({ entry, html, files }) =>
        entry.type === "comment" || entry.type === "review" ? (
          <article className="card" key={entry.id} id={`issuecomment-${entry.id}`}>
            <p className="head">
              <UserLink user={entry.user} /> {entry.type === "review" ? "reviewed" : "commented"}{" "}
              <Time at={entry.created_at} />
            </p>
            {entry.body === "" ? null : <Rendered html={html} text={entry.body} />}
            <Files files={files} />
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

/** The form for a comment, or a link to the sign-in. */
export function CommentForm({
  context: { form, request, session },
  action,
  failed,
}: {
  context: ForgePageContext;
  action: string;
  failed: string | undefined;
}) {
  if (session === undefined)
    return (
      <p>
        <a href={`/user/login?redirect_to=${encodeURIComponent(request.target)}`}>Sign in</a> to
        comment.
      </p>
    );
  return (
    <commentForm.Form
      action={action}
      token={session.formToken}
      values={failed === undefined ? undefined : commentForm.read(form)}
      failed={failed === undefined ? undefined : { text: failed }}
    />
  );
}

/** The files of an issue. Their addresses accept the session of this page. */
export function Files({ files }: { files: WireIssue["assets"] }) {
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

export const commentForm = declareForm({
  submit: "Comment",
  fields: { body: { label: "Comment, in Markdown", type: "multiline", lengthMax: 65_536 } },
});
