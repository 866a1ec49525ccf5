import { StringDecoder } from "node:string_decoder";
import type { WireJob, WireRun } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import { usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { type RepositoryName, toRepositoryName } from "../support/repository.ts";
import { assertWaitFlags, waitFlags } from "../support/wait.ts";
import { toGoodConclusion, waitForRun, toRunName } from "../support/runs.ts";
import { type Entry, noun } from "../tree/entry.ts";
import { watchRun } from "./run-watch.ts";
import { printLog } from "./run-log.ts";
import { command } from "../tree/command.ts";

const waitedOutput = shape({ run: "integer", conclusion: "string?" });

const changedOutput = shape({ run: "integer" });

export const entries: readonly Entry[] = [
  command("list", "List runs of a repository or an owner", {
    aliases: ["ls"],
    args: { "[repository]": "the repository as OWNER/NAME" },
    flags: {
      "--org <name>": "of all repositories of this organization",
      "--user": "of all your own repositories",
      "--status <status>": "such as queued, in_progress, success or failure",
      "--branch <name>": "of this branch",
      "--event <event>": "of this event, such as push",
      "--actor <username>": "started by this user",
      "--workflow <file>": "of this workflow, such as ci.yml",
    },
    calls: [
      forge.listRepositoryRuns,
      forge.listWorkflowRuns,
      forge.listOrganizationRuns,
      forge.listOwnRuns,
    ],
    output: listOf(forge.listRepositoryRuns, "workflow_runs"),
    examples: [
      ["List the latest runs", "croft run list keeper/notes"],
      [
        "List the failed runs of a branch",
        "croft run list keeper/notes --status failure --branch main",
      ],
    ],
    /** Prints runs, the newest first. */
    async run(cli, { repository, org, user, ...flags }) {
      const of = toRunSource({ repository, org, user }, flags);
      const { status, workflow, ...filters } = flags;
      const query = { ...filters, ...(status === undefined ? {} : { status: [status] }) };
      await cli.output.list(toPages(), runColumns);

      function toPages() {
        const { client } = cli;
        if (of.kind === "user")
          return forgeFieldPages(client, forge.listOwnRuns, { query }, "workflow_runs");
        if (of.kind === "organization") {
          const request = { params: { org: of.org }, query };
          return forgeFieldPages(client, forge.listOrganizationRuns, request, "workflow_runs");
        }
        const params = { owner: of.owner, repo: of.repo };
        if (workflow === undefined)
          return forgeFieldPages(
            client,
            forge.listRepositoryRuns,
            { params, query },
            "workflow_runs",
          );
        const request = { params: { ...params, workflow_id: workflow }, query };
        return forgeFieldPages(client, forge.listWorkflowRuns, request, "workflow_runs");
      }
    },
  }),
  command("view", "Show a run", {
    args: { "<run>": { help: "the run as OWNER/NAME/ID", parse: toRunName } },
    calls: [forge.getRun, forge.getRunSummary],
    output: resourceOf(forge.getRun),
    examples: [
      ["Show a run", "croft run view keeper/notes/17"],
      ["Print how it ended", "croft run view keeper/notes/17 --jq .conclusion"],
    ],
    /** Prints one run, with its error if its file is invalid, and in human output the step summaries. */
    async run(cli, { run: { owner, repo, id } }) {
      const { body } = await cli.client.call(forge.getRun, { params: { owner, repo, run: id } });
      await cli.output.resource(body, [
        ...runColumns,
        { header: "commit", cell: ({ head_sha: sha }) => sha },
        { header: "error", cell: ({ error = "" }) => error },
      ]);
      if (cli.output.isMachine) return;
      const input = { params: { owner, repo, run: id } };
      const { stream } = await cli.client.download(forge.getRunSummary, input);
      const decoder = new StringDecoder("utf8");
      let isFirst = true;
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        await cli.output.text(`${isFirst ? "\n" : ""}${decoder.write(chunk)}`, undefined);
        isFirst = false;
      }
    },
  }),
  command("jobs", "List the jobs of a run", {
    args: { "<run>": { help: "the run as OWNER/NAME/ID", parse: toRunName } },
    flags: {
      "--attempt <number>": {
        help: "of this attempt; the last one when absent",
        parse: toPositiveInteger,
      },
    },
    calls: [forge.listRunJobs, forge.listAttemptJobs],
    output: listOf(forge.listRunJobs, "jobs"),
    examples: [
      ["List the jobs of a run", "croft run jobs keeper/notes/17"],
      ["List those of its first attempt", "croft run jobs keeper/notes/17 --attempt 1"],
    ],
    /** Prints the jobs of an attempt of a run. */
    async run(cli, { run: { owner, repo, id }, attempt }) {
      const params = { owner, repo, run: id };
      const pages =
        attempt === undefined
          ? forgeFieldPages(cli.client, forge.listRunJobs, { params }, "jobs")
          : forgeFieldPages(
              cli.client,
              forge.listAttemptJobs,
              { params: { ...params, attempt } },
              "jobs",
            );
      await cli.output.list(pages, jobColumns);
    },
  }),
  command("watch", "Watch runs, their jobs and logs", async () => watchRun),
  command("log", "Print the log of a job", async () => printLog),
  command("cancel", "Cancel a run", {
    args: { "<run>": { help: "the run as OWNER/NAME/ID", parse: toRunName } },
    flags: waitFlags("wait until its jobs have stopped"),
    calls: [forge.cancelRun, forge.getRun],
    output: waitedOutput,
    examples: [
      ["Cancel a run", "croft run cancel keeper/notes/17"],
      ["Show the request only", "croft run cancel keeper/notes/17 --dry-run"],
      ["Wait until its jobs have stopped", "croft run cancel keeper/notes/17 --wait --timeout 2m"],
    ],
    /** Cancels a run; a completed run stays unchanged. With `--wait` any conclusion is a success. */
    async run(cli, { run: runName, ...flags }) {
      assertWaitFlags(flags);
      const options = { ...runName, ...flags };

      const { owner, repo, id } = options;
      await cli.client.call(forge.cancelRun, { params: { owner, repo, run: id } });
      if (options.wait !== true)
        return cli.output.done({ run: id, conclusion: null }, `Cancelled run ${id}.`);
      const { conclusion = null } = await waitForRun(cli, options, options.timeout);
      await cli.output.done({ run: id, conclusion }, `Run ${id} ended as ${conclusion}.`);
    },
  }),
  command("approve", "Let a run begin that waits for approval", {
    args: { "<run>": { help: "the run as OWNER/NAME/ID", parse: toRunName } },
    calls: [forge.approveRun],
    output: resourceOf(forge.approveRun),
    examples: [
      ["Let the run of a fork begin", "croft run approve keeper/notes/17"],
      ["Print its state", "croft run approve keeper/notes/17 --jq .status"],
    ],
    /** Approves the run of a fork: its jobs have no secrets, and their token may only read. */
    async run(cli, { run: { owner, repo, id } }) {
      const { body } = await cli.client.call(forge.approveRun, {
        params: { owner, repo, run: id },
      });
      await cli.output.resource(body, runColumns);
    },
  }),
  command("rerun", "Run the jobs of a run again", {
    args: { "<run>": { help: "the run as OWNER/NAME/ID", parse: toRunName } },
    flags: {
      ...waitFlags("wait for the end of the run, and fail when it fails"),
      "--failed": "only failed jobs, and those that need them",
      "--job <id>": { help: "only this job, and those that need it", parse: toPositiveInteger },
    },
    calls: [forge.rerunRun, forge.rerunFailedJobs, forge.rerunJob, forge.getRun],
    output: waitedOutput,
    examples: [
      ["Run all jobs again", "croft run rerun keeper/notes/17"],
      ["Run the failed jobs again", "croft run rerun keeper/notes/17 --failed"],
      ["Wait for the end of the new attempt", "croft run rerun keeper/notes/17 --failed --wait"],
    ],
    /**
     * Starts the next attempt of a run that has ended. @throws CliError with `--wait`: `task_failed` when it fails,
     * `not_finished` after the timeout
     */
    async run(cli, { run: runName, ...flags }) {
      assertWaitFlags(flags);
      if (flags.failed === true && flags.job !== undefined)
        throw usageError("give --failed or --job, not both");
      const options = { ...runName, ...flags };

      const { owner, repo, id, failed, job } = options;
      const params = { owner, repo, run: id };
      if (job !== undefined)
        await cli.client.call(forge.rerunJob, { params: { ...params, job_id: job } });
      else if (failed === true) await cli.client.call(forge.rerunFailedJobs, { params });
      else await cli.client.call(forge.rerunRun, { params });
      const started = `Run ${id} runs again.`;
      if (options.wait !== true) return cli.output.done({ run: id, conclusion: null }, started);
      if (!cli.output.isMachine) cli.io.note(started);
      const conclusion = toGoodConclusion(options, await waitForRun(cli, options, options.timeout));
      await cli.output.done({ run: id, conclusion }, `Run ${id} ended as ${conclusion}.`);
    },
  }),
  command("delete", "Delete a run that has ended", {
    args: { "<run>": { help: "the run as OWNER/NAME/ID", parse: toRunName } },
    calls: [forge.deleteRun],
    output: changedOutput,
    destructive: true,
    examples: [
      ["Delete a run", "croft run delete keeper/notes/17 --yes"],
      ["Show the request only", "croft run delete keeper/notes/17 --dry-run"],
    ],
    /** Deletes a run with its jobs and logs. */
    async run(cli, { run: { owner, repo, id } }) {
      await cli.prompts.confirm(`Delete run ${id} with its jobs and logs?`);
      await cli.client.call(forge.deleteRun, { params: { owner, repo, run: id } });
      await cli.output.done({ run: id }, `Deleted run ${id}.`);
    },
  }),
  command("download", "Download artifacts of a run", async () => {
    const { downloadArtifacts } = await import("./run-artifact.ts");
    return downloadArtifacts;
  }),
  noun("artifact", "Manage artifacts of runs", () => import("./run-artifact.ts")),
];

interface RunFilters {
  readonly status?: string;
  readonly branch?: string;
  readonly event?: string;
  readonly actor?: string;
  /** The name of a workflow file. */
  readonly workflow?: string;
}

/** The scope of a list of runs: a repository, an organization, or the caller's own repositories. */
type RunSource =
  | ({ readonly kind: "repository" } & RepositoryName)
  | { readonly kind: "organization"; readonly org: string }
  | { readonly kind: "user" };

export const runColumns: readonly Column<WireRun>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "title", cell: ({ display_title: title }) => title },
  { header: "workflow", cell: ({ path }) => path.split("@", 1).join() },
  { header: "branch", cell: toPlaceText },
  { header: "event", cell: ({ event }) => event },
  { header: "status", cell: toStateText },
  { header: "started", cell: ({ started_at: startedAt }) => time(startedAt) },
];

/** The state of a run for people. */
function toStateText({ status, conclusion, needs_approval: needsApproval }: WireRun): string {
  return needsApproval === true ? "needs approval" : (conclusion ?? status);
}

/** The branch of a run; the number of the pull request for that of its head. */
function toPlaceText({ head_branch: branch, pull_requests: [pull] }: WireRun): string {
  return branch ?? (pull === undefined ? "" : `#${pull.number}`);
}

function toRunSource(
  {
    repository,
    org,
    user = false,
  }: {
    readonly repository: string | undefined;
    readonly org: string | undefined;
    readonly user: boolean | undefined;
  },
  { workflow }: RunFilters,
): RunSource {
  if ([repository !== undefined, org !== undefined, user].filter(Boolean).length !== 1)
    throw usageError("give one of OWNER/NAME, --repo, --org and --user");
  if (repository !== undefined) return { kind: "repository", ...toRepositoryName(repository) };
  if (workflow !== undefined) throw usageError("--workflow needs a repository");
  return org === undefined ? { kind: "user" } : { kind: "organization", org };
}

export const jobColumns: readonly Column<WireJob>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "status", cell: ({ status, conclusion }) => conclusion ?? status },
  { header: "labels", cell: ({ labels }) => labels.join(",") },
  { header: "runner", cell: ({ runner_name: runner = "" }) => runner },
  { header: "started", cell: ({ started_at: startedAt }) => time(startedAt) },
];

function toPositiveInteger(value: string): number {
  const id = Number(value);
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw usageError(`expected a positive number, not ${JSON.stringify(value)}`);
}
