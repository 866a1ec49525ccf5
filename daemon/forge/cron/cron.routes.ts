import { adminCronEndpoints, type WireCron } from "../../contract/forge/cron.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { CronTasks, TaskStatus } from "./cron.service.ts";
import { toWireTime, unfilledTime } from "../urls.ts";

/** Routes of scheduled tasks. */
export function cronRoutes(cron: CronTasks): Route[] {
  return serve(adminCronEndpoints, {
    listCronTasks: async ({ query }) => {
      const { tasks, total } = await cron.list(query);
      return page(tasks.map(toCronView), total);
    },
    runCronTask: ({ params }) => cron.run(params.task),
  });
}

/** Returns a scheduled task. */
export function toCronView({ task, nextAt, record }: TaskStatus): WireCron {
  return {
    name: task.name,
    schedule: task.schedule,
    next: nextAt === undefined ? unfilledTime : toWireTime(nextAt),
    prev: record === undefined ? unfilledTime : toWireTime(record.startedAt),
    exec_times: record?.execTimes ?? 0,
  };
}
