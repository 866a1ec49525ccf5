import { jobEndpoints } from "../../contract/vault/jobs.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { toPage, toPageRequest } from "../page.ts";
import type { JobAdministration } from "./jobs.service.ts";
import { toJobView } from "./jobs.view.ts";

/** Routes of `/api/admin/jobs`. */
export const jobRoutes = (jobs: JobAdministration): Route[] => [
  handle(jobEndpoints.listJobs, async ({ query }) => {
    const page = toPageRequest(query);
    const found = await jobs.list({ state: query.state, kind: query.kind }, page);
    return { status: 200, body: toPage(found.jobs.map(toJobView), found.total, page) };
  }),
  handle(jobEndpoints.viewJob, async ({ params }) => ({
    status: 200,
    body: toJobView(await jobs.view(params.job_id)),
  })),
  handle(jobEndpoints.retryJob, async ({ caller, params }) => ({
    status: 200,
    body: toJobView(await jobs.retry(caller, params.job_id)),
  })),
  handle(jobEndpoints.cancelJob, async ({ caller, params }) => {
    await jobs.cancel(caller, params.job_id);
    return { status: 204 };
  }),
];
