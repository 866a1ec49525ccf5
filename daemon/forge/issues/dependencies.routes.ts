// Routes of dependencies between issues, and of tracked times.
import type { BodyOf, ParamsOf } from "../../contract/endpoint.ts";
import { issueDependencyEndpoints } from "../../contract/forge/issues/dependencies.ts";
import { trackedTimeEndpoints } from "../../contract/forge/issues/tracked-times.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { GrantedRepository } from "../opened.ts";
import type { PageWindow } from "../page-window.ts";
import { type ForgeUrls, toRequestTime } from "../urls.ts";
import type { Dependencies, IssuePair } from "./dependencies.service.ts";
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
  const ofSide = (side: IssuePair["side"]) => ({
    list: async ({ opened, params, caller, query }: ListInput) => {
      const at = { opened, number: params.index, side };
      const { issues, total } = await dependencies.list(at, caller, query);
      return page(
        issues.map((each) => toIssueView(each, urls)),
        total,
      );
    },
    add: async (input: ChangeInput) =>
      toIssueView(await dependencies.add(toPair(input, side), input.caller), urls),
    remove: async (input: ChangeInput) =>
      toIssueView(await dependencies.remove(toPair(input, side), input.caller), urls),
  });
  const blockers = ofSide("blockers");
  const blocked = ofSide("blocked");
  return serve(issueDependencyEndpoints, {
    listIssueDependencies: blockers.list,
    addIssueDependency: blockers.add,
    removeIssueDependency: blockers.remove,
    listBlockedIssues: blocked.list,
    blockIssue: blocked.add,
    unblockIssue: blocked.remove,
  });
}

type AddEndpoint = typeof issueDependencyEndpoints.addIssueDependency;

interface ListInput {
  readonly opened: GrantedRepository;
  readonly params: { readonly index: number };
  readonly caller: ForgeCaller | undefined;
  readonly query: PageWindow;
}

interface ChangeInput {
  readonly opened: GrantedRepository;
  readonly params: ParamsOf<AddEndpoint>;
  readonly caller: ForgeCaller;
  readonly body: BodyOf<AddEndpoint>;
}

/** Returns the issues of a request; that of the body is by default in the repository of the path. */
function toPair({ opened, params, body }: ChangeInput, side: IssuePair["side"]): IssuePair {
  const other = {
    owner: body.owner || params.owner,
    repo: body.repo || params.repo,
    index: body.index,
  };
  return { opened, number: params.index, other, side };
}

export function trackedTimeRoutes({
  trackedTimes,
  urls,
}: {
  readonly trackedTimes: TrackedTimes;
  readonly urls: ForgeUrls;
}): Route[] {
  const show = ({ times, total }: Awaited<ReturnType<TrackedTimes["listOwn"]>>) =>
    page(
      times.map((each) => toTrackedTimeView(each, urls)),
      total,
    );
  return serve(trackedTimeEndpoints, {
    listIssueTimes: async ({ opened, params, caller, query }) =>
      show(await trackedTimes.listOfIssue(opened, params.index, caller, query)),
    listRepositoryTimes: async ({ opened, caller, query }) =>
      show(await trackedTimes.listOfRepository(opened, caller, query)),
    listUserTimes: async ({ opened, params, caller, query }) =>
      show(await trackedTimes.listOfUser(opened, params.user, caller, query)),
    listOwnTimes: async ({ caller, query }) => show(await trackedTimes.listOwn(caller, query)),
    addIssueTime: async ({ opened, params, caller, body }) => {
      const createdAt = toRequestTime(body.created);
      const input = { seconds: body.time, createdAt, userName: body.user_name ?? "" };
      return toTrackedTimeView(await trackedTimes.add(opened, params.index, caller, input), urls);
    },
    resetIssueTimes: ({ opened, params, caller }) =>
      trackedTimes.reset(opened, params.index, caller),
    deleteIssueTime: ({ opened, params, caller }) => trackedTimes.remove(opened, params, caller),
    startStopwatch: ({ opened, params, caller }) =>
      trackedTimes.start(opened, params.index, caller),
    stopStopwatch: ({ opened, params, caller }) => trackedTimes.stop(opened, params.index, caller),
    cancelStopwatch: ({ opened, params, caller }) =>
      trackedTimes.cancel(opened, params.index, caller),
    listStopwatches: async ({ caller, query }) => {
      const running = await trackedTimes.findRunning(caller);
      return page(
        running === undefined || query.page > 1 ? [] : [toStopwatchView(running)],
        running === undefined ? 0 : 1,
      );
    },
  });
}
