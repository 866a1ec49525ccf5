import { issueEndpoints } from "../../contract/forge/issues/issues.ts";
import type { Route } from "../../http/handle.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toCommentView, toIssueEdit, toIssueView, toNewIssue, toWatchView } from "./issue.view.ts";
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
  return [
    handle(issueEndpoints.listIssues, async ({ caller, params, query }) => {
      const { issues: page, total } = await issues.list(params, caller, query);
      return { status: 200, body: page.map((each) => toIssueView(each, urls)), total };
    }),
    handle(issueEndpoints.createIssue, async ({ caller, params, body }) => ({
      status: 201,
      body: toIssueView(await issues.create(params, caller, toNewIssue(body)), urls),
    })),
    handle(issueEndpoints.getIssue, async ({ caller, params }) => ({
      status: 200,
      body: toIssueView(await issues.get(params, caller), urls),
    })),
    handle(issueEndpoints.editIssue, async ({ caller, params, body }) => ({
      status: 201,
      body: toIssueView(await issues.edit(params, caller, toIssueEdit(body)), urls),
    })),
    handle(issueEndpoints.listIssueComments, async ({ caller, params, query }) => {
      const { comments, total } = await issues.listComments(params, caller, query);
      return { status: 200, body: comments.map((each) => toCommentView(each, urls)), total };
    }),
    handle(issueEndpoints.createIssueComment, async ({ caller, params, body }) => ({
      status: 201,
      body: toCommentView(await issues.comment(params, caller, body.body), urls),
    })),
    handle(issueEndpoints.getIssueComment, async ({ caller, params }) => ({
      status: 200,
      body: toCommentView(await issues.getComment(params, caller), urls),
    })),
    handle(issueEndpoints.editIssueComment, async ({ caller, params, body, request }) => {
      const ifMatch = request.headers["if-match"];
      const edited = await issues.editComment(params, caller, { body: body.body, ifMatch });
      return { status: 200, body: toCommentView(edited, urls) };
    }),
    handle(issueEndpoints.listIssueSubscriptions, async ({ caller, params, query }) => {
      const { users, total } = await watching.listSubscribers(params, caller, query);
      const isSignedIn = caller !== undefined;
      const body = users.map((user) => toEmbeddedUserView(user, isSignedIn, urls));
      return { status: 200, body, total };
    }),
    handle(issueEndpoints.checkIssueSubscription, async ({ caller, params }) => ({
      status: 200,
      body: toWatchView(await watching.check(params, caller), urls),
    })),
    handle(issueEndpoints.subscribeToIssue, async ({ caller, params }) => ({
      status: (await watching.setSubscription(params, caller, true)) ? 201 : 200,
    })),
    handle(issueEndpoints.unsubscribeFromIssue, async ({ caller, params }) => ({
      status: (await watching.setSubscription(params, caller, false)) ? 201 : 200,
    })),
    handle(issueEndpoints.getWatch, async ({ caller, params }) => ({
      status: 200,
      body: toWatchView(await watching.getWatch(params, caller), urls),
    })),
    handle(issueEndpoints.watchRepository, async ({ caller, params }) => ({
      status: 200,
      body: toWatchView(await watching.watch(params, caller), urls),
    })),
    handle(issueEndpoints.unwatchRepository, async ({ caller, params }) => {
      await watching.unwatch(params, caller);
      return { status: 204 };
    }),
  ];
}
