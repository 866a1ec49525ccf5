// daemon/forge/statuses: statuses that build servers report on commits, published to hooks and notifications.
// Start here: every route. statuses.service.ts has the rules.
import {
  createCommitStatus,
  getCombinedStatus,
  listCommitStatuses,
  listRefStatuses,
} from "../../contract/forge/repositories/statuses.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
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
    ({
      status: 200,
      body: found.statuses.map((each) => toStatusView(each, urls)),
      total: found.total,
    }) as const;
  return [
    handle(createCommitStatus, async ({ caller, params, body }) => ({
      status: 201,
      body: toStatusView(await statuses.create(params, caller, toReport(body)), urls),
    })),
    handle(listCommitStatuses, async ({ caller, params, query }) => {
      const options = { ...query, rest: `/statuses/${params.sha}` };
      return toPage(await statuses.list(params, params.sha, caller, options));
    }),
    handle(listRefStatuses, async ({ caller, params, query }) => {
      const options = { ...query, rest: `/commits/${params.ref}/statuses` };
      return toPage(await statuses.list(params, params.ref, caller, options));
    }),
    handle(getCombinedStatus, async ({ caller, params, query }) => {
      const combined = await statuses.combine(params, caller, query);
      return { status: 200, body: toCombinedView(combined, urls), total: combined.total };
    }),
  ];
}
