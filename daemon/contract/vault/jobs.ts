import { z } from "zod";
import { empty, endpoint, vaultAdministrator } from "../endpoint.ts";
import { detail, line, oneOf, pageOf, paging, time, uuid } from "./common.ts";

const refusals = { 401: detail, 403: detail, 422: detail } as const;
const jobStates = ["waiting", "running", "dead"] as const;

/** A background job. Its payload is not shown: payloads may hold mails and texts. */
export const job = z.object({
  id: z.int(),
  kind: z.string(),
  description: z.string(),
  state: z.enum(jobStates),
  /** Attempts so far, the running one included. */
  attempts: z.int().min(0),
  /** Why the last attempt failed. */
  last_error: z.string().nullable(),
  document_id: uuid.nullable(),
  item_id: z.string().nullable(),
  run_at: time,
  created_at: time,
  updated_at: time,
});

const jobParams = z.object({
  job_id: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, "A job's id is a number")
    .transform(Number),
});

export const listJobs = endpoint({
  name: "vault.admin.job.list",
  method: "GET",
  path: "/api/admin/jobs",
  summary: "Background jobs that wait, run or failed permanently, newest first",
  gate: vaultAdministrator,
  query: z.object({
    state: oneOf(jobStates).optional(),
    kind: line(100).optional(),
    ...paging,
  }),
  replies: { 200: pageOf(job), ...refusals },
});

export const viewJob = endpoint({
  name: "vault.admin.job.view",
  method: "GET",
  path: "/api/admin/jobs/:job_id",
  summary: "A background job and why its last attempt failed",
  gate: vaultAdministrator,
  params: jobParams,
  replies: { 200: job, 404: detail, ...refusals },
});

export const retryJob = endpoint({
  name: "vault.admin.job.retry",
  method: "POST",
  path: "/api/admin/jobs/:job_id/retry",
  summary: "Run a job now that waits or failed permanently; 409 while it runs",
  gate: vaultAdministrator,
  params: jobParams,
  replies: { 200: job, 404: detail, 409: detail, ...refusals },
});

export const cancelJob = endpoint({
  name: "vault.admin.job.cancel",
  method: "POST",
  path: "/api/admin/jobs/:job_id/cancel",
  summary:
    "Delete a job that waits or failed permanently; 409 while it runs, and for scheduled tasks",
  gate: vaultAdministrator,
  params: jobParams,
  replies: { 204: empty, 404: detail, 409: detail, ...refusals },
});

/** Background jobs. */
export const jobEndpoints = { listJobs, viewJob, retryJob, cancelJob };
