import type { WireCommit } from "../../contract/forge/code/shapes.ts";
import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { notFound } from "../refusals.ts";
import { Diff, loadDiff, TextLinks } from "./diff.tsx";
import { Crumbs, findPlace, type Place, type PlaceParams, toRef, toSourcePath } from "./place.tsx";
import { loadRefs, RefMenu } from "./ref-menu.tsx";
import { UserLink } from "./elements.tsx";
import { Facts, Pager, Time, toCount } from "../../pages/elements.tsx";
import { get, toFolderPath, toPageNumber, toPath } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute, type RepositoryParams } from "./forge-page.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** Commits on one page. */
const LIMIT = 30;

/** Histories and commits of repositories. */
export function commitPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/commits/:kind/**:rest", showCommits),
    get("/:owner/:repo/commit/:sha", showCommit),
  ];
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
  const [{ body: commits, total = 0 }, refs] = await Promise.all([
    call(commitEndpoints.listCommits, { params: { owner, repo }, query }),
    loadRefs(context, params),
  ]);
  const oldest = page * LIMIT >= total ? commits.at(-1) : undefined;
  const former = oldest && (await findFormer(context, params, place, oldest));
  return {
    kind: "page",
    title: `Commits of ${place.path === "" ? "" : `${place.path} in `}${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="commits" />
        <div className="bar">
          <RefMenu repository={repository} refs={refs} place={place} form="commits" />
          <Crumbs repository={repository} place={place} form="commits" />
          <p className="tools">
            <span className="quiet">{toCount(total, "commit")}</span>{" "}
            <a href={toSourcePath(repository, place, "atom")}>Feed</a>
          </p>
        </div>
        <CommitList commits={commits} params={params} place={place} />
        {former === undefined ? null : (
          <p>
            Before this the file was{" "}
            <a href={toSourcePath(repository, former, "commits")}>
              <bdi>{former.path}</bdi>
            </a>
            .
          </p>
        )}
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

/** Finds the place that a file had before the oldest commit of its history, if that commit moved it. */
async function findFormer(
  context: ForgePageContext,
  { owner, repo }: RepositoryParams,
  place: Place,
  { sha, parents }: WireCommit,
): Promise<Place | undefined> {
  const [parent] = parents;
  if (place.path === "" || parent === undefined) return undefined;
  const params = { owner, repo, sha };
  const { files } = await loadDiff(context, commitEndpoints.getCommitDiff, { params });
  const path = files.find((file) => file.path === place.path)?.formerPath;
  return path === undefined ? undefined : { kind: "commit", ref: parent.sha, path };
}

/** Commits with links to their pages, and to the files of a place as they were. */
export function CommitList({
  commits,
  params: { owner, repo },
  place,
}: {
  commits: readonly WireCommit[];
  params: RepositoryParams;
  place?: Place;
}) {
  const toFiles = (sha: string) =>
    `${toPath(owner, repo, "src", "commit", sha)}${place?.path ? `/${toFolderPath(place.path)}` : ""}`;
  return (
    <ul className="list">
      {commits.map(({ sha, commit, author }) => (
        <li key={sha} className="commit">
          <div>
            <a href={toPath(owner, repo, "commit", sha)}>
              <bdi>{firstLine(commit.message) || sha.slice(0, 10)}</bdi>
            </a>
            <p className="quiet">
              {author === null ? <bdi>{commit.author.name}</bdi> : <UserLink user={author} />}{" "}
              <Time at={commit.author.date} />
            </p>
          </div>
          <p>
            <code>{sha.slice(0, 10)}</code>{" "}
            <a href={toFiles(sha)} aria-label={`Files at ${sha.slice(0, 10)}`}>
              Files
            </a>
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
    query: { stat: "false", files: "false", verification: "false" },
  });
  const id = { owner, repo, sha: shown.sha };
  const diff = await loadDiff(context, commitEndpoints.getCommitDiff, { params: id });
  const { commit, parents } = shown;
  const details = commit.message.slice(firstLine(commit.message).length).trim();
  return {
    kind: "page",
    title: `${firstLine(commit.message)} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="commits" />
        <div className="title">
          <h2>
            <bdi>{firstLine(commit.message)}</bdi>
          </h2>
          <a className="button" href={toPath(owner, repo, "src", "commit", shown.sha)}>
            Browse files
          </a>
        </div>
        {details === "" ? null : <pre className="plain">{details}</pre>}
        <Facts
          rows={[
            [
              "Author",
              <>
                <bdi>{commit.author.name}</bdi> <Time at={commit.author.date} />
              </>,
            ],
            [
              "Committer",
              commit.committer.name === commit.author.name ? undefined : (
                <>
                  <bdi>{commit.committer.name}</bdi> <Time at={commit.committer.date} />
                </>
              ),
            ],
            [
              "Commit",
              <code key="commit" data-copy="">
                {shown.sha}
              </code>,
            ],
            ...parents.map(
              ({ sha }) =>
                [
                  "Parent",
                  <a key={sha} href={toPath(owner, repo, "commit", sha)}>
                    <code>{sha.slice(0, 10)}</code>
                  </a>,
                ] as const,
            ),
          ]}
        />
        <Diff
          diff={diff}
          request={context.request}
          more={<TextLinks address={toPath(owner, repo, "commit", shown.sha)} />}
        />
      </>
    ),
  } as const;
}
