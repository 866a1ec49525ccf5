import { adminCronEndpoints } from "../../contract/forge/cron.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { CronTasks } from "./cron.service.ts";
import { toCronView } from "./cron.view.ts";

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
