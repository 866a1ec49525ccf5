import type { ReactNode } from "react";
import { FOLDER_ENTRIES_MAX, type WireContents } from "../../contract/forge/code/contents.ts";
import { objectEndpoints } from "../../contract/forge/code/objects.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { decodeIfText } from "../../utilities/text-encoding.ts";
import { notFound } from "../refusals.ts";
import { toCodeRequest } from "../code/code-request.ts";
import type { FindFileLanguage } from "../code/file-languages.ts";
import { escapePath } from "../../rendering/html/links.ts";
import { Code, FileList, Menu, Rendered, toBytesText } from "../../pages/elements.tsx";
import { get, toPath } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute, type RepositoryParams } from "./forge-page.ts";
import {
  Crumbs,
  findPlace,
  isMissing,
  type Place,
  readPlace,
  toChildPath,
  toRef,
  toSourcePath,
  type PlaceParams,
} from "./place.tsx";
import { loadRepositoryActivity, RecentActivity } from "./recent-activity.tsx";
import { loadHead, RepositoryHead, readsCode } from "./repository-head.tsx";
import { type FollowedLink, followLink, toSubmoduleSource } from "./tree-links.ts";

/** Names of files that browsers show as pictures. */
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif|svg)$/i;
/** The largest file that a page shows, in bytes; the command line shows larger ones. */
const FILE_BYTES_MAX = 512 * 1024;

/** Files and folders of repositories. */
export function codePages(findFileLanguage: FindFileLanguage): ForgePageRoute[] {
  return [
    get("/:owner/:repo", showRepository),
    get("/:owner/:repo/src/:kind/**:rest", (context, params) =>
      showSource(context, params, findFileLanguage),
    ),
  ];
}

async function showRepository(context: ForgePageContext, params: RepositoryParams) {
  const repository = await loadHead(context, params);
  if (!readsCode(repository) && repository.has_issues)
    return {
      kind: "redirect",
      to: `${toPath(repository.owner.login, repository.name)}/issues`,
    } as const;
  const address = repository.clone_url;
  const activities = await loadRepositoryActivity(context, repository);
  const recent = <RecentActivity activities={activities} isOfOneRepository />;
  if (repository.empty)
    return {
      kind: "page",
      title: repository.full_name,
      body: (
        <>
          <RepositoryHead repository={repository} current="files" />
          <p>This repository is empty. Push to it:</p>
          <pre
            tabIndex={0}
          >{`git remote add origin ${address}\ngit push -u origin ${repository.default_branch}`}</pre>
          {recent}
        </>
      ),
    } as const;
  const at = { kind: "branch", ref: repository.default_branch, path: "" };
  const { dir_contents: entries = [] } = await readPlace(context, params, at);
  return showFolder(context, repository, at, entries, recent);
}

async function showSource(
  context: ForgePageContext,
  params: PlaceParams,
  findFileLanguage: FindFileLanguage,
) {
  const repository = await loadHead(context, params);
  if (repository.empty) throw notFound();
  const place = await findPlace(context, params);
  const { file_contents: entry, dir_contents: entries = [] } = await readPlace(
    context,
    params,
    place,
  );
  if (entry === undefined) return showFolder(context, repository, place, entries);
  if (entry.type === "submodule") {
    const source = <Submodule entry={entry} repository={repository} />;
    return showNote(repository, place, <>A {source}.</>);
  }
  if (entry.type === "symlink") return showLink(context, repository, place, entry);
  const raw = toSourcePath(repository, place, "raw");
  if (PICTURE.test(place.path)) {
    const picture = <img src={raw} alt={place.path} />;
    return showNote(repository, place, picture, raw);
  }
  if (entry.size > FILE_BYTES_MAX)
    return showNote(repository, place, `${toBytesText(entry.size)} are too many for a page.`, raw);
  const text = await readFile(context, params, entry.sha);
  if (text === undefined)
    return showNote(repository, place, `A binary file, ${toBytesText(entry.size)}.`, raw);
  const file = { ref: toRef(place), path: place.path };
  const { request, session } = context;
  const language = MARKUP.test(place.path)
    ? undefined
    : await findFileLanguage(toCodeRequest({ params, caller: session?.caller, request }, ""), file);
  const html = await renderFile(context, repository, place, text, language);
  return {
    kind: "page",
    title: `${place.path} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <Crumbs repository={repository} place={place} />
        <div className="card">
          <p className="head">
            {`${toBytesText(entry.size)} · `}
            <a href={raw}>Raw</a>
          </p>
          {MARKUP.test(place.path) ? (
            <Rendered html={html} text={text} />
          ) : (
            <Code html={html} text={text} />
          )}
        </div>
      </>
    ),
  } as const;
}

async function readFile(
  { call }: ForgePageContext,
  { owner, repo }: RepositoryParams,
  sha: string,
): Promise<string | undefined> {
  const { body: blob } = await call(objectEndpoints.getBlob, { params: { owner, repo, sha } });
  if (blob.content === null) return undefined;
  const bytes = Buffer.from(blob.content, "base64");
  return decodeIfText(bytes);
}

/** Follows a symbolic link of a place within its commit. */
async function followAt(
  context: ForgePageContext,
  { owner, name }: WireRepository,
  place: Place,
  { target }: Pick<WireContents, "target">,
): Promise<FollowedLink | undefined> {
  return followLink({ path: place.path, target }, async (path) => {
    try {
      const params = { owner: owner.login, repo: name };
      const { file_contents: file } = await readPlace(context, params, { ...place, path });
      return file ?? { type: "dir", size: 0, sha: "", target: null };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  });
}

/** The page of a symbolic link, which names its target and links to it when that is in the same commit. */
async function showLink(
  context: ForgePageContext,
  repository: WireRepository,
  place: Place,
  entry: WireContents,
) {
  const followed = await followAt(context, repository, place, entry);
  const target = <bdi>{entry.target ?? "a target that is too long"}</bdi>;
  const note =
    followed === undefined ? (
      <>A symbolic link to {target}, which is not in this commit.</>
    ) : (
      <>
        A symbolic link to{" "}
        <a href={toSourcePath(repository, { ...place, path: followed.path })}>{target}</a>.
      </>
    );
  return showNote(repository, place, note, toSourcePath(repository, place, "raw"));
}

/** The source of a submodule, with its commit. */
function Submodule({ entry, repository }: { entry: WireContents; repository: WireRepository }) {
  const { owner, name } = repository;
  const address = entry.submodule_git_url;
  const source =
    address === null ? undefined : toSubmoduleSource(address, { owner: owner.login, name });
  const text = source && <bdi>{source.text}</bdi>;
  return (
    <>
      submodule at commit <code>{entry.sha}</code>
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

/** Number of files named as a README of which the first readable one is shown. */
const READMES_MAX = 4;
const README = /^readme(?:\.(?:md|markdown|org|txt|adoc))?$/i;

async function showFolder(
  context: ForgePageContext,
  repository: WireRepository,
  place: Place,
  listed: readonly WireContents[],
  /** The content below the list of files. */
  below?: ReactNode,
) {
  const entries = listed.toSorted((a, b) => Number(b.type === "dir") - Number(a.type === "dir"));
  const readme = await findReadme(context, repository, place, entries);
  return {
    kind: "page",
    title: place.path === "" ? repository.full_name : `${place.path} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <Crumbs repository={repository} place={place} />
        <CloneAddresses repository={repository} />
        <FileList
          entries={entries.map((entry) => ({
            name: entry.name,
            href: toSourcePath(repository, { ...place, path: toChildPath(place, entry.name) }),
            note:
              entry.type === "submodule" ? (
                <Submodule entry={entry} repository={repository} />
              ) : (
                toKind(entry)
              ),
          }))}
        />
        {entries.length < FOLDER_ENTRIES_MAX ? null : (
          <p className="quiet">
            The page lists {FOLDER_ENTRIES_MAX} entries; the folder may have more.
          </p>
        )}
        {readme === undefined ? null : (
          <section className="card" aria-label={readme.name}>
            <p className="head">{readme.name}</p>
            <Rendered html={readme.html} text={readme.text} />
          </section>
        )}
        {below}
      </>
    ),
  } as const;
}

/** Returns the README of a folder, which may be a symbolic link to a file of the same commit. */
async function findReadme(
  context: ForgePageContext,
  repository: WireRepository,
  place: Place,
  entries: readonly WireContents[],
) {
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
    const text = await readFile(context, params, file.entry.sha);
    if (text === undefined) continue;
    // Relative links begin at the folder of the target; the format is that of the link when only its name tells one.
    const path = MARKUP.test(file.path)
      ? file.path
      : [...file.path.split("/").slice(0, -1), readme.name].join("/");
    const html = await renderFile(context, repository, { ...place, path }, text);
    return { name: readme.name, text, html };
  }
  return undefined;
}

function CloneAddresses({ repository }: { repository: WireRepository }) {
  const addresses = [repository.clone_url, repository.ssh_url].filter((address) => address !== "");
  return (
    <Menu name="Clone">
      <pre tabIndex={0}>{addresses.map((address) => `git clone ${address}\n`).join("")}</pre>
    </Menu>
  );
}

function toKind({ type, size, target }: WireContents): string {
  if (type === "dir") return "folder";
  if (type === "symlink") return `symbolic link to ${target ?? "a target that is too long"}`;
  return toBytesText(size);
}

/** A file that is not shown as text; `raw` is the address of its bytes. */
function showNote(repository: WireRepository, place: Place, note: ReactNode, raw?: string) {
  return {
    kind: "page",
    title: `${place.path} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <Crumbs repository={repository} place={place} />
        <p>{note}</p>
        {raw === undefined ? null : (
          <p>
            <a href={raw}>Raw</a>
          </p>
        )}
      </>
    ),
  } as const;
}

const MARKUP = /\.(?:md|markdown|mdown|mkd|livemd|org|csv|tsv|adoc|asciidoc|ipynb)$/i;

/** Renders markup to HTML, and other text as highlighted code. */
async function renderFile(
  { render }: ForgePageContext,
  repository: WireRepository,
  { kind, ref, path }: Place,
  text: string,
  language = /\.([a-z0-9]+)$/i.exec(path)?.[1] ?? "",
): Promise<string | undefined> {
  if (MARKUP.test(path)) {
    const folder = path.split("/").slice(0, -1);
    const context = escapePath(["", repository.full_name, "src", kind, ref, ...folder].join("/"));
    return render({ text, mode: "file", context, filePath: path });
  }
  // A fence that is longer than every run of backticks in the text, so that the text cannot end it.
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return render({
    text: `${fence}${language}\n${text}\n${fence}\n`,
    mode: "markdown",
    context: "",
  });
}
