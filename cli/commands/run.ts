import { StringDecoder } from "node:string_decoder";
import type { WireJob, WireRun } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { type RepositoryName, toRepositoryName } from "../support/repository.ts";
import { addWaitFlags, assertWaitFlags, type WaitFlags } from "../support/wait.ts";
import { toGoodConclusion, waitForRun, type RunName, toRunName } from "../support/runs.ts";
import { type CommandModule, type Entry, noun, verb } from "../tree/entry.ts";
import { watchRun } from "./run-watch.ts";
import { printLog } from "./run-log.ts";

export const entries: readonly Entry[] = [
  verb("list", "List runs of a repository or an owner", () => listRuns, { aliases: ["ls"] }),
  verb("view", "Show a run", () => viewRun),
  verb("jobs", "List the jobs of a run", () => listJobs),
  verb("watch", "Watch runs, their jobs and logs", () => watchRun),
  verb("log", "Print the log of a job", () => printLog),
  verb("cancel", "Cancel a run", () => cancelRun),
  verb("rerun", "Run the jobs of a run again", () => rerunRun),
  verb("delete", "Delete a run that has ended", () => deleteRun),
  verb("download", "Download artifacts of a run", async () => {
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

interface RunListOptions extends RunFilters {
  readonly of: RunSource;
}

export const runColumns: readonly Column<WireRun>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "title", cell: ({ display_title: title }) => title },
  { header: "workflow", cell: ({ path }) => path.split("@", 1).join() },
  { header: "branch", cell: ({ head_branch: branch = "" }) => branch },
  { header: "event", cell: ({ event }) => event },
  { header: "status", cell: ({ status, conclusion }) => conclusion ?? status },
  { header: "started", cell: ({ started_at: startedAt }) => time(startedAt) },
];

export const listRuns = {
  operations: [
    forge.listRepositoryRuns,
    forge.listWorkflowRuns,
    forge.listOrganizationRuns,
    forge.listOwnRuns,
  ],
  output: listOf(forge.listRepositoryRuns, "workflow_runs"),
  define(command, cli, run = runList): void {
    command
      .argument("[repository]", "the repository as OWNER/NAME")
      .option("--org <name>", "of all repositories of this organization")
      .option("--user", "of all your own repositories")
      .option("--status <status>", "such as queued, in_progress, success or failure")
      .option("--branch <name>", "of this branch")
      .option("--event <event>", "of this event, such as push")
      .option("--actor <username>", "started by this user")
      .option("--workflow <file>", "of this workflow, such as ci.yml")
      .action((repository: string | undefined, { org, user, ...filters }: RunListFlags) =>
        run(cli, { of: toRunSource({ repository, org, user }, filters), ...filters }),
      );
  },
} satisfies CommandModule;

/** Prints runs, the newest first. */
async function runList(cli: CliContext, options: RunListOptions): Promise<void> {
  const { of, status, workflow, ...filters } = options;
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
      return forgeFieldPages(client, forge.listRepositoryRuns, { params, query }, "workflow_runs");
    const request = { params: { ...params, workflow_id: workflow }, query };
    return forgeFieldPages(client, forge.listWorkflowRuns, request, "workflow_runs");
  }
}

interface RunListFlags extends RunFilters {
  readonly org?: string;
  readonly user?: boolean;
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

export const viewRun = {
  operations: [forge.getRun, forge.getRunSummary],
  output: resourceOf(forge.getRun),
  define(command, cli, run = runView): void {
    command
      .argument("<run>", "the run as OWNER/NAME/ID")
      .action((runName: string) => run(cli, toRunName(runName)));
  },
} satisfies CommandModule;

/** Prints one run, with its error if its file is invalid, and in human output the step summaries. */
async function runView(cli: CliContext, { owner, repo, id }: RunName): Promise<void> {
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
}

export const jobColumns: readonly Column<WireJob>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "status", cell: ({ status, conclusion }) => conclusion ?? status },
  { header: "labels", cell: ({ labels }) => labels.join(",") },
  { header: "runner", cell: ({ runner_name: runner = "" }) => runner },
  { header: "started", cell: ({ started_at: startedAt }) => time(startedAt) },
];

export const listJobs = {
  operations: [forge.listRunJobs, forge.listAttemptJobs],
  output: listOf(forge.listRunJobs, "jobs"),
  define(command, cli, run = runJobs): void {
    command
      .argument("<run>", "the run as OWNER/NAME/ID")
      .option("--attempt <number>", "of this attempt; the last one when absent", toPositiveInteger)
      .action((runName: string, flags: { readonly attempt?: number }) =>
        run(cli, { ...toRunName(runName), ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints the jobs of an attempt of a run. */
async function runJobs(
  cli: CliContext,
  { owner, repo, id, attempt }: RunName & { readonly attempt?: number },
): Promise<void> {
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
}

const changedOutput = shape({ run: "integer" });
const waitedOutput = shape({ run: "integer", conclusion: "string?" });

export const cancelRun = {
  operations: [forge.cancelRun, forge.getRun],
  output: waitedOutput,
  define(command, cli, run = runCancel): void {
    addWaitFlags(command, "wait until its jobs have stopped")
      .argument("<run>", "the run as OWNER/NAME/ID")
      .action((runName: string, flags: WaitFlags) => {
        assertWaitFlags(flags);
        return run(cli, { ...toRunName(runName), ...flags });
      });
  },
} satisfies CommandModule;

/** Cancels a run; a completed run stays unchanged. With `--wait` any conclusion is a success. */
async function runCancel(cli: CliContext, options: RunName & WaitFlags): Promise<void> {
  const { owner, repo, id } = options;
  await cli.client.call(forge.cancelRun, { params: { owner, repo, run: id } });
  if (options.wait !== true)
    return cli.output.done({ run: id, conclusion: null }, `Cancelled run ${id}.`);
  const { conclusion = null } = await waitForRun(cli, options, options.timeout);
  await cli.output.done({ run: id, conclusion }, `Run ${id} ended as ${conclusion}.`);
}

export interface RerunOptions extends RunName, WaitFlags {
  readonly failed?: boolean;
  /** The id of one job. */
  readonly job?: number;
}

export const rerunRun = {
  operations: [forge.rerunRun, forge.rerunFailedJobs, forge.rerunJob, forge.getRun],
  output: waitedOutput,
  define(command, cli, run = runRerun): void {
    addWaitFlags(command, "wait for the end of the run, and fail when it fails")
      .argument("<run>", "the run as OWNER/NAME/ID")
      .option("--failed", "only failed jobs, and those that need them")
      .option("--job <id>", "only this job, and those that need it", toPositiveInteger)
      .action((runName: string, flags: Omit<RerunOptions, keyof RunName>) => {
        assertWaitFlags(flags);
        if (flags.failed === true && flags.job !== undefined)
          throw usageError("give --failed or --job, not both");
        return run(cli, { ...toRunName(runName), ...flags });
      });
  },
} satisfies CommandModule;

/**
 * Starts the next attempt of a run that has ended. @throws CliError with `--wait`: `task_failed` when it fails,
 * `not_finished` after the timeout
 */
async function runRerun(cli: CliContext, options: RerunOptions): Promise<void> {
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
}

function toPositiveInteger(value: string): number {
  const id = Number(value);
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw usageError(`expected a positive number, not ${JSON.stringify(value)}`);
}

export const deleteRun = {
  operations: [forge.deleteRun],
  output: changedOutput,
  destructive: true,
  define(command, cli, run = runDelete): void {
    command
      .argument("<run>", "the run as OWNER/NAME/ID")
      .action((runName: string) => run(cli, toRunName(runName)));
  },
} satisfies CommandModule;

/** Deletes a run with its jobs and logs. */
async function runDelete(cli: CliContext, { owner, repo, id }: RunName): Promise<void> {
  await cli.prompts.confirm(`Delete run ${id} with its jobs and logs?`);
  await cli.client.call(forge.deleteRun, { params: { owner, repo, run: id } });
  await cli.output.done({ run: id }, `Deleted run ${id}.`);
}
