// Routes of issues other than their texts: search, timeline, locks, pins, assignees, reactions.
import { assigneeEndpoints } from "../../contract/forge/issues/assignees.ts";
import { issueStateEndpoints } from "../../contract/forge/issues/issue-states.ts";
import { reactionEndpoints } from "../../contract/forge/issues/reactions.ts";
import type { Route } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import { toUserView } from "../accounts/user.view.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { GrantedRepository } from "../opened.ts";
import type { PageWindow } from "../page-window.ts";
import { type ForgeUrls, toWireTime } from "../urls.ts";
import type { Assignees } from "./assignees.service.ts";
import type { IssueDetails } from "./issue-details.ts";
import type { IssueOrComment } from "./issue-requests.ts";
import { toCommentView, toIssueView } from "./issue.view.ts";
import type { IssueStates } from "./issue-states.service.ts";
import type { Issues } from "./issues.service.ts";
import { toEndOfDay } from "./planning.view.ts";
import type { Reactions } from "./reactions.service.ts";
import type { Timelines } from "./timeline.service.ts";
import { toReactionView, toTimelineView } from "./timeline.view.ts";

export function issueStateRoutes({
  issues,
  states,
  timelines,
  reactions,
  assignees,
  urls,
}: {
  readonly issues: Issues;
  readonly states: IssueStates;
  readonly timelines: Timelines;
  readonly reactions: Reactions;
  readonly assignees: Assignees;
  readonly urls: ForgeUrls;
}): Route[] {
  const show = (issue: IssueDetails) => toIssueView(issue, urls);
  const removeComment = ({ opened, params, caller }: Input & { params: { id: number } }) =>
    timelines.removeComment(opened, params.id, caller);
  return [
    ...serve(issueStateEndpoints, {
      searchIssues: async ({ caller, query }) => {
        const { issues: found, total } = await issues.search(caller, query);
        return page(found.map(show), total);
      },
      deleteIssue: ({ opened, params, caller }) => states.remove(opened, params.index, caller),
      setIssueDeadline: async ({ opened, params, caller, body }) => {
        const dueAt = toEndOfDay(body.due_date) ?? null;
        const set = await issues.setDeadline(opened, params.index, caller, dueAt);
        return { due_date: set === undefined ? null : toWireTime(set) };
      },
      lockIssue: ({ opened, params, caller, body }) =>
        states.lock(opened, params.index, caller, body.lock_reason ?? ""),
      unlockIssue: ({ opened, params, caller }) => states.unlock(opened, params.index, caller),
      listPinnedIssues: async ({ opened, caller }) =>
        (await states.listPinned(opened, caller)).map(show),
      getPinAllowance: ({ opened }) => states.hasRoomForPin(opened),
      pinIssue: ({ opened, params, caller }) => states.pin(opened, params.index, caller),
      unpinIssue: ({ opened, params, caller }) => states.unpin(opened, params.index, caller),
      movePinnedIssue: ({ opened, params }) =>
        states.movePin(opened, params.index, params.position),
      listIssueTimeline: async ({ opened, params, caller, query }) => {
        const timeline = await timelines.list(opened, params.index, caller, query);
        return answer(toTimelineView(timeline, urls), { total: timeline.total });
      },
      listRepositoryComments: async ({ opened, caller, query }) => {
        const { comments, total } = await timelines.listComments(opened, caller, query);
        return page(
          comments.map((each) => toCommentView(each, urls)),
          total,
        );
      },
      deleteIssueComment: removeComment,
      deleteCommentOfIssue: removeComment,
      editCommentOfIssue: async ({ opened, params, caller, body }) =>
        toCommentView(await issues.editComment(opened, params.id, caller, body), urls),
    }),
    ...assigneeRoutes(assignees, urls),
    ...reactionRoutes(reactions, urls),
  ];
}

function assigneeRoutes(assignees: Assignees, urls: ForgeUrls): Route[] {
  const list = async ({
    opened,
    caller,
  }: {
    opened: GrantedRepository;
    caller: ForgeCaller | undefined;
  }) => (await assignees.list(opened, caller)).map((user) => toUserView(user, caller?.user, urls));
  return serve(assigneeEndpoints, {
    listAssignableUsers: list,
    listReviewers: list,
    checkAssignableUser: ({ opened, params, caller }) =>
      assignees.assertAssignable(opened, params.assignee, caller),
    checkIssueAssignee: ({ opened, params, caller }) =>
      assignees.assertAssignableTo(opened, params.index, params.assignee, caller),
    addIssueAssignees: async ({ opened, params, caller, body }) =>
      toIssueView(await assignees.add(opened, params.index, caller, body.assignees), urls),
    removeIssueAssignees: async ({ opened, params, caller, body }) =>
      toIssueView(await assignees.remove(opened, params.index, caller, body.assignees), urls),
  });
}

function reactionRoutes(reactions: Reactions, urls: ForgeUrls): Route[] {
  const list = async ({ opened, params, query }: Omit<Input, "caller"> & { query: PageWindow }) => {
    const { reactions: found, total } = await reactions.list(opened, params, query);
    return page(
      found.map((each) => toReactionView(each, urls)),
      total,
    );
  };
  const add = async ({ opened, params, caller, body }: Input & ReactionInput) => {
    const added = await reactions.add(opened, params, caller, body.content);
    return { status: added.isNew ? 201 : 200, body: toReactionView(added, urls) } as const;
  };
  const remove = ({ opened, params, caller, body }: Input & ReactionInput) =>
    reactions.remove(opened, params, caller, body.content);
  return serve(reactionEndpoints, {
    listIssueReactions: list,
    addIssueReaction: add,
    removeIssueReaction: remove,
    listCommentReactions: list,
    addCommentReaction: add,
    removeCommentReaction: remove,
  });
}

interface Input {
  readonly opened: GrantedRepository;
  readonly params: IssueOrComment;
  readonly caller: ForgeCaller;
}

interface ReactionInput {
  readonly body: { readonly content: string };
}
