import type { WireActivity } from "../../contract/forge/activities.ts";
import type { ForgeCaller } from "../caller.ts";
import { toUserView } from "../accounts/user.view.ts";
import { toCommentView } from "../issues/issue.view.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toWireTime } from "../urls.ts";
import type { ActivityDetails } from "./feeds.service.ts";

/** Maximum characters of a comment that an activity quotes. */
const QUOTE_CHARACTERS_MAX = 200;
/** Maximum distance of a cut from a blank at which the cut moves to the blank, so that no word is broken. */
const WORD_CHARACTERS_MAX = 15;
/** The commits of a push before its job has read them, and of a deleted tag. */
const NO_COMMITS = JSON.stringify({ Commits: [], HeadCommit: null, CompareURL: "", Len: 0 });

/** Converts an activity, with the current texts of issues and comments. */
export function toActivityView(
  details: ActivityDetails,
  viewer: ForgeCaller["user"] | undefined,
  urls: ForgeUrls,
): WireActivity {
  const { activity, receiverId, actor, owned, comment } = details;
  return {
    id: activity.id,
    user_id: receiverId,
    op_type: activity.kind,
    act_user_id: actor.id,
    act_user: toUserView(actor, viewer, urls),
    repo_id: owned.repository.id,
    repo: toRepositoryView(owned, urls),
    comment_id: comment?.comment.id ?? 0,
    comment: comment === undefined ? null : toCommentView(comment, urls),
    ref_name: activity.ref,
    is_private: owned.repository.isPrivate,
    content: toContent(details),
    created: toWireTime(activity.createdAt),
  };
}

function toContent({ activity, issue, comment }: ActivityDetails): string {
  const number = issue?.number ?? 0;
  switch (activity.kind) {
    case "create_issue":
    case "create_pull_request":
    case "merge_pull_request":
      return `${number}|${issue?.title ?? ""}`;
    case "comment_issue":
    case "comment_pull":
      return `${number}|${toQuote(comment?.comment.body ?? "")}`;
    case "close_issue":
    case "reopen_issue":
    case "close_pull_request":
    case "reopen_pull_request":
      return `${number}|`;
    case "commit_repo":
    case "push_tag":
    case "delete_tag":
      return activity.content === "" ? NO_COMMITS : activity.content;
    case "create_repo":
    case "rename_repo":
    case "transfer_repo":
    case "delete_branch":
    case "publish_release":
      return activity.content;
  }
}

function toQuote(text: string): string {
  const characters = [...text.slice(0, 4 * QUOTE_CHARACTERS_MAX)];
  if (characters.length <= QUOTE_CHARACTERS_MAX) return text;
  const cut = characters.slice(0, QUOTE_CHARACTERS_MAX - 1).join("");
  const blank = cut.lastIndexOf(" ");
  const isNear = blank !== -1 && cut.length - blank < WORD_CHARACTERS_MAX;
  return `${isNear ? cut.slice(0, blank) : cut}…`;
}
