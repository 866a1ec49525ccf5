import { artifactEndpoints, type WireArtifact } from "../../contract/forge/actions/artifacts.ts";
import { repositoryActionEndpoints } from "../../contract/forge/actions/repository-actions.ts";
import type { WireJob, WireRun } from "../../contract/forge/actions/shapes.ts";
import { UserLink } from "./elements.tsx";
import {
  Alert,
  EmptyState,
  Facts,
  Pager,
  Rendered,
  State,
  Time,
  toBytesText,
} from "../../pages/elements.tsx";
import { toBasePath } from "../../pages/document.tsx";
import { Form } from "../../pages/form.tsx";
import { get, post, toPageNumber, toPath } from "../../pages/page.ts";
import {
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type RepositoryParams,
} from "./forge-page.ts";
import { sendRows, showJob } from "./job-page.tsx";
import { toFollowed } from "./log-view.tsx";
import { changeRun, RunButtons, runChanges } from "./run-actions.tsx";
import { loadStartForm, startWorkflow } from "./start-workflow.tsx";
import { readText } from "../../pages/operations.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** Maximum number of summaries on a page. */
const SUMMARY_BYTES_MAX = 256 * 1024;
/** Maximum number of artifacts on a page; the API has all of them. */
const ARTIFACTS_MAX = 50;
const RUNS_LIMIT = 30;

/** Runs of workflows with their jobs and artifacts. */
export function runPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/actions", (context, params) => showRuns(context, params)),
    post("/:owner/:repo/actions/start", startWorkflow(showRuns)),
    get("/:owner/:repo/actions/runs/:run", (context, params) => showRun(context, params)),
    ...runChanges.map((change) =>
      post(`/:owner/:repo/actions/runs/:run/${change}`, changeRun(change, showRun)),
    ),
    get("/:owner/:repo/actions/runs/:run/state", sendState),
    get("/:owner/:repo/actions/runs/:run/jobs/:job", showJob),
    get("/:owner/:repo/actions/runs/:run/jobs/:job/rows", sendRows),
    get("/:owner/:repo/actions/runs/:run/artifacts/:artifact_id", sendArtifact),
  ];
}

async function showRuns(
  context: ForgePageContext,
  params: RepositoryParams,
  failure?: string,
): Promise<ForgePageAnswer> {
  const { call, request } = context;
  const repository = await loadHead(context, params);
  const page = toPageNumber(request);
  const { body } = await call(repositoryActionEndpoints.listRepositoryRuns, {
    params,
    query: { page: String(page), limit: String(RUNS_LIMIT) },
  });
  const home = toPath(params.owner, params.repo);
  return {
    kind: "page",
    title: `Runs in ${repository.full_name}`,
    ...(failure === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="runs" />
        <Alert text={failure} />
        {await loadStartForm(context, repository)}
        {body.workflow_runs.length === 0 ? (
          <EmptyState>No runs. Workflows in .gitea/workflows start them.</EmptyState>
        ) : (
          <ul className="list">
            {body.workflow_runs.map((run) => (
              <li key={run.id}>
                <a href={`${home}/actions/runs/${run.id}`}>{run.display_title}</a>{" "}
                <State word={toStateWord(run)} />
                <p className="quiet">
                  {`#${run.run_number} of ${run.path.replace(/@.*/, "")}, ${run.event}`}
                  {` on ${toPlaceWord(run)} by `}
                  <UserLink user={run.actor} />{" "}
                  {hasStarted(run) ? <Time at={run.started_at} /> : null}
                </p>
              </li>
            ))}
          </ul>
        )}
        <Pager page={page} limit={RUNS_LIMIT} total={body.total_count} query={request.query} />
      </>
    ),
  } as const;
}

const toStateWord = (run: WireRun) =>
  run.needs_approval === true ? "needs approval" : (run.conclusion ?? run.status);

/** The branch or tag of a run, or the pull request of its head. */
function toPlaceWord({ head_branch: branch, pull_requests: [pull] }: WireRun): string {
  return branch ?? (pull === undefined ? "a deleted branch" : `#${pull.number}`);
}

/** On the wire, a run that has not started has the year 1970. */
const hasStarted = ({ started_at: at }: WireRun) => !at.startsWith("1970-");

type RunParams = RepositoryParams & { readonly run: string };

async function showRun(
  context: ForgePageContext,
  params: RunParams,
  failure?: string,
): Promise<ForgePageAnswer> {
  const { call, render, session } = context;
  const repository = await loadHead(context, params);
  const { body: run } = await call(repositoryActionEndpoints.getRun, { params });
  const { body: jobs } = await call(repositoryActionEndpoints.listRunJobs, {
    params,
    query: { limit: "50" },
  });
  const { body: made } = await call(artifactEndpoints.listRunArtifacts, {
    params,
    query: { limit: String(ARTIFACTS_MAX) },
  });
  const home = toPath(params.owner, params.repo);
  const summary = await readText(
    call,
    repositoryActionEndpoints.getRunSummary,
    { params },
    SUMMARY_BYTES_MAX,
  );
  const html =
    summary.text === ""
      ? undefined
      : await render({ text: summary.text, mode: "markdown", context: home });
  return {
    kind: "page",
    title: `${run.display_title} in ${repository.full_name}`,
    ...(failure === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="runs" />
        <h2>{run.display_title}</h2>
        <Facts
          rows={[
            ["State", <State key="state" word={toStateWord(run)} />],
            ["Error", run.error],
            ["Workflow", run.path],
            ["Event", run.event],
            [
              "Commit",
              <a key="commit" href={`${home}/commit/${encodeURIComponent(run.head_sha)}`}>
                <code>{run.head_sha.slice(0, 10)}</code>
              </a>,
            ],
            ["Started by", <UserLink key="actor" user={run.actor} />],
          ]}
        />
        <Alert text={failure} />
        <RunButtons context={context} repository={repository} run={run} />
        {run.needs_approval === true ? (
          <section>
            <p>
              The workflow is that of a fork, by a person whose runs nobody has approved here. Read
              the changes before the jobs run.
            </p>
            {session === undefined || repository.permissions?.push !== true ? null : (
              <Form action={`${home}/actions/runs/${run.id}/approve`} token={session.formToken}>
                <button type="submit">Approve and run</button>
              </Form>
            )}
          </section>
        ) : null}
        <h2>Jobs</h2>
        <ul
          className="list"
          {...toFollowed(
            run.status === "completed"
              ? undefined
              : {
                  path: `${home}/actions/runs/${run.id}/state`,
                  state: toStates(run, jobs.jobs),
                  next: 0,
                },
          )}
        >
          {jobs.jobs.map((job) => (
            <li key={job.id}>
              <a href={`${home}/actions/runs/${run.id}/jobs/${job.id}`}>{job.name}</a>{" "}
              <State word={job.conclusion ?? job.status} />
            </li>
          ))}
        </ul>
        <ArtifactList home={home} artifacts={made.artifacts} total={made.total_count} />
        {summary.text === "" ? null : (
          <>
            <h2>Summary</h2>
            <Rendered html={html} text={summary.text} />
            {summary.isWhole ? null : <p>The summary is longer: croft run view shows all of it.</p>}
          </>
        )}
      </>
    ),
  } as const;
}

/** Returns the states of a run and its jobs, for the script. */
const toStates = (run: WireRun, jobs: readonly WireJob[]) =>
  [toStateWord(run), ...jobs.map((job) => job.conclusion ?? job.status)].join(" ");

/** Answers the script, which loads the page again when the states are others. */
async function sendState({ call }: ForgePageContext, params: RunParams) {
  const { body: run } = await call(repositoryActionEndpoints.getRun, { params });
  const { body } = await call(repositoryActionEndpoints.listRunJobs, {
    params,
    query: { limit: "50" },
  });
  const text = JSON.stringify({ state: toStates(run, body.jobs), rows: [], next: 0 });
  return { kind: "text", contentType: "application/json", text } as const;
}

function ArtifactList({
  home,
  artifacts,
  total,
}: {
  home: string;
  artifacts: readonly WireArtifact[];
  total: number;
}) {
  if (artifacts.length === 0) return null;
  return (
    <>
      <h2>Artifacts</h2>
      <ul className="list">
        {artifacts.map(
          ({ id, name, size_in_bytes: size, expired, expires_at: end, workflow_run: run }) => (
            <li key={id}>
              {expired ? (
                <bdi>{name}</bdi>
              ) : (
                <a href={`${home}/actions/runs/${run.id}/artifacts/${id}`}>
                  <bdi>{name}</bdi>
                </a>
              )}{" "}
              <span className="quiet">
                {expired ? "expired" : `${toBytesText(size)}, until `}
                {expired ? null : <Time at={end} />}
              </span>
            </li>
          ),
        )}
      </ul>
      {total <= artifacts.length ? null : (
        <p>{`There are ${total}: croft run artifact list shows all of them.`}</p>
      )}
    </>
  );
}

/** Redirects to the download address of the artifact, as a path, so that it works at every address of the server. */
async function sendArtifact(
  { call, publicUrl }: ForgePageContext,
  { owner, repo, artifact_id }: RepositoryParams & { readonly artifact_id: string },
) {
  const { headers } = await call(artifactEndpoints.openArtifact, {
    params: { owner, repo, artifact_id },
  });
  const { pathname, search } = new URL(headers?.["Location"] ?? "");
  const path = pathname.slice(toBasePath(publicUrl).length);
  return { kind: "redirect", to: `${path}${search}` } as const;
}
