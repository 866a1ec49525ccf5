import type { WireRun, WireJob } from "../../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../../client/operations.ts";
import { forgeFieldPages } from "../../client/paging.ts";
import type { Column } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
import type { Entry } from "../../tree/entry.ts";
import { runColumns, jobColumns } from "../run.ts";
import { printLog } from "../run-log.ts";
import { toChoice } from "../../support/flag-values.ts";
import { command } from "../../tree/command.ts";

/** `croft admin run`. */
export const entries: readonly Entry[] = [
  command("list", "List the runs of all repositories", {
    aliases: ["ls"],
    flags: {
      "--status <statuses...>": "such as queued, in_progress, success or failure",
      "--branch <name>": "of this branch",
      "--event <event>": "of this event, such as push",
      "--actor <username>": "started by this user",
      "--commit <sha>": "of the commit with this full id",
    },
    calls: [forge.listRuns],
    output: listOf(forge.listRuns, "workflow_runs"),
    examples: [
      ["List the latest runs of all repositories", "croft admin run list"],
      ["List what waits or runs", "croft admin run list --status queued in_progress"],
    ],
    /** Prints the runs of all repositories, the newest first. */
    async run(cli, { commit, status, ...filters }) {
      const query = {
        ...filters,
        ...(status === undefined ? {} : { status: [...status] }),
        ...(commit === undefined ? {} : { head_sha: commit }),
      };
      await cli.output.list(
        forgeFieldPages(cli.client, forge.listRuns, { query }, "workflow_runs"),
        allRunColumns,
      );
    },
  }),
];

const allRunColumns: readonly Column<WireRun>[] = [
  { header: "repository", cell: ({ repository }) => repository.full_name },
  ...runColumns,
];

/** `croft admin job`. */
export const jobEntries: readonly Entry[] = [
  command("list", "List the jobs of all runs", {
    aliases: ["ls"],
    flags: {
      "--status <statuses...>": "such as queued, in_progress, success or failure",
      "--order <order>": "asc or desc, by id",
    },
    calls: [forge.listJobs],
    output: listOf(forge.listJobs, "jobs"),
    examples: [
      ["List the jobs that wait for a runner", "croft admin job list --status queued"],
      ["Count the jobs that run", "croft admin job list --status in_progress --all --jq length"],
    ],
    /** Prints the jobs of all repositories. */
    async run(cli, { status, order }) {
      const query = {
        ...(status === undefined ? {} : { status: [...status] }),
        ...(order === undefined
          ? {}
          : { sort: "id", order: toChoice("--order", ["asc", "desc"], order) }),
      };
      await cli.output.list(
        forgeFieldPages(cli.client, forge.listJobs, { query }, "jobs"),
        allJobColumns,
      );
    },
  }),
  command("log", "Print the log of a job", async () => printLog),
];

/** The repository of a job, as its address names it. */
function toRepository({ url }: WireJob): string {
  return /\/repos\/([^/]+\/[^/]+)\/actions\//.exec(url)?.[1] ?? "";
}

const allJobColumns: readonly Column<WireJob>[] = [
  { header: "repository", cell: toRepository },
  ...jobColumns,
];
