import type { z } from "zod";
import type { job } from "../../daemon/contract/vault/jobs.ts";
import { vault } from "../client/operations.ts";
import { vaultPages } from "../client/paging.ts";
import { CliError, usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { assertWaitFlags, waitUntilEnded, waitFlags } from "../support/wait.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List background jobs", {
    aliases: ["ls"],
    flags: {
      "--state <state>": {
        help: "only jobs of this state",
        choices: ["waiting", "running", "dead"],
      },
      "--kind <kind>": "only jobs of this kind, such as cloud.analyze",
    },
    calls: [vault.listJobs],
    output: listOf(vault.listJobs, "items"),
    examples: [
      ["List background jobs", "croft job list"],
      ["List jobs that failed permanently", "croft job list --state dead"],
    ],
    /** Prints background jobs, newest first. Administrators of the vault only. */
    async run(cli, { state, kind }) {
      await cli.output.list(
        vaultPages(cli.client, vault.listJobs, { query: { state, kind } }),
        listColumns,
      );
    },
  }),
  command("view", "Show a background job and why it failed", {
    args: { "<id>": { help: "the job's id", parse: toJobId } },
    calls: [vault.viewJob],
    output: resourceOf(vault.viewJob),
    examples: [
      ["Show a job and why it failed", "croft job view 42"],
      ["Print the error", "croft job view 42 --jq .last_error"],
    ],
    /** Prints a job and why its last attempt failed. */
    async run(cli, { id }) {
      const { body } = await cli.client.call(vault.viewJob, { params: { job_id: id } });
      await cli.output.resource(body, viewColumns);
    },
  }),
  command("retry", "Run a background job now", {
    args: { "<id>": "the job's id" },
    flags: waitFlags("wait until it has succeeded or failed for good"),
    calls: [vault.retryJob, vault.viewJob],
    output: resourceOf(vault.retryJob, 200, { done: "boolean" }),
    examples: [
      ["Run a job now", "croft job retry 42"],
      ["Show the request only", "croft job retry 42 --dry-run"],
      ["Wait until it has succeeded", "croft job retry 42 --wait --timeout 10m"],
    ],
    /**
     * Runs a job now; a dead-lettered job starts with its first attempt. The daemon retries failed attempts, so `--wait`
     * waits for the last one. @throws CliError with `--wait`: `task_failed` for a job that was dead-lettered
     */
    async run(cli, { id, ...flags }) {
      assertWaitFlags(flags);
      const { wait, timeout } = flags;
      const params = { job_id: toJobId(id) };
      const { body } = await cli.client.call(vault.retryJob, { params });
      if (wait !== true) return cli.output.resource(body, viewColumns);
      let last: Job = body;
      const end = await waitUntilEnded(cli, {
        title: `job ${id}`,
        timeout,
        // A job that has succeeded is deleted.
        async read() {
          const accept = ({ status }: { readonly status: number }) => status === 404;
          const answer = await cli.client.call(vault.viewJob, { params }, { accept });
          if (answer.raw.status === 404) return undefined;
          last = answer.body;
          return answer.body;
        },
        stateOf: (job) =>
          job?.last_error ? `${job.state}, ${job.last_error}` : (job?.state ?? ""),
        hasEnded: (job) => job === undefined || job.state === "dead",
        lookWith: `croft job view ${id}`,
      });
      if (end === undefined) return cli.output.resource({ ...last, done: true }, doneColumns);
      throw new CliError("task_failed", `job ${id} failed: ${end.last_error ?? "no reason"}`, {
        service: "vault",
        hint: `"croft job view ${id}" shows it`,
      });
    },
  }),
  command("cancel", "Cancel a background job", {
    args: { "<id>": { help: "the job's id", parse: toJobId } },
    calls: [vault.cancelJob],
    output: shape({ cancelled: "boolean", id: "integer" }),
    destructive: true,
    examples: [
      ["Cancel a job", "croft job cancel 42 --yes"],
      ["Show the request only", "croft job cancel 42 --dry-run"],
    ],
    /** Deletes a job that is not running. */
    async run(cli, { id }) {
      await cli.prompts.confirm(`Cancel the job ${id}?`);
      await cli.client.call(vault.cancelJob, { params: { job_id: id } });
      await cli.output.done({ cancelled: true, id: Number(id) }, `Cancelled the job ${id}.`);
    },
  }),
];

type Job = z.output<typeof job>;

const listColumns: readonly Column<Job>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "state", cell: ({ state }) => state },
  { header: "kind", cell: ({ kind }) => kind },
  { header: "attempts", cell: ({ attempts }) => attempts },
  { header: "runs at", cell: ({ run_at: at }) => time(at) },
  { header: "error", cell: ({ last_error: error }) => error },
];

const viewColumns: readonly Column<Job>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "job", cell: ({ description }) => description },
  { header: "document", cell: ({ document_id: id }) => id },
  { header: "item", cell: ({ item_id: id }) => id },
  ...listColumns.filter(({ header }) => header !== "id"),
  { header: "created", cell: ({ created_at: at }) => time(at) },
];

/** Columns of a completed job, which has no state and does not run again. */
const doneColumns: readonly Column<Job & { readonly done: boolean }>[] = [
  ...viewColumns.filter(({ header }) => !["state", "runs at", "error"].includes(header)),
  { header: "done", cell: ({ done }) => done },
];

function toJobId(id: string): string {
  if (!/^[1-9]\d{0,14}$/.test(id))
    throw usageError(`${JSON.stringify(id)} is not the id of a job`, '"croft job list" shows them');
  return id;
}
