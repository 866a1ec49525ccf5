import type { WireThread } from "../../contract/forge/notifications.ts";
import { assertNever } from "../../errors.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toApiUrl, toUrl, toWireTime } from "../urls.ts";
import type { ThreadDetails } from "./subjects.ts";

/** Converts a thread. Members that its recipient may not read are null. */
export function toThreadView(details: ThreadDetails, urls: ForgeUrls): WireThread {
  const { thread } = details;
  const subject = toSubject(details, urls);
  return {
    id: thread.id,
    repository:
      subject === null || details.repository === undefined
        ? null
        : toBareRepository(details.repository, urls),
    subject,
    unread: thread.status === "unread",
    pinned: thread.status === "pinned",
    updated_at: toWireTime(thread.updatedAt),
    url: toApiUrl(urls, `/notifications/threads/${thread.id}`),
  };
}

function toBareRepository(
  details: NonNullable<ThreadDetails["repository"]>,
  urls: ForgeUrls,
): WireThread["repository"] {
  const { permissions: _, ...repository } = toRepositoryView(details, urls);
  return repository;
}

function toSubject(
  { thread, repository: details, issue, pull, lastCommentId }: ThreadDetails,
  urls: ForgeUrls,
): WireThread["subject"] {
  if (details === undefined) return null;
  const fullName = `${details.owner.name}/${details.repository.name}`;
  const home = toUrl(urls, `/${fullName}`);
  const nothing = { latest_comment_url: "", latest_comment_html_url: "", state: "" };
  switch (thread.kind) {
    case "issue":
    case "pull": {
      if (issue === undefined) return null;
      const api = toApiUrl(urls, `/repos/${fullName}/issues`);
      const isPull = thread.kind === "pull";
      const htmlUrl = `${home}/${isPull ? "pulls" : "issues"}/${issue.number}`;
      return {
        title: issue.title,
        url: `${api}/${issue.number}`,
        latest_comment_url: lastCommentId === undefined ? "" : `${api}/comments/${lastCommentId}`,
        html_url: htmlUrl,
        latest_comment_html_url:
          lastCommentId === undefined ? "" : `${htmlUrl}#issuecomment-${lastCommentId}`,
        type: isPull ? "Pull" : "Issue",
        state: pull?.mergedAt === undefined ? (issue.isClosed ? "closed" : "open") : "merged",
      };
    }
    case "commit": {
      const url = `${home}/commit/${thread.commitId ?? ""}`;
      return { title: thread.commitId ?? "", url, html_url: url, type: "Commit", ...nothing };
    }
    case "repository":
      return {
        title: fullName,
        url: `/${fullName}`,
        html_url: home,
        type: "Repository",
        ...nothing,
      };
    default:
      return assertNever(thread.kind);
  }
}
