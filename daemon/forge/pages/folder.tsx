import type { ReactNode } from "react";
import { FOLDER_ENTRIES_MAX, type WireContents } from "../../contract/forge/code/contents.ts";
import type { WireCommit } from "../../contract/forge/code/shapes.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { Rendered, Time, toBytesText } from "../../pages/elements.tsx";
import { toPath } from "../../pages/page.ts";
import { UserLink } from "./elements.tsx";
import { createLruCache } from "../../utilities/lru-cache.ts";
import type { ForgePageContext } from "./forge-page.ts";
import { type Place, toChildPath, toSourcePath } from "./place.tsx";
import { FILE_BYTES_MAX, followAt, MARKUP, readText, renderFile } from "./source-text.ts";
import { toSubmoduleSource } from "./tree-links.ts";

/** The entries of a folder, each with the commit that changed it last. */
export function FolderTable({
  repository,
  place,
  entries,
}: {
  repository: WireRepository;
  place: Place;
  entries: readonly WireContents[];
}) {
  const sorted = entries.toSorted((a, b) => Number(b.type === "dir") - Number(a.type === "dir"));
  const parent = place.path.split("/").slice(0, -1).join("/");
  return (
    <>
      <table className="files">
        <thead className="unseen">
          <tr>
            <th>Name</th>
            <th>Last commit</th>
            <th>Time</th>
          </tr>
        </thead>
        <tbody>
          {place.path === "" ? null : (
            <tr>
              <td colSpan={3}>
                <a href={toSourcePath(repository, { ...place, path: parent })}>..</a>
              </td>
            </tr>
          )}
          {sorted.map((entry) => (
            <tr key={entry.name}>
              <td>
                <Name repository={repository} place={place} entry={entry} />
              </td>
              <td className="wide">
                <LastCommit repository={repository} entry={entry} />
              </td>
              <td className="time">
                {entry.last_committer_date === undefined ? null : (
                  <Time at={entry.last_committer_date} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {entries.length < FOLDER_ENTRIES_MAX ? null : (
        <p className="quiet">
          The page lists {FOLDER_ENTRIES_MAX} entries; the folder may have more.
        </p>
      )}
    </>
  );
}

function Name({
  repository,
  place,
  entry,
}: {
  repository: WireRepository;
  place: Place;
  entry: WireContents;
}) {
  const href = toSourcePath(repository, { ...place, path: toChildPath(place, entry.name) });
  return (
    <div className="entry">
      <span aria-hidden="true" className={`icon ${entry.type}`} />
      <span>
        <a href={href}>
          <bdi>{entry.name}</bdi>
        </a>
        {entry.type === "dir" ? <span className="unseen"> folder</span> : null}
        {entry.type === "symlink" ? (
          <span className="quiet">
            {" → "}
            <bdi>{entry.target ?? "a target that is too long"}</bdi>
          </span>
        ) : null}
        {entry.type === "submodule" ? (
          <span className="quiet">
            {" "}
            <Submodule entry={entry} repository={repository} isShort />
          </span>
        ) : null}
        {entry.type === "file" ? (
          <span className="unseen">{` ${toBytesText(entry.size)}`}</span>
        ) : null}
      </span>
    </div>
  );
}

function LastCommit({ repository, entry }: { repository: WireRepository; entry: WireContents }) {
  const { last_commit_sha: sha, last_commit_message: message } = entry;
  if (sha === undefined) return null;
  return (
    <a className="plain-link" href={toPath(repository.owner.login, repository.name, "commit", sha)}>
      <bdi>{message === undefined || message === "" ? sha.slice(0, 10) : message}</bdi>
    </a>
  );
}

/** The source of a submodule, with its commit. */
export function Submodule({
  entry,
  repository,
  isShort = false,
}: {
  entry: WireContents;
  repository: WireRepository;
  /** Whether the id of the commit is shortened. */
  isShort?: boolean;
}) {
  const { owner, name } = repository;
  const address = entry.submodule_git_url;
  const source =
    address === null ? undefined : toSubmoduleSource(address, { owner: owner.login, name });
  const text = source && <bdi>{source.text}</bdi>;
  return (
    <>
      submodule at commit <code>{isShort ? entry.sha.slice(0, 10) : entry.sha}</code>
      {source === undefined ? null : " of "}
      {source?.href === undefined ? (
        text
      ) : (
        <a href={source.href} rel="nofollow noopener">
          {text}
        </a>
      )}
    </>
  );
}

/** The newest commit of a branch, or the newest one that changed an entry of a folder. */
export function LatestCommit({
  repository,
  commit,
  entries,
  children,
}: {
  repository: WireRepository;
  commit: WireCommit | undefined;
  entries: readonly WireContents[];
  children?: ReactNode;
}) {
  const newest = entries
    .filter((entry) => entry.last_committer_date !== undefined)
    .toSorted((a, b) => toEpoch(b) - toEpoch(a))[0];
  const sha = commit?.sha ?? newest?.last_commit_sha;
  const at = commit?.commit.committer.date ?? newest?.last_committer_date;
  if (sha === undefined || at === undefined) return <div className="latest">{children}</div>;
  const title = commit?.commit.message.split("\n", 1)[0] ?? newest?.last_commit_message ?? "";
  return (
    <div className="latest">
      <p>
        {commit === undefined ? null : commit.author === null ? (
          <b>{commit.commit.author.name}</b>
        ) : (
          <b>
            <UserLink user={commit.author} />
          </b>
        )}{" "}
        <a href={toPath(repository.owner.login, repository.name, "commit", sha)}>
          <bdi>{title === "" ? sha.slice(0, 10) : title}</bdi>
        </a>{" "}
        <span className="quiet">
          <code>{sha.slice(0, 10)}</code> <Time at={at} />
        </span>
      </p>
      {children}
    </div>
  );
}

const toEpoch = (entry: WireContents) => Date.parse(entry.last_committer_date ?? "");

/** Number of files named as a README of which the first readable one is shown. */
const READMES_MAX = 4;
const README = /^readme(?:\.(?:md|markdown|org|txt|adoc))?$/i;

/** A README with its HTML. */
export interface ShownReadme {
  readonly name: string;
  readonly text: string;
  readonly html: string | undefined;
}

export function Readme({ readme }: { readme: ShownReadme | undefined }) {
  if (readme === undefined) return null;
  return (
    <section className="card" aria-label={readme.name}>
      <p className="head">{readme.name}</p>
      <Rendered html={readme.html} text={readme.text} />
    </section>
  );
}

/** Texts of READMEs by the id of their repository and of their blob, which never changes. */
export type ReadmeCache = Pick<ReturnType<typeof createLruCache<string>>, "get" | "set">;

const README_CACHE_LENGTH_MAX = 8 * 1024 * 1024;

export const createReadmeCache = (): ReadmeCache =>
  createLruCache<string>({ valueLengthMax: FILE_BYTES_MAX, lengthMax: README_CACHE_LENGTH_MAX });

/** Returns the README of a folder, which may be a symbolic link to a file of the same commit. */
export async function findReadme(
  context: ForgePageContext,
  repository: WireRepository,
  place: Place,
  entries: readonly WireContents[],
  cache: ReadmeCache,
): Promise<ShownReadme | undefined> {
  const params = { owner: repository.owner.login, repo: repository.name };
  const named = entries.filter(({ name, type }) => {
    return (type === "file" || type === "symlink") && README.test(name);
  });
  for (const readme of named.slice(0, READMES_MAX)) {
    const own = { ...place, path: toChildPath(place, readme.name) };
    const file =
      readme.type === "file"
        ? { path: own.path, entry: readme }
        : await followAt(context, repository, own, readme);
    if (file?.entry.type !== "file" || file.entry.size > FILE_BYTES_MAX) continue;
    const key = `${repository.id} ${file.entry.sha}`;
    const text = cache.get(key) ?? (await readText(context, params, file.entry.sha));
    if (text === undefined) continue;
    cache.set(key, text, text.length);
    // Relative links begin at the folder of the target; the format is that of the link when only its name tells one.
    const path = MARKUP.test(file.path)
      ? file.path
      : [...file.path.split("/").slice(0, -1), readme.name].join("/");
    const html = await renderFile(context, repository, { ...place, path }, text);
    return { name: readme.name, text, html };
  }
  return undefined;
}
