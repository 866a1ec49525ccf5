// Routes of dependencies between issues, and of tracked times.
import type { BodyOf } from "../../contract/endpoint.ts";
import * as contract from "../../contract/forge/issues/dependencies.ts";
import * as times from "../../contract/forge/issues/tracked-times.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { type ForgeUrls, toRequestTime } from "../urls.ts";
import type { Dependencies } from "./dependencies.service.ts";
import type { IssuePath } from "./issue-requests.ts";
import { toIssueView } from "./issue.view.ts";
import type { TrackedTimes } from "./tracked-times.service.ts";
import { toStopwatchView, toTrackedTimeView } from "./tracked-time.view.ts";

export function dependencyRoutes({
  dependencies,
  urls,
}: {
  readonly dependencies: Dependencies;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    ...(
      [
        [contract.issueDependencyEndpoints.listIssueDependencies, "blockers"],
        [contract.issueDependencyEndpoints.listBlockedIssues, "blocked"],
      ] as const
    ).map(([declared, side]) =>
      handle(declared, async ({ caller, params, query }) => {
        const { issues, total } = await dependencies.list(params, caller, side, query);
        return { status: 200, body: issues.map((each) => toIssueView(each, urls)), total };
      }),
    ),
    ...(
      [
        [contract.issueDependencyEndpoints.addIssueDependency, "blockers"],
        [contract.issueDependencyEndpoints.blockIssue, "blocked"],
      ] as const
    ).map(([declared, side]) =>
      handle(declared, async ({ caller, params, body }) => {
        const pair = { path: params, other: toOtherIssue(params, body), side };
        return { status: 201, body: toIssueView(await dependencies.add(pair, caller), urls) };
      }),
    ),
    ...(
      [
        [contract.issueDependencyEndpoints.removeIssueDependency, "blockers"],
        [contract.issueDependencyEndpoints.unblockIssue, "blocked"],
      ] as const
    ).map(([declared, side]) =>
      handle(declared, async ({ caller, params, body }) => {
        const pair = { path: params, other: toOtherIssue(params, body), side };
        return { status: 201, body: toIssueView(await dependencies.remove(pair, caller), urls) };
      }),
    ),
  ];
}

/** Returns the path of the issue in a body, by default in the repository of the request's path. */
function toOtherIssue(
  path: IssuePath,
  body: BodyOf<typeof contract.issueDependencyEndpoints.addIssueDependency>,
): IssuePath {
  return { owner: body.owner || path.owner, repo: body.repo || path.repo, index: body.index };
}

export function trackedTimeRoutes({
  trackedTimes,
  urls,
}: {
  readonly trackedTimes: TrackedTimes;
  readonly urls: ForgeUrls;
}): Route[] {
  const answer = ({ times: page, total }: Awaited<ReturnType<TrackedTimes["listOwn"]>>) =>
    ({ status: 200, body: page.map((each) => toTrackedTimeView(each, urls)), total }) as const;
  return [
    handle(times.trackedTimeEndpoints.listIssueTimes, async ({ caller, params, query }) =>
      answer(await trackedTimes.listOfIssue(params, caller, query)),
    ),
    handle(times.trackedTimeEndpoints.listRepositoryTimes, async ({ caller, params, query }) =>
      answer(await trackedTimes.listOfRepository(params, caller, query)),
    ),
    handle(times.trackedTimeEndpoints.listUserTimes, async ({ caller, params, query }) =>
      answer(await trackedTimes.listOfUser(params, caller, query)),
    ),
    handle(times.trackedTimeEndpoints.listOwnTimes, async ({ caller, query }) =>
      answer(await trackedTimes.listOwn(caller, query)),
    ),
    handle(times.trackedTimeEndpoints.addIssueTime, async ({ caller, params, body }) => {
      const createdAt = toRequestTime(body.created);
      const input = { seconds: body.time, createdAt, userName: body.user_name ?? "" };
      const added = await trackedTimes.add(params, caller, input);
      return { status: 200, body: toTrackedTimeView(added, urls) };
    }),
    handle(times.trackedTimeEndpoints.resetIssueTimes, async ({ caller, params }) => {
      await trackedTimes.reset(params, caller);
      return { status: 204 };
    }),
    handle(times.trackedTimeEndpoints.deleteIssueTime, async ({ caller, params }) => {
      await trackedTimes.remove(params, caller);
      return { status: 204 };
    }),
    handle(times.trackedTimeEndpoints.startStopwatch, async ({ caller, params }) => {
      await trackedTimes.start(params, caller);
      return { status: 201 };
    }),
    handle(times.trackedTimeEndpoints.stopStopwatch, async ({ caller, params }) => {
      await trackedTimes.stop(params, caller);
      return { status: 201 };
    }),
    handle(times.trackedTimeEndpoints.cancelStopwatch, async ({ caller, params }) => {
      await trackedTimes.cancel(params, caller);
      return { status: 204 };
    }),
    handle(times.trackedTimeEndpoints.listStopwatches, async ({ caller, query }) => {
      const running = await trackedTimes.findRunning(caller);
      const total = running === undefined ? 0 : 1;
      return {
        status: 200,
        body: running === undefined || query.page > 1 ? [] : [toStopwatchView(running)],
        total,
      };
    }),
  ];
}
