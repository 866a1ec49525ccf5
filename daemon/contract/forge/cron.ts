import { z } from "zod";
import { resource } from "./resource.ts";
import { empty, siteAdmin } from "../endpoint.ts";
import { paging, wireTime } from "./common.ts";

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

export const adminCronEndpoints = resource(
  {
    name: "forge.admin.cron",
    path: "/api/v1/admin/cron",
    id: { task: z.string() },
    gate: siteAdmin,
  },
  ({ operation }) => ({
    listCronTasks: operation({
      as: "list",
      method: "GET",
      summary: "Scheduled tasks, when they ran and when they will",
      query: z.object(paging),
      paging: "total",
      replies: { 200: z.array(cronShape) },
    }),
    runCronTask: operation({
      as: "run",
      method: "POST",
      item: true,
      summary: "Run a scheduled task now, unless it is running",
      replies: { 204: empty },
    }),
  }),
);
