import { issueEndpoints } from "../../contract/forge/issues/issues.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import {
  toCommentAnswer,
  toCommentView,
  toIssueEdit,
  toIssueView,
  toNewIssue,
  toWatchView,
} from "./issue.view.ts";
import type { Issues } from "./issues.service.ts";
import type { Watching } from "./watching.service.ts";

export function issueRoutes({
  issues,
  watching,
  urls,
}: {
  readonly issues: Issues;
  readonly watching: Watching;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(issueEndpoints, {
    listIssues: async ({ opened, caller, query }) => {
      const { issues: found, total } = await issues.list(opened, caller, query);
      return page(
        found.map((each) => toIssueView(each, urls)),
        total,
      );
    },
    createIssue: async ({ opened, caller, body }) =>
      toIssueView(await issues.create(opened, caller, toNewIssue(body)), urls),
    getIssue: async ({ opened, caller, params }) =>
      toIssueView(await issues.get(opened, params.index, caller), urls),
    editIssue: async ({ opened, caller, params, body }) =>
      toIssueView(await issues.edit(opened, params.index, caller, toIssueEdit(body)), urls),
    listIssueComments: async ({ opened, params, query }) => {
      const { comments, total } = await issues.listComments(opened, params.index, query);
      return page(
        comments.map((each) => toCommentView(each, urls)),
        total,
      );
    },
    createIssueComment: async ({ opened, caller, params, body }) =>
      toCommentView(await issues.comment(opened, params.index, caller, body.body), urls),
    getIssueComment: async ({ opened, params }) =>
      toCommentAnswer(await issues.getComment(opened, params.id), urls),
    editIssueComment: async ({ opened, caller, params, body, request }) => {
      const ifMatch = request.headers["if-match"];
      const change = { body: body.body, ifMatch };
      return toCommentView(await issues.editComment(opened, params.id, caller, change), urls);
    },
    listIssueSubscriptions: async ({ opened, caller, params, query }) => {
      const found = await watching.listSubscribers(opened, params.index, caller, query);
      const isSignedIn = caller !== undefined;
      return page(
        found.users.map((user) => toEmbeddedUserView(user, isSignedIn, urls)),
        found.total,
      );
    },
    checkIssueSubscription: async ({ opened, caller, params }) =>
      toWatchView(await watching.check(opened, params.index, caller), urls),
    subscribeToIssue: async ({ opened, caller, params }) =>
      toChanged(await watching.setSubscription(opened, params, caller, true)),
    unsubscribeFromIssue: async ({ opened, caller, params }) =>
      toChanged(await watching.setSubscription(opened, params, caller, false)),
    getWatch: async ({ opened, caller }) =>
      toWatchView(await watching.getWatch(opened, caller), urls),
    watchRepository: async ({ opened, caller }) =>
      toWatchView(await watching.watch(opened, caller), urls),
    unwatchRepository: ({ opened, caller }) => watching.unwatch(opened, caller),
  });
}

const toChanged = (isChanged: boolean) => ({ status: isChanged ? 201 : 200 }) as const;
