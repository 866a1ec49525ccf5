import type { WireJob, WireRun } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { readPages } from "../output/pages.ts";
import { unpagedList } from "../output/spec.ts";
import { type RepositoryName, toRepositoryName } from "../support/repository.ts";
import {
  toRunName,
  readJobLog,
  hasEnded,
  RUNS_PER_PAGE,
  type RunSource,
  stateOf,
} from "../support/runs.ts";
import { canShowScreen, showLiveScreen } from "../ui/open-screen.ts";
import { commandDetails } from "../tree/command.ts";

export const watchRun = commandDetails({
  args: {
    "<run>": { help: "a repository as OWNER/NAME, or a run as OWNER/NAME/ID", parse: toTarget },
  },
  calls: [
    forge.listRepositoryRuns,
    forge.getRun,
    forge.listRunJobs,
    forge.getJobLog,
    forge.cancelRun,
    forge.rerunRun,
    forge.rerunFailedJobs,
  ],
  output: unpagedList({
    run: "integer",
    job: "integer?",
    name: "string",
    status: "string",
    at: "string?",
  }),
  examples: [
    ["Watch a run in a full-screen view", "croft run watch keeper/notes/17"],
    ["Watch all runs of a repository", "croft run watch keeper/notes"],
  ],
  /** Shows runs, their jobs and logs live; without a terminal it prints each change until the run has ended. */
  async run(cli, { run: options }) {
    const source = createSource(cli, options);
    if (!(await canShowScreen(cli)) || cli.output.isMachine)
      return cli.output.stream(listChanges(cli, source, options.id), columns);
    const { createRunWatch } = await import("../ui/run/run-watch.ts");
    const watch = createRunWatch({
      source,
      repository: `${options.owner}/${options.repo}`,
      runId: options.id,
      style: cli.io.style,
      clock: cli.clock,
    });
    await showLiveScreen(cli, watch, LOOK_EVERY_MS);
  },
});

/** Polling interval of the daemon. */
const LOOK_EVERY_MS = 1_000;

/** Jobs of a run that are shown. */
const JOBS_MAX = 256;

interface Change {
  readonly run: number;
  /** Null for the run itself. */
  readonly job: number | null;
  readonly name: string;
  readonly status: string;
  readonly at: string | null;
}

const columns: readonly Column<Change>[] = [
  { header: "run", cell: ({ run }) => run },
  { header: "job", cell: ({ job }) => job },
  { header: "name", cell: ({ name }) => name },
  { header: "status", cell: ({ status }) => status },
  { header: "at", cell: ({ at }) => time(at) },
];

/** Yields each state of the jobs of a run, and of the run at its end. Without a run it uses the newest one. */
async function* listChanges(
  cli: CliContext,
  source: RunSource,
  runId: number | undefined,
): AsyncGenerator<Change> {
  const id = runId ?? (await source.listRuns(1)).runs[0]?.id;
  if (id === undefined) throw new CliError("not_found", "the repository has no runs");
  const statuses = new Map<number, string>();
  for (;;) {
    // Fetched before the jobs, so that the list contains every change until the end of the run.
    const run = await source.getRun(id);
    for (const job of await source.listJobs(id)) {
      const status = stateOf(job);
      if (statuses.get(job.id) === status) continue;
      statuses.set(job.id, status);
      yield { run: id, job: job.id, name: job.name, status, at: toMoment(job) };
    }
    if (hasEnded(run)) {
      const name = run.display_title;
      yield { run: id, job: null, name, status: stateOf(run), at: toMoment(run) };
      return;
    }
    await cli.system.sleep(LOOK_EVERY_MS, cli.signal);
  }
}

function toMoment(entry: WireJob | WireRun): string | null {
  return (hasEnded(entry) ? entry.completed_at : entry.started_at) ?? null;
}

function createSource(cli: CliContext, { owner, repo }: RepositoryName): RunSource {
  const { client } = cli;
  return {
    async listRuns(page) {
      const params = { owner, repo };
      const { body } = await client.call(forge.listRepositoryRuns, {
        params,
        query: { page, limit: RUNS_PER_PAGE },
      });
      return { runs: body.workflow_runs, total: body.total_count };
    },
    async getRun(run) {
      return (await client.call(forge.getRun, { params: { owner, repo, run } })).body;
    },
    async listJobs(run) {
      const pages = forgeFieldPages(
        client,
        forge.listRunJobs,
        { params: { owner, repo, run } },
        "jobs",
      );
      const jobs: WireJob[] = [];
      for await (const { items } of readPages(pages, { ...cli.flags, all: true })) {
        jobs.push(...items);
        if (jobs.length >= JOBS_MAX) break;
      }
      return jobs;
    },
    readLog: (job, fromRow) => readJobLog(client, { owner, repo, id: job }, { from: fromRow }),
    async rerun(run, onlyFailed) {
      const params = { owner, repo, run };
      if (onlyFailed) await client.call(forge.rerunFailedJobs, { params });
      else await client.call(forge.rerunRun, { params });
    },
    async cancel(run) {
      await client.call(forge.cancelRun, { params: { owner, repo, run } });
    },
  };
}

/** The id is undefined for all runs of a repository. */
function toTarget(text: string): RepositoryName & { readonly id: number | undefined } {
  if (text.split("/").length > 2) return toRunName(text);
  return { ...toRepositoryName(text), id: undefined };
}
