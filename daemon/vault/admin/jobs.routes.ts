import { jobEndpoints } from "../../contract/vault/jobs.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import { toPage, toPageRequest } from "../page.ts";
import type { JobAdministration } from "./jobs.service.ts";
import { toJobView } from "./jobs.view.ts";

/** Routes of `/api/admin/jobs`. */
export const jobRoutes = (jobs: JobAdministration): Route[] => [
  ...serve(jobEndpoints, {
    listJobs: async ({ query }) => {
      const page = toPageRequest(query);
      const found = await jobs.list({ state: query.state, kind: query.kind }, page);
      return toPage(found.jobs.map(toJobView), found.total, page);
    },
    viewJob: async ({ params }) => toJobView(await jobs.view(params.job_id)),
    retryJob: async ({ caller, params }) => toJobView(await jobs.retry(caller, params.job_id)),
    cancelJob: ({ caller, params }) => jobs.cancel(caller, params.job_id),
  }),
];
