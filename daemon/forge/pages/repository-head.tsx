import { Tabs } from "../../pages/elements.tsx";
import {
  repositoryEndpoints,
  type WireRepository,
} from "../../contract/forge/repositories/repositories.ts";
import { toFolderPath, toPath } from "../../pages/page.ts";
import { toPicturePath } from "./elements.tsx";
import { type ForgePageContext, type RepositoryParams } from "./forge-page.ts";
import { loadMarks, type Marks, RepositoryMarks } from "./repository-marks.tsx";

/** A repository with what the person of the page has marked it as. */
export interface RepositoryOfPage extends WireRepository {
  /** Undefined for anonymous callers, who see counts only. */
  readonly marks?: Marks | undefined;
}

/** Loads the repository of a page. Throws `not_found` when the caller may not read it. */
export async function loadHead(
  context: ForgePageContext,
  params: RepositoryParams,
): Promise<RepositoryOfPage> {
  const path = { owner: params.owner, repo: params.repo };
  const { body } = await context.call(repositoryEndpoints.getRepository, { params: path });
  return { ...body, marks: await loadMarks(context, path) };
}

/** Returns whether the caller may read the files: a team may have access to only the issues of a repository. */
export function readsCode({ permissions }: WireRepository): boolean {
  return permissions?.pull !== false;
}

/** Returns whether the caller may change branches: an archived repository stays as it is, and a mirror follows its remote. */
export function mayChangeCode({ permissions, archived, mirror }: WireRepository): boolean {
  return permissions?.push === true && !archived && !mirror;
}

/** The topics of a repository, each with a link to a search for it. */
export function TopicList({ topics }: { topics: readonly string[] }) {
  if (topics.length === 0) return null;
  return (
    <p className="quiet">
      Topics:{" "}
      {topics.map((topic, index) => (
        <span key={topic}>
          {index === 0 ? "" : ", "}
          <a href={`/?topic=1&q=${encodeURIComponent(topic)}`}>{topic}</a>
        </span>
      ))}
    </p>
  );
}

/** The name of a repository and its tabs. */
export function RepositoryHead({
  repository,
  current,
}: {
  repository: RepositoryOfPage;
  current:
    | "files"
    | "commits"
    | "branches"
    | "issues"
    | "pulls"
    | "releases"
    | "wiki"
    | "runs"
    | "forks"
    | "settings";
}) {
  const { owner, name, default_branch: branch } = repository;
  const home = toPath(owner.login, name);
  const tabs = [
    { key: "files", text: "Files", href: home },
    { key: "commits", text: "Commits", href: `${home}/commits/branch/${toFolderPath(branch)}` },
    { key: "branches", text: "Branches", href: `${home}/branches` },
    { key: "issues", text: "Issues", href: `${home}/issues`, keys: "g i" },
    { key: "pulls", text: "Pull requests", href: `${home}/pulls`, keys: "g p" },
    { key: "releases", text: "Releases", href: `${home}/releases` },
    { key: "wiki", text: "Wiki", href: `${home}/wiki` },
    { key: "runs", text: "Runs", href: `${home}/actions` },
    { key: "forks", text: `Forks (${repository.forks_count})`, href: `${home}/forks` },
    { key: "settings", text: "Settings", href: `${home}/settings` },
  ] as const;
  const isShown = {
    files: readsCode(repository),
    commits: readsCode(repository) && !repository.empty,
    branches: readsCode(repository) && !repository.empty,
    issues: repository.has_issues,
    pulls: repository.has_pull_requests && !repository.empty,
    releases:
      repository.has_releases &&
      (repository.release_counter > 0 || (mayChangeCode(repository) && !repository.empty)),
    wiki: repository.has_wiki,
    runs: repository.has_actions && !repository.empty,
    forks: readsCode(repository) && repository.has_code,
    settings: repository.permissions?.admin === true,
  };
  return (
    <>
      <h1 className="place">
        {repository.avatar_url === "" ? null : (
          <img src={toPicturePath(repository.avatar_url)} alt="" width={32} height={32} />
        )}{" "}
        <a href={toPath(owner.login)}>{owner.login}</a> / <a href={home}>{name}</a>{" "}
        {repository.private ? <span className="state plain-state">private</span> : null}
        {repository.mirror ? <span className="state plain-state">mirror</span> : null}
        {repository.archived ? <span className="state plain-state">archived</span> : null}
      </h1>
      <RepositoryMarks repository={repository} marks={repository.marks} />
      {repository.parent === undefined ? null : (
        <p className="quiet">
          forked from{" "}
          <a href={toPath(repository.parent.owner.login, repository.parent.name)}>
            {repository.parent.full_name}
          </a>
        </p>
      )}
      {repository.original_url === "" ? null : (
        <p className="quiet">
          {repository.mirror ? "mirror of" : "imported from"}{" "}
          <a href={repository.original_url} rel="nofollow noreferrer">
            {repository.original_url}
          </a>
          {repository.mirror && repository.permissions?.admin === true ? (
            <>
              {" "}
              (<a href={`${home}/import`}>state</a>)
            </>
          ) : null}
        </p>
      )}
      {repository.repo_transfer === undefined ? null : (
        <p className="notice">
          {`It is offered to ${repository.repo_transfer.recipient.login}. `}
          <a href={`${home}/transfer`}>Answer the offer</a>
        </p>
      )}
      {repository.description === "" ? null : <p>{repository.description}</p>}
      <TopicList topics={repository.topics} />
      <Tabs label="Repository" tabs={tabs.filter(({ key }) => isShown[key])} current={current} />
    </>
  );
}
