import { z } from "zod";
import { resource } from "../resource.ts";
import { siteAdminOfAll } from "../../endpoint.ts";
import {
  optionalFlag,
  optionalQueryFlag,
  paging,
  pathInteger,
  queryFlag,
  queryText,
  queryWord,
} from "../common.ts";
import { jobShape, runnerShape, runShape, statusFilter } from "./shapes.ts";

export const adminActionEndpoints = {
  ...resource(
    {
      name: "forge.admin.actions.jobs",
      path: "/api/v1/admin/actions/jobs",
      gate: siteAdminOfAll,
    },
    ({ operation }) => ({
      listJobs: operation({
        as: "list",
        method: "GET",
        summary: "List the jobs of all repositories",
        query: z
          .object({
            status: statusFilter,
            ...paging,
            sort: queryWord(["id"]),
            order: queryWord(["asc", "desc"]),
          })
          .superRefine(({ sort, order }, context) => {
            const refuse = (message: string) => context.addIssue({ code: "custom", message });
            // As with users, `order` is validated only when a sort is given, and before the sort.
            if (sort !== "" && !["", "asc", "desc"].includes(order))
              refuse(`Invalid sort order: ${JSON.stringify(order)}`);
            else if (!["", "id"].includes(sort))
              refuse(`Invalid sort mode: ${JSON.stringify(sort)}`);
          }),
        paging: "link_and_total",
        replies: { 200: z.object({ jobs: z.array(jobShape), total_count: z.int() }) },
        refuses: [400, 422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.admin.actions.runs",
      path: "/api/v1/admin/actions/runs",
      gate: siteAdminOfAll,
    },
    ({ operation }) => ({
      listRuns: operation({
        as: "list",
        method: "GET",
        summary: "List the runs of all repositories",
        query: z.object({
          event: queryText,
          branch: queryText,
          status: statusFilter,
          actor: queryText,
          head_sha: queryText,
          ...paging,
        }),
        paging: "link_and_total",
        replies: { 200: z.object({ workflow_runs: z.array(runShape), total_count: z.int() }) },
        refuses: [400, 404],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.admin.actions.runners",
      path: "/api/v1/admin/actions/runners",
      id: { runner_id: pathInteger },
      shape: runnerShape,
      gate: siteAdminOfAll,
    },
    ({ get, edit, remove, operation }) => ({
      listRunners: operation({
        as: "list",
        method: "GET",
        summary: "List all runners",
        query: z.object({ disabled: optionalQueryFlag, ...paging }),
        replies: { 200: z.object({ runners: z.array(runnerShape), total_count: z.int() }) },
      }),
      createRegistrationToken: operation({
        as: "token",
        method: "POST",
        at: "registration-token",
        summary: "Get the registration token of the instance, or renew it",
        query: z.object({ renew: queryFlag }),
        replies: { 200: z.object({ token: z.string() }) },
      }),
      getRunner: get("Get a runner"),
      editRunner: edit("Disable or enable a runner", z.object({ disabled: optionalFlag })),
      deleteRunner: remove("Delete a runner"),
    }),
  ),
};
