import { adminCronEndpoints } from "../../contract/forge/cron.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { CronTasks } from "./cron.service.ts";
import { toCronView } from "./cron.view.ts";

/** Routes of scheduled tasks. */
export function cronRoutes(cron: CronTasks): Route[] {
  return [
    handle(adminCronEndpoints.listCronTasks, async ({ query }) => {
      const { tasks, total } = await cron.list(query);
      return { status: 200, body: tasks.map(toCronView), total };
    }),
    handle(adminCronEndpoints.runCronTask, async ({ params }) => {
      await cron.run(params.task);
      return { status: 204 };
    }),
  ];
}
