// daemon/forge/statuses: statuses that build servers report on commits, published to hooks and notifications.
// Start here: every route. statuses.service.ts has the rules.
import { statusEndpoints } from "../../contract/forge/repositories/statuses.ts";
import type { Route } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toCombinedView, toReport, toStatusView } from "./status.view.ts";
import type { StatusDetails } from "../events.ts";
import type { Statuses } from "./statuses.service.ts";

export function statusRoutes({
  statuses,
  urls,
}: {
  readonly statuses: Statuses;
  readonly urls: ForgeUrls;
}): Route[] {
  const toPage = (found: { readonly statuses: readonly StatusDetails[]; readonly total: number }) =>
    page(
      found.statuses.map((each) => toStatusView(each, urls)),
      found.total,
    );
  return serve(statusEndpoints, {
    createCommitStatus: async ({ opened, caller, params, body }) =>
      toStatusView(await statuses.create(opened, params.sha, caller, toReport(body)), urls),
    listCommitStatuses: async ({ opened, params, query }) =>
      toPage(await statuses.list(opened, params.sha, query)),
    listRefStatuses: async ({ opened, params, query }) =>
      toPage(await statuses.list(opened, params.ref, query)),
    getCombinedStatus: async ({ opened, params, query }) => {
      const combined = await statuses.combine(opened, params.ref, query);
      return answer(toCombinedView(combined, urls), { total: combined.total });
    },
  });
}
