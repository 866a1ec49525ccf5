// Routes of issues other than their texts: search, timeline, locks, pins, assignees, reactions.
import * as contract from "../../contract/forge/issues/issue-states.ts";
import * as assigneeContract from "../../contract/forge/issues/assignees.ts";
import * as reactionContract from "../../contract/forge/issues/reactions.ts";
import type { Route } from "../../http/handle.ts";
import { toUserView } from "../accounts/user.view.ts";
import { handle } from "../handle.ts";
import { type ForgeUrls, toWireTime } from "../urls.ts";
import type { Assignees } from "./assignees.service.ts";
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
  return [
    handle(contract.issueStateEndpoints.searchIssues, async ({ caller, query }) => {
      const { issues: page, total } = await issues.search(caller, query);
      return { status: 200, body: page.map((each) => toIssueView(each, urls)), total };
    }),
    handle(contract.issueStateEndpoints.deleteIssue, async ({ caller, params }) => {
      await states.remove(params, caller);
      return { status: 204 };
    }),
    handle(contract.issueStateEndpoints.setIssueDeadline, async ({ caller, params, body }) => {
      const dueAt = toEndOfDay(body.due_date) ?? null;
      const set = await issues.setDeadline(params, caller, dueAt);
      return { status: 201, body: { due_date: set === undefined ? null : toWireTime(set) } };
    }),
    handle(contract.issueStateEndpoints.lockIssue, async ({ caller, params, body }) => {
      await states.lock(params, caller, body.lock_reason ?? "");
      return { status: 204 };
    }),
    handle(contract.issueStateEndpoints.unlockIssue, async ({ caller, params }) => {
      await states.unlock(params, caller);
      return { status: 204 };
    }),
    handle(contract.issueStateEndpoints.listPinnedIssues, async ({ caller, params }) => ({
      status: 200,
      body: (await states.listPinned(params, caller)).map((each) => toIssueView(each, urls)),
    })),
    handle(contract.issueStateEndpoints.getPinAllowance, async ({ opened }) => ({
      status: 200,
      body: await states.hasRoomForPin(opened),
    })),
    handle(contract.issueStateEndpoints.pinIssue, async ({ caller, params }) => {
      await states.pin(params, caller);
      return { status: 204 };
    }),
    handle(contract.issueStateEndpoints.unpinIssue, async ({ caller, params }) => {
      await states.unpin(params, caller);
      return { status: 204 };
    }),
    handle(contract.issueStateEndpoints.movePinnedIssue, async ({ caller, params }) => {
      await states.movePin(params, caller, params.position);
      return { status: 204 };
    }),
    handle(contract.issueStateEndpoints.listIssueTimeline, async ({ caller, params, query }) => {
      const timeline = await timelines.list(params, caller, query);
      return { status: 200, body: toTimelineView(timeline, urls), total: timeline.total };
    }),
    handle(
      contract.issueStateEndpoints.listRepositoryComments,
      async ({ caller, params, query }) => {
        const { comments, total } = await timelines.listComments(params, caller, query);
        return { status: 200, body: comments.map((each) => toCommentView(each, urls)), total };
      },
    ),
    handle(contract.issueStateEndpoints.deleteIssueComment, async ({ caller, params }) => {
      await timelines.removeComment(params, caller);
      return { status: 204 };
    }),
    handle(contract.issueStateEndpoints.deleteCommentOfIssue, async ({ caller, params }) => {
      await timelines.removeComment(params, caller);
      return { status: 204 };
    }),
    handle(contract.issueStateEndpoints.editCommentOfIssue, async ({ caller, params, body }) => ({
      status: 200,
      body: toCommentView(await issues.editComment(params, caller, body), urls),
    })),
    ...assigneeRoutes(issues, assignees, urls),
    ...reactionRoutes(reactions, urls),
  ];
}

function assigneeRoutes(issues: Issues, assignees: Assignees, urls: ForgeUrls): Route[] {
  return [
    handle(assigneeContract.assigneeEndpoints.listAssignableUsers, async ({ caller, params }) => {
      const users = await issues.listAssignable(params, caller);
      return { status: 200, body: users.map((user) => toUserView(user, caller?.user, urls)) };
    }),
    handle(assigneeContract.assigneeEndpoints.listReviewers, async ({ caller, params }) => {
      const users = await assignees.listReviewers(params, caller);
      return { status: 200, body: users.map((user) => toUserView(user, caller.user, urls)) };
    }),
    handle(assigneeContract.assigneeEndpoints.checkAssignableUser, async ({ caller, params }) => {
      await assignees.assertAssignable(params, caller);
      return { status: 204 };
    }),
    handle(assigneeContract.assigneeEndpoints.checkIssueAssignee, async ({ caller, params }) => {
      await assignees.assertAssignable(params, caller);
      return { status: 204 };
    }),
    handle(
      assigneeContract.assigneeEndpoints.addIssueAssignees,
      async ({ caller, params, body }) => ({
        status: 201,
        body: toIssueView(await assignees.add(params, caller, body.assignees), urls),
      }),
    ),
    handle(
      assigneeContract.assigneeEndpoints.removeIssueAssignees,
      async ({ caller, params, body }) => ({
        status: 200,
        body: toIssueView(await assignees.remove(params, caller, body.assignees), urls),
      }),
    ),
  ];
}

function reactionRoutes(reactions: Reactions, urls: ForgeUrls): Route[] {
  const { listIssueReactions, addIssueReaction, removeIssueReaction } =
    reactionContract.reactionEndpoints;
  const { listCommentReactions, addCommentReaction, removeCommentReaction } =
    reactionContract.reactionEndpoints;
  return [
    ...([listIssueReactions, listCommentReactions] as const).map((declared) =>
      handle(declared, async ({ caller, params, query }) => {
        const { reactions: page, total } = await reactions.list(params, caller, query);
        return { status: 200, body: page.map((each) => toReactionView(each, urls)), total };
      }),
    ),
    ...([addIssueReaction, addCommentReaction] as const).map((declared) =>
      handle(declared, async ({ caller, params, body }) => {
        const added = await reactions.add(params, caller, body.content);
        return { status: added.isNew ? 201 : 200, body: toReactionView(added, urls) };
      }),
    ),
    ...([removeIssueReaction, removeCommentReaction] as const).map((declared) =>
      handle(declared, async ({ caller, params, body }) => {
        await reactions.remove(params, caller, body.content);
        return { status: 200 };
      }),
    ),
  ];
}
