import { activityEndpoints } from "../../contract/forge/activities.ts";
import { userEndpoints } from "../../contract/forge/accounts/users.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve, serveSome } from "../handle.ts";
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
  const toPage = ({ activities, total }: FeedPage, caller: ForgeCaller | undefined) =>
    page(
      activities.map((details) => toActivityView(details, caller?.user, urls)),
      total,
    );
  return [
    ...serve(activityEndpoints, {
      listUserActivities: async ({ caller, params, query }) => {
        const window = { ...query, isOnlyPerformed: query["only-performed-by"] };
        return toPage(await feeds.ofUser(params.username, window, caller), caller);
      },
      listRepositoryActivities: async ({ opened, caller, query }) =>
        toPage(await feeds.ofRepository(opened, query, caller), caller),
      listOrganizationActivities: async ({ opened, caller, query }) =>
        toPage(await feeds.ofOrganization(opened, query, caller), caller),
      listTeamActivities: async ({ opened, caller, query }) =>
        toPage(await feeds.ofTeam(opened, query, caller), caller),
    }),
    ...serveSome(userEndpoints, {
      getUserHeatmap: async ({ caller, params }) => [
        ...(await feeds.getHeatmap(params.username, caller)),
      ],
    }),
  ];
}
