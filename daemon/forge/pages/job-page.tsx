import { repositoryActionEndpoints } from "../../contract/forge/actions/repository-actions.ts";
import type { WireJob } from "../../contract/forge/actions/shapes.ts";
import { State } from "../../pages/elements.tsx";
import { SearchForm } from "../../pages/form.tsx";
import { readText } from "../../pages/operations.ts";
import { toPath } from "../../pages/page.ts";
import { notFound } from "../refusals.ts";
import type { ForgePageContext, RepositoryParams } from "./forge-page.ts";
import { LogView } from "./log-view.tsx";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** Maximum part of a log that a page shows, and that it searches. */
const LOG_BYTES_MAX = 512 * 1024;
const SEARCHED_BYTES_MAX = 4 * 1024 * 1024;

type JobParams = RepositoryParams & { readonly run: string; readonly job: string };

/** Shows the log of a job from a row on, with its groups folded; rows that follow appear while the job runs. */
export async function showJob(context: ForgePageContext, params: JobParams) {
  const { call, request } = context;
  const repository = await loadHead(context, params);
  const { run, job } = await loadJob(context, params);
  const q = request.query.get("q") ?? "";
  const from = toRow(request.query.get("from"));
  const log = await readRows(context, params, job, from, q);
  const end = from + countRows(log.text);
  const state = job.conclusion ?? job.status;
  const home = toPath(params.owner, params.repo, "actions", "runs", params.run);
  const path = `${home}/jobs/${job.id}`;
  const isOver = job.status === "completed";
  return {
    kind: "page",
    title: `${job.name} of ${run.display_title}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="runs" />
        <h2>{`${run.display_title}: ${job.name}`}</h2>
        <p>
          <State word={state} /> <a href={home}>All jobs of the run</a>
          {isOver ? null : (
            <>
              {" · "}
              <a href={path}>Load again</a>
            </>
          )}
        </p>
        {log.text === "" ? null : <SearchForm label="Search the log" query={q} />}
        {log.text === "" ? <p className="quiet">{toReason(job)}</p> : null}
        {from === 0 ? null : (
          <p>
            <a href={path}>Show the log from its beginning</a>
          </p>
        )}
        <LogView
          text={log.text}
          q={q}
          followed={
            isOver || q !== "" || !log.isWhole
              ? undefined
              : { path: `${path}/rows`, state, next: end }
          }
        />
        {log.isWhole ? null : (
          <p>
            {q === "" ? (
              <a href={`${path}?from=${end}`}>{`Show the rows from ${end + 1} on`}</a>
            ) : (
              "Only the first rows of this long log were searched: croft run log shows all of it."
            )}
          </p>
        )}
      </>
    ),
  } as const;

  async function loadJob(
    { call: read }: ForgePageContext,
    { owner, repo, run: id, job: jobId }: JobParams,
  ) {
    const { body: found } = await read(repositoryActionEndpoints.getRun, {
      params: { owner, repo, run: id },
    });
    return { run: found, job: await findJob({ call }, { owner, repo, run: id, job: jobId }) };
  }
}

/** Answers the script with the rows from a number on and the state of the job. */
export async function sendRows(context: ForgePageContext, params: JobParams) {
  const job = await findJob(context, params);
  const from = toRow(context.request.query.get("from"));
  const { text } = await readRows(context, params, job, from, "");
  const rows = toRows(text);
  const state = job.conclusion ?? job.status;
  const answer = JSON.stringify({ state, rows, next: from + rows.length });
  return { kind: "text", contentType: "application/json", text: answer } as const;
}

/** Refuses with `not_found` a job of another run. */
async function findJob(
  { call }: Pick<ForgePageContext, "call">,
  { owner, repo, run, job: id }: JobParams,
): Promise<WireJob> {
  const { body: job } = await call(repositoryActionEndpoints.getJob, {
    params: { owner, repo, job_id: id },
  });
  if (String(job.run_id) !== run) throw notFound();
  return job;
}

/** Reads whole rows of a log. A job that no runner has taken has none. */
async function readRows(
  { call }: ForgePageContext,
  { owner, repo, job: id }: JobParams,
  { runner_name: runner }: WireJob,
  from: number,
  q: string,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  if (runner === undefined) return { text: "", isWhole: true };
  const { text, isWhole } = await readText(
    call,
    repositoryActionEndpoints.getJobLog,
    { params: { owner, repo, job_id: id }, query: { from_row: String(from) } },
    q === "" ? LOG_BYTES_MAX : SEARCHED_BYTES_MAX,
  );
  const end = text.lastIndexOf("\n") + 1;
  return { text: isWhole || end === 0 ? text : text.slice(0, end), isWhole };
}

const toRows = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split(/\r?\n/));
const countRows = (text: string) => toRows(text).length;

function toRow(text: string | null): number {
  const row = Number(text ?? "0");
  return Number.isSafeInteger(row) && row >= 0 ? row : 0;
}

/** Explains why a job has no log. */
function toReason({ status, conclusion, labels }: WireJob): string {
  if (status === "completed") return `No log: the job ended as ${conclusion ?? "unknown"}.`;
  return status === "queued"
    ? `No log yet: the job waits for a runner with the labels ${labels.join(", ")}.`
    : "No log yet: the job has not begun.";
}
