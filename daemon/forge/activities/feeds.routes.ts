import { activityEndpoints } from "../../contract/forge/activities.ts";
import { userEndpoints } from "../../contract/forge/accounts/users.ts";
import type { Route } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toActivityView } from "./activity.view.ts";
import type { FeedPage, Feeds } from "./feeds.service.ts";

/** Routes of feeds of activities, and of calendars of contributions. */
export function activityRoutes({
  feeds,
  urls,
}: {
  readonly feeds: Feeds;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    handle(activityEndpoints.listUserActivities, async ({ caller, params, query }) => {
      const window = { ...query, isOnlyPerformed: query["only-performed-by"] };
      return toPage(await feeds.ofUser(params.username, window, caller), caller);
    }),
    handle(activityEndpoints.listRepositoryActivities, async ({ opened, caller, query }) =>
      toPage(await feeds.ofRepository(opened, query, caller), caller),
    ),
    handle(activityEndpoints.listOrganizationActivities, async ({ opened, caller, query }) =>
      toPage(await feeds.ofOrganization(opened, query, caller), caller),
    ),
    handle(activityEndpoints.listTeamActivities, async ({ opened, caller, query }) =>
      toPage(await feeds.ofTeam(opened, query, caller), caller),
    ),
    handle(userEndpoints.getUserHeatmap, async ({ caller, params }) => ({
      status: 200,
      body: [...(await feeds.getHeatmap(params.username, caller))],
    })),
  ];

  function toPage({ activities, total }: FeedPage, caller: ForgeCaller | undefined) {
    const body = activities.map((details) => toActivityView(details, caller?.user, urls));
    return { status: 200 as const, body, total };
  }
}
