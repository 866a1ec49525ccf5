import { z } from "zod";
import { resource } from "./resource.ts";
import { empty, vaultAdministrator } from "../endpoint.ts";
import { line, oneOf, time, uuid } from "./common.ts";
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

/** Background jobs. */
export const jobEndpoints = resource(
  {
    name: "vault.admin.job",
    path: "/api/admin/jobs",
    id: {
      job_id: z
        .string()
        .regex(/^[1-9]\d{0,14}$/, "A job's id is a number")
        .transform(Number),
    },
    shape: job,
    gate: vaultAdministrator,
  },
  ({ list, get, operation }) => ({
    listJobs: list("Background jobs that wait, run or failed permanently, newest first", {
      filters: {
        state: oneOf(jobStates).optional(),
        kind: line(100).optional(),
      },
    }),
    viewJob: get("A background job and why its last attempt failed", { as: "view" }),
    retryJob: operation({
      method: "POST",
      item: true,
      at: "retry",
      summary: "Run a job now that waits or failed permanently; 409 while it runs",
      replies: { 200: job },
      refuses: [409],
    }),
    cancelJob: operation({
      method: "POST",
      item: true,
      at: "cancel",
      summary:
        "Delete a job that waits or failed permanently; 409 while it runs, and for scheduled tasks",
      replies: { 204: empty },
      refuses: [409],
    }),
  }),
);
