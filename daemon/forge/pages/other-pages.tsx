import {
  getJobLog,
  getRun,
  getRunSummary,
  listRunJobs,
} from "../../contract/forge/actions/repository-actions.ts";
import {
  getPackageVersion,
  listPackageFiles,
} from "../../contract/forge/packages/admin-packages.ts";
import { Rendered, State, Time, UserLink } from "./elements.tsx";
import { type PageContext, type PageParams, type PageRoute, toPath } from "./page.ts";
import { readText } from "./read-text.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** The end of a log that a page shows. */
const LOG_BYTES_MAX = 512 * 1024;
/** Summaries that a page shows. */
const SUMMARY_BYTES_MAX = 256 * 1024;

/** Versions of packages, and runs of workflows with their jobs. */
export function otherPages(): PageRoute[] {
  return [
    { method: "GET", path: "/:owner/-/packages/:type/:name/:version", run: showPackage },
    { method: "GET", path: "/:owner/:repo/actions/runs/:run", run: showRun },
    { method: "GET", path: "/:owner/:repo/actions/runs/:run/jobs/:job", run: showJob },
  ];
}

async function showPackage({ call }: PageContext, params: PageParams) {
  const { body: version } = await call(getPackageVersion, { params });
  const { body: files } = await call(listPackageFiles, { params });
  const { repository } = version;
  return {
    kind: "page",
    title: `${version.name} ${version.version}`,
    body: (
      <>
        <h1>{`${version.name} ${version.version}`}</h1>
        <dl>
          <dt>Type</dt>
          <dd>{version.type}</dd>
          <dt>Owner</dt>
          <dd>
            <UserLink user={version.owner} />
          </dd>
          <dt>Published</dt>
          <dd>
            <Time at={version.created_at} /> by <UserLink user={version.creator} />
          </dd>
          {repository === null ? null : (
            <>
              <dt>Repository</dt>
              <dd>
                <a href={toPath(repository.owner.login, repository.name)}>{repository.full_name}</a>
              </dd>
            </>
          )}
        </dl>
        <h2>Files</h2>
        <div className="scroll" tabIndex={0} role="region" aria-label="Files">
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th>Bytes</th>
                <th>SHA-256</th>
              </tr>
            </thead>
            <tbody>
              {files.map((file) => (
                <tr key={file.id}>
                  <td>{file.name}</td>
                  <td>{file.size}</td>
                  <td>
                    <code>{file.sha256}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </>
    ),
  } as const;
}

async function showRun(context: PageContext, params: PageParams) {
  const { call, render } = context;
  const repository = await loadHead(context, params);
  const { body: run } = await call(getRun, { params });
  const { body: jobs } = await call(listRunJobs, { params, query: { limit: "50" } });
  const home = toPath(params["owner"] ?? "", params["repo"] ?? "");
  const summary = await readText(call, getRunSummary, { params }, SUMMARY_BYTES_MAX);
  const html =
    summary.text === ""
      ? undefined
      : await render({ text: summary.text, mode: "markdown", context: home });
  return {
    kind: "page",
    title: `${run.display_title} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="run" />
        <h2>{run.display_title}</h2>
        <dl>
          <dt>State</dt>
          <dd>
            <State word={run.conclusion ?? run.status} />
          </dd>
          <dt>Workflow</dt>
          <dd>{run.path}</dd>
          <dt>Event</dt>
          <dd>{run.event}</dd>
          <dt>Commit</dt>
          <dd>
            <a href={`${home}/commit/${encodeURIComponent(run.head_sha)}`}>
              <code>{run.head_sha.slice(0, 10)}</code>
            </a>
          </dd>
          <dt>Started by</dt>
          <dd>
            <UserLink user={run.actor} />
          </dd>
        </dl>
        <h2>Jobs</h2>
        <ul className="list">
          {jobs.jobs.map((job) => (
            <li key={job.id}>
              <a href={`${home}/actions/runs/${run.id}/jobs/${job.id}`}>{job.name}</a>{" "}
              <State word={job.conclusion ?? job.status} />
            </li>
          ))}
        </ul>
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

async function showJob(context: PageContext, params: PageParams) {
  const { call } = context;
  const repository = await loadHead(context, params);
  const { owner = "", repo = "", job: id = "" } = params;
  const { body: run } = await call(getRun, { params });
  const { body: all } = await call(listRunJobs, { params, query: { limit: "50" } });
  const job = all.jobs.find((each) => String(each.id) === id);
  // A job that no runner has taken has no log.
  const log =
    job?.runner_name === undefined
      ? { text: "", isWhole: true }
      : await readText(call, getJobLog, { params: { owner, repo, job_id: id } }, LOG_BYTES_MAX);
  return {
    kind: "page",
    title: `${job?.name ?? "Job"} of ${run.display_title}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="run" />
        <h2>{`${run.display_title}: ${job?.name ?? ""}`}</h2>
        {job === undefined ? null : <State word={job.conclusion ?? job.status} />}
        <pre tabIndex={0}>{log.text}</pre>
        {log.isWhole ? null : <p>The log is longer: croft run log shows all of it.</p>}
      </>
    ),
  } as const;
}
