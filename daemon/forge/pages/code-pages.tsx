import type { ReactNode } from "react";
import { AppError } from "../../errors.ts";
import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { CONTENT_PARTS, type WireContents } from "../../contract/forge/code/contents.ts";
import { languageEndpoints } from "../../contract/forge/repositories/languages.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { notFound } from "../refusals.ts";
import type { FindFileLanguage } from "../code/file-languages.ts";
import { Menu, toCount } from "../../pages/elements.tsx";
import { get, toFolderPath, toPath } from "../../pages/page.ts";
import {
  createReadmeCache,
  findReadme,
  FolderTable,
  LatestCommit,
  Readme,
  type ReadmeCache,
} from "./folder.tsx";
import { type ForgePageContext, type ForgePageRoute, type RepositoryParams } from "./forge-page.ts";
import {
  Crumbs,
  findPlace,
  type Place,
  type PlaceParams,
  readPlace,
  toFormPath,
  toRef,
  toSourcePath,
} from "./place.tsx";
import { loadRepositoryActivity, RecentActivity } from "./recent-activity.tsx";
import { loadRefs, RefMenu } from "./ref-menu.tsx";
import { loadHead, RepositoryHead, readsCode, mayChangeCode } from "./repository-head.tsx";
import { showFile } from "./source-page.tsx";

/** Files and folders of repositories. */
export function codePages(findFileLanguage: FindFileLanguage): ForgePageRoute[] {
  const readmes = createReadmeCache();
  return [
    get("/:owner/:repo", (context, params) => showRepository(context, params, readmes)),
    get("/:owner/:repo/src/:kind/**:rest", (context, params) =>
      showSource(context, params, { findFileLanguage, readmes }),
    ),
  ];
}

async function showRepository(
  context: ForgePageContext,
  params: RepositoryParams,
  readmes: ReadmeCache,
) {
  const repository = await loadHead(context, params);
  if (!readsCode(repository) && repository.has_issues)
    return {
      kind: "redirect",
      to: `${toPath(repository.owner.login, repository.name)}/issues`,
    } as const;
  const activities = await loadRepositoryActivity(context, repository);
  const recent = <RecentActivity activities={activities} isOfOneRepository />;
  if (repository.empty) return showEmpty(repository, recent);
  const place = { kind: "branch", ref: repository.default_branch, path: "" };
  const { dir_contents: entries = [] } = await readWithCommits(context, params, place);
  return showFolder(context, { repository, place, entries, readmes }, recent);
}

function showEmpty(repository: WireRepository, recent: ReactNode) {
  const { clone_url: address, default_branch: branch } = repository;
  const at = { ref: branch, path: "" };
  return {
    kind: "page",
    title: repository.full_name,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <p>This repository is empty. Push to it:</p>
        <pre tabIndex={0}>{`git remote add origin ${address}\ngit push -u origin ${branch}`}</pre>
        {mayChangeCode(repository) ? (
          <p>
            Or <a href={toFormPath(repository, at, "_new")}>write its first file</a> here.
          </p>
        ) : null}
        {recent}
      </>
    ),
  } as const;
}

async function showSource(
  context: ForgePageContext,
  params: PlaceParams,
  { findFileLanguage, readmes }: { findFileLanguage: FindFileLanguage; readmes: ReadmeCache },
) {
  const repository = await loadHead(context, params);
  if (repository.empty) throw notFound();
  const place = await findPlace(context, params);
  const { file_contents: entry, dir_contents: entries = [] } = await readWithCommits(
    context,
    params,
    place,
  );
  return entry === undefined
    ? showFolder(context, { repository, place, entries, readmes })
    : showFile(context, { repository, place, entry, findFileLanguage });
}

/** What a place holds, with the commits that changed it last where these can be found: files are readable without a history. */
async function readWithCommits(context: ForgePageContext, params: RepositoryParams, place: Place) {
  const found = unlessUnavailable(readPlace(context, params, place, CONTENT_PARTS.message));
  return (await found) ?? readPlace(context, params, place);
}

/** Undefined where commits are missing, or git is too busy to look for them. */
async function unlessUnavailable<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError && error.code === "unavailable") return undefined;
    throw error;
  }
}

interface Folder {
  readonly repository: WireRepository;
  readonly place: Place;
  readonly entries: readonly WireContents[];
  readonly readmes: ReadmeCache;
}

async function showFolder(
  context: ForgePageContext,
  { repository, place, entries, readmes }: Folder,
  /** The content below the list of files. */
  below?: ReactNode,
) {
  const params = { owner: repository.owner.login, repo: repository.name };
  const isTop = place.path === "";
  const [refs, history, languages, readme] = await Promise.all([
    loadRefs(context, params),
    isTop ? unlessUnavailable(loadHistory(context, params, place)) : undefined,
    isTop ? context.call(languageEndpoints.listLanguages, { params }) : undefined,
    findReadme(context, repository, place, entries, readmes),
  ]);
  const historyPath = toSourcePath(repository, place, "commits");
  return {
    kind: "page",
    title: isTop ? repository.full_name : `${place.path} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <div className="bar">
          <RefMenu repository={repository} refs={refs} place={place} />
          <Crumbs repository={repository} place={place} />
          <FolderTools repository={repository} place={place} />
        </div>
        {languages === undefined ? null : <Languages sizes={languages.body} />}
        <div className="card">
          <LatestCommit repository={repository} commit={history?.latest} entries={entries}>
            <a href={historyPath}>
              {history === undefined ? "History" : toCount(history.total, "commit")}
            </a>
          </LatestCommit>
          <FolderTable repository={repository} place={place} entries={entries} />
        </div>
        <Readme readme={readme} />
        {below}
      </>
    ),
  } as const;
}

async function loadHistory(context: ForgePageContext, params: RepositoryParams, place: Place) {
  const parts = { stat: "false", files: "false", verification: "false" };
  const query = { sha: toRef(place), limit: "1", ...parts };
  const { body, total = 0 } = await context.call(commitEndpoints.listCommits, { params, query });
  return { latest: body[0], total };
}

/** Links to what a person does with a folder. */
function FolderTools({ repository, place }: { repository: WireRepository; place: Place }) {
  const home = toPath(repository.owner.login, repository.name);
  const archive = `${home}/archive/${toFolderPath(place.ref)}`;
  const addresses = [repository.clone_url, repository.ssh_url].filter((address) => address !== "");
  const mayWrite = place.kind === "branch" && mayChangeCode(repository);
  return (
    <div className="tools">
      <form method="get" action={toSourcePath(repository, { ...place, path: "" }, "find")}>
        <input
          type="search"
          name="q"
          aria-label="Go to file"
          placeholder="Go to file"
          maxLength={200}
        />
      </form>
      {mayWrite ? (
        <Menu name="Add file">
          <ul className="plain-list">
            <li>
              <a href={toFormPath(repository, place, "_new")}>New file</a>
            </li>
            <li>
              <a href={toFormPath(repository, place, "_upload")}>Upload files</a>
            </li>
          </ul>
        </Menu>
      ) : null}
      <Menu name="Clone">
        {addresses.map((address) => (
          <p key={address}>
            <code data-copy="">{address}</code>
          </p>
        ))}
        <p>
          <a href={`${archive}.zip`}>Download zip</a> <a href={`${archive}.tar.gz`}>tar.gz</a>
        </p>
      </Menu>
    </div>
  );
}

/** Languages that the bar shows by name; the rest is one part. */
const LANGUAGES_SHOWN = 6;

/** The languages of a repository with their shares, as a bar and as text. */
function Languages({ sizes }: { sizes: Readonly<Record<string, number>> }) {
  const all = Object.entries(sizes);
  const total = all.reduce((sum, [, size]) => sum + size, 0);
  if (total === 0) return null;
  const shown = all.slice(0, LANGUAGES_SHOWN);
  const rest = total - shown.reduce((sum, [, size]) => sum + size, 0);
  const parts = rest === 0 ? shown : [...shown, ["other", rest] as const];
  let start = 0;
  return (
    <div className="languages">
      <svg width="100%" height="8" aria-hidden="true">
        {parts.map(([name, size], index) => {
          const x = start;
          start += (100 * size) / total;
          return (
            <rect
              key={name}
              className={`part-${index}`}
              x={`${x}%`}
              width={`${start - x}%`}
              height="8"
            />
          );
        })}
      </svg>
      <ul className="inline-list">
        {parts.map(([name, size], index) => (
          <li key={name}>
            <svg width="10" height="10" aria-hidden="true">
              <circle className={`part-${index}`} cx="5" cy="5" r="5" />
            </svg>{" "}
            <bdi>{name}</bdi>{" "}
            <span className="quiet">{`${((100 * size) / total).toFixed(1)}%`}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
