import { z } from "zod";
import { empty, endpoint, siteAdmin } from "../endpoint.ts";
import { apiError, paging, signedInReplies, wireTime } from "./common.ts";

/** A scheduled task. */
const cronShape = z.object({
  name: z.string(),
  schedule: z.string(),
  next: wireTime,
  /** When the newest run began; the year 1 before the first. */
  prev: wireTime,
  /** Runs so far, counted over restarts. */
  exec_times: z.int(),
});
export type WireCron = z.output<typeof cronShape>;

export const listCronTasks = endpoint({
  name: "forge.admin.cron.list",
  method: "GET",
  path: "/api/v1/admin/cron",
  summary: "Scheduled tasks, when they ran and when they will",
  gate: siteAdmin,
  query: z.object(paging),
  paging: "total",
  replies: { 200: z.array(cronShape), ...signedInReplies },
});

export const runCronTask = endpoint({
  name: "forge.admin.cron.run",
  method: "POST",
  path: "/api/v1/admin/cron/:task",
  summary: "Run a scheduled task now, unless it is running",
  gate: siteAdmin,
  params: z.object({ task: z.string() }),
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const adminCronEndpoints = { listCronTasks, runCronTask };
