import type { WireCommit } from "../../contract/forge/code/shapes.ts";
import { branchEndpoints } from "../../contract/forge/code/branches.ts";
import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { notFound } from "../refusals.ts";
import { Crumbs, findPlace, toRef, toSourcePath, type PlaceParams } from "./place.tsx";
import { Facts, Pager, Time } from "../../pages/elements.tsx";
import { get, toPageNumber, toPath } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute, type RepositoryParams } from "./forge-page.ts";
import { readText } from "../../pages/operations.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** Commits and branches on one page. */
const LIMIT = 30;
/** The longest diff that a page shows, in bytes. */
export const DIFF_BYTES_MAX = 512 * 1024;

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
  const diff = await readText(call, commitEndpoints.getCommitDiff, { params: id }, DIFF_BYTES_MAX);
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
        <Diff text={diff.text} />
        {diff.isWhole ? null : <p>The diff is longer: use git show.</p>}
      </>
    ),
  } as const;
}

/** The files of a diff. */
export function Diff({ text }: { text: string }) {
  return splitDiff(text).map((file, at) => (
    <div key={at} className="card">
      <h3 className="head">
        <bdi>{file.name}</bdi>
        {file.notes.map((note) => (
          <span key={note} className="quiet">{` ${note}`}</span>
        ))}
      </h3>
      {file.hunks.length === 0 ? null : <Hunks lines={file.hunks} />}
    </div>
  ));
}

interface FileDiff {
  /** The path; git quotes it when it has unusual characters. */
  readonly name: string;
  /** Further changes of the file: `new file mode 100644`, `rename from …`. */
  readonly notes: readonly string[];
  readonly hunks: readonly string[];
}

/** Splits a diff into its files. Every line of a file's content begins with another character than that of a header. */
function splitDiff(text: string): readonly FileDiff[] {
  return text
    .split(/^(?=diff )/m)
    .filter((part) => part.trim() !== "")
    .map((part) => {
      const lines = part.replace(/\n$/, "").split("\n");
      const found = lines.findIndex((line) => line.startsWith("@@"));
      const header = lines.slice(0, found === -1 ? lines.length : found);
      return {
        name: toFileName(header),
        notes: header.filter((line) =>
          /^(?:new|deleted|old) (?:file )?mode |^rename from |^Binary files /.test(line),
        ),
        hunks: found === -1 ? [] : lines.slice(found),
      };
    });
}

function toFileName(header: readonly string[]): string {
  const names = ["+++ ", "--- "].map((mark) =>
    header
      .find((line) => line.startsWith(mark))
      ?.slice(mark.length)
      .replace(/\t$/, ""),
  );
  const name = names.find((each) => each !== undefined && each !== "/dev/null");
  if (name !== undefined) return name.replace(/^("?)[ab]\//, "$1");
  const renamed = header.find((line) => line.startsWith("rename to "));
  if (renamed !== undefined) return renamed.slice("rename to ".length);
  // The name of a file without lines occurs only here, twice: "diff --git a/name b/name".
  const [first = ""] = header;
  const both = first.replace(/^diff --git /, "");
  return both.slice((both.length + 1) / 2).replace(/^("?)b\//, "$1");
}

/** The hunks of a file, or one of them; neighbouring lines of one kind are one element, so that long diffs stay small. */
export function Hunks({ lines }: { lines: readonly string[] }) {
  const parts: { kind: string; lines: string[] }[] = [];
  for (const line of lines) {
    const kind = toLineKind(line);
    const last = parts.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else parts.push({ kind, lines: [line] });
  }
  return (
    <pre className="diff" tabIndex={0}>
      {parts.map(({ kind, lines: same }, at) => (
        <span key={at} className={kind}>{`${same.join("\n")}\n`}</span>
      ))}
    </pre>
  );
}

function toLineKind(line: string): string {
  if (line.startsWith("+")) return "add";
  if (line.startsWith("-")) return "del";
  return line.startsWith("@@") ? "hunk" : "same";
}
