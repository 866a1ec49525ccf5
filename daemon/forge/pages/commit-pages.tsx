import type { WireCommit } from "../../contract/forge/code/shapes.ts";
import { branchEndpoints } from "../../contract/forge/code/branches.ts";
import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { notFound } from "../refusals.ts";
import { Diff, loadDiff } from "./diff.tsx";
import { Crumbs, findPlace, toRef, toSourcePath, type PlaceParams } from "./place.tsx";
import { Facts, Pager, Time } from "../../pages/elements.tsx";
import { get, toPageNumber, toPath } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute, type RepositoryParams } from "./forge-page.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** Commits and branches on one page. */
const LIMIT = 30;

/** Branches and commits of repositories. */
export function commitPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/branches", showBranches),
    get("/:owner/:repo/commits/:kind/**:rest", showCommits),
    get("/:owner/:repo/commit/:sha", showCommit),
  ];
}

async function showBranches(context: ForgePageContext, params: RepositoryParams) {
  const { call, request } = context;
  const repository = await loadHead(context, params);
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: branches, total = 0 } = await call(branchEndpoints.listBranches, { params, query });
  return {
    kind: "page",
    title: `Branches of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="branches" />
        <ul className="list">
          {branches.map(({ name, commit, protected: isProtected }) => (
            <li key={name}>
              <a href={toSourcePath(repository, { kind: "branch", ref: name, path: "" })}>{name}</a>
              {isProtected ? " protected" : null}
              <p className="quiet">
                {firstLine(commit.message)} <Time at={commit.timestamp} />
              </p>
            </li>
          ))}
        </ul>
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

export const firstLine = (message: string) => message.split("\n", 1)[0] ?? "";

async function showCommits(context: ForgePageContext, params: PlaceParams) {
  const { call, request } = context;
  const repository = await loadHead(context, params);
  if (repository.empty) throw notFound();
  const place = await findPlace(context, params);
  const page = toPageNumber(request);
  const query = {
    sha: toRef(place),
    path: place.path,
    stat: "false",
    files: "false",
    verification: "false",
    page: String(page),
    limit: String(LIMIT),
  };
  const { owner, repo } = params;
  const { body: commits, total = 0 } = await call(commitEndpoints.listCommits, {
    params: { owner, repo },
    query,
  });
  return {
    kind: "page",
    title: `Commits of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="commits" />
        <Crumbs repository={repository} place={place} />
        <CommitList commits={commits} params={params} />
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

/** Commits with links to their pages. */
export function CommitList({
  commits,
  params: { owner, repo },
}: {
  commits: readonly WireCommit[];
  params: RepositoryParams;
}) {
  return (
    <ul className="list">
      {commits.map(({ sha, commit }) => (
        <li key={sha}>
          <a href={toPath(owner, repo, "commit", sha)}>
            {firstLine(commit.message) || sha.slice(0, 10)}
          </a>
          <p className="quiet">
            <code>{sha.slice(0, 10)}</code> {commit.author.name} <Time at={commit.author.date} />
          </p>
        </li>
      ))}
    </ul>
  );
}

async function showCommit(context: ForgePageContext, params: RepositoryParams) {
  const { call } = context;
  const repository = await loadHead(context, params);
  const { owner, repo } = params;
  const { body: shown } = await call(commitEndpoints.getCommit, {
    params,
    query: { verification: "false" },
  });
  const id = { owner, repo, sha: shown.sha };
  const diff = await loadDiff(context, commitEndpoints.getCommitDiff, { params: id });
  const { commit, parents, stats } = shown;
  const details = commit.message.slice(firstLine(commit.message).length).trim();
  return {
    kind: "page",
    title: `${firstLine(commit.message)} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="commits" />
        <h2>{firstLine(commit.message)}</h2>
        {details === "" ? null : <pre className="plain">{details}</pre>}
        <Facts
          rows={[
            [
              "Author",
              <>
                {commit.author.name} <Time at={commit.author.date} />
              </>,
            ],
            ["Commit", <code key="commit">{shown.sha}</code>],
            ...parents.map(
              ({ sha }) =>
                [
                  "Parent",
                  <a key={sha} href={toPath(owner, repo, "commit", sha)}>
                    <code>{sha.slice(0, 10)}</code>
                  </a>,
                ] as const,
            ),
            [
              "Changes",
              stats === null
                ? undefined
                : `${stats.additions} added, ${stats.deletions} removed lines`,
            ],
          ]}
        />
        <Diff diff={diff} request={context.request} />
      </>
    ),
  } as const;
}
