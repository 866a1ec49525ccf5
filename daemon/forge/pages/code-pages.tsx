import type { ReactNode } from "react";
import { getCommit } from "../../contract/forge/code/commits.ts";
import {
  FOLDER_ENTRIES_MAX,
  getContentsExt,
  getRootContentsExt,
  type WireContents,
  type WireContentsExt,
} from "../../contract/forge/code/contents.ts";
import { getBlob } from "../../contract/forge/code/objects.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import { decodeIfText } from "../../utilities/text-encoding.ts";
import { notFound } from "../refusals.ts";
import { escapePath } from "../rendering/html/links.ts";
import { Rendered, toBytesText } from "./elements.tsx";
import { type PageContext, type PageParams, type PageRoute, toFolderPath, toPath } from "./page.ts";
import { loadRepositoryActivity, RecentActivity } from "./recent-activity.tsx";
import { loadHead, RepositoryHead, readsCode } from "./repository-head.tsx";

/** Names of files that browsers show as pictures. */
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif|svg)$/i;
/** The largest file that a page shows, in bytes; the command line shows larger ones. */
const FILE_BYTES_MAX = 512 * 1024;
/** Maximum number of lines of a file that is shown with line numbers. */
const NUMBERED_LINES_MAX = 5_000;
/** Maximum number of segments of a branch name that is searched in an address. */
const REF_SEGMENTS_MAX = 8;

/** Files and folders of repositories. */
export function codePages(): PageRoute[] {
  return [
    { method: "GET", path: "/:owner/:repo", run: showRepository },
    { method: "GET", path: "/:owner/:repo/src/:kind/**:rest", run: showSource },
  ];
}

async function showRepository(context: PageContext, params: PageParams) {
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

/** A place in a repository: a branch, a tag or a commit, and a path below it. */
export interface Place {
  readonly kind: string;
  readonly ref: string;
  readonly path: string;
}

async function showSource(context: PageContext, params: PageParams) {
  const repository = await loadHead(context, params);
  if (repository.empty) throw notFound();
  const place = await findPlace(context, params);
  const { file_contents: entry, dir_contents: entries = [] } = await readPlace(
    context,
    params,
    place,
  );
  if (entry === undefined) return showFolder(context, repository, place, entries);
  if (entry.type === "submodule")
    return showNote(repository, place, `A submodule at commit ${entry.sha}.`);
  if (entry.type === "symlink")
    return showNote(repository, place, "A symbolic link. Pages do not follow it.");
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
  const html = await renderFile(context, repository, place, text);
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

/** A text with line numbers, which are link targets as in Gitea: `#L12`. */
function Code({ html, text }: { html: string | undefined; text: string }) {
  const count = text.replace(/\n$/, "").split("\n").length;
  const numbers = Array.from(
    { length: count <= NUMBERED_LINES_MAX ? count : 0 },
    (_, at) => at + 1,
  );
  return (
    <div className="code">
      {numbers.length === 0 ? null : (
        <pre className="lines" aria-hidden="true">
          {numbers.map((number) => (
            <span key={number}>
              <a id={`L${number}`} href={`#L${number}`} tabIndex={-1}>
                {number}
              </a>
              {"\n"}
            </span>
          ))}
        </pre>
      )}
      <Rendered html={html} text={text} />
    </div>
  );
}

/**
 * Splits the rest of an address after the branch or tag at its beginning; refs cannot contain each other. Does not look
 * up a single segment, because the reading operation refuses a missing ref.
 */
export async function findPlace(context: PageContext, params: PageParams): Promise<Place> {
  const { kind = "", rest = "" } = params;
  const segments = rest.split("/").filter((segment) => segment !== "");
  const [first] = segments;
  if (!["branch", "tag", "commit"].includes(kind) || first === undefined) throw notFound();
  if (segments.length === 1) {
    // `main~1` is not a branch, although the list of commits accepts it.
    if (!isRefName(toRef({ kind, ref: first }))) throw notFound();
    return { kind, ref: first, path: "" };
  }
  const longest = kind === "commit" ? 1 : Math.min(segments.length, REF_SEGMENTS_MAX);
  for (let length = 1; length <= longest; length += 1) {
    const ref = segments.slice(0, length).join("/");
    if (await hasRef(context, params, { kind, ref }))
      return { kind, ref, path: segments.slice(length).join("/") };
  }
  throw notFound();
}

async function hasRef(
  { call }: PageContext,
  params: PageParams,
  place: Pick<Place, "kind" | "ref">,
): Promise<boolean> {
  const { owner = "", repo = "" } = params;
  const query = { stat: "false", files: "false", verification: "false" };
  try {
    await call(getCommit, { params: { owner, repo, sha: toRef(place) }, query });
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Returns the ref of a place for operations. A full ref name distinguishes a tag from a branch of the same name. */
export function toRef({ kind, ref }: Pick<Place, "kind" | "ref">): string {
  if (kind === "branch") return `refs/heads/${ref}`;
  return kind === "tag" ? `refs/tags/${ref}` : ref;
}

const isMissing = (error: unknown) =>
  error instanceof AppError &&
  ["not_found", "invalid_argument", "unprocessable"].includes(error.code);

/** Returns the file or folder at a place, without the content of files. */
async function readPlace(
  { call }: PageContext,
  { owner = "", repo = "" }: PageParams,
  place: Place,
): Promise<WireContentsExt> {
  const query = { ref: toRef(place) };
  if (place.path === "")
    return (await call(getRootContentsExt, { params: { owner, repo }, query })).body;
  const params = { owner, repo, filepath: place.path };
  return (await call(getContentsExt, { params, query })).body;
}

async function readFile(
  { call }: PageContext,
  { owner = "", repo = "" }: PageParams,
  sha: string,
): Promise<string | undefined> {
  const { body: blob } = await call(getBlob, { params: { owner, repo, sha } });
  if (blob.content === null) return undefined;
  const bytes = Buffer.from(blob.content, "base64");
  return decodeIfText(bytes);
}

const README = /^readme(?:\.(?:md|markdown|org|txt|adoc))?$/i;

async function showFolder(
  context: PageContext,
  repository: WireRepository,
  place: Place,
  listed: readonly WireContents[],
  /** The content below the list of files. */
  below?: ReactNode,
) {
  const entries = listed.toSorted((a, b) => Number(b.type === "dir") - Number(a.type === "dir"));
  const readme = entries.find(({ name, type, size }) => {
    return type === "file" && README.test(name) && size <= FILE_BYTES_MAX;
  });
  const params = { owner: repository.owner.login, repo: repository.name };
  const text = readme && (await readFile(context, params, readme.sha));
  const readmePlace = readme && { ...place, path: toChildPath(place, readme.name) };
  const html =
    readmePlace === undefined || text === undefined
      ? undefined
      : await renderFile(context, repository, readmePlace, text);
  return {
    kind: "page",
    title: place.path === "" ? repository.full_name : `${place.path} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <Crumbs repository={repository} place={place} />
        <CloneAddresses repository={repository} />
        <ul className="list">
          {entries.map((entry) => (
            <li key={entry.path}>
              <a
                href={toSourcePath(repository, { ...place, path: toChildPath(place, entry.name) })}
              >
                <bdi>{entry.name}</bdi>
              </a>{" "}
              <span className="quiet">{toKind(entry)}</span>
            </li>
          ))}
        </ul>
        {entries.length < FOLDER_ENTRIES_MAX ? null : (
          <p className="quiet">
            The page lists {FOLDER_ENTRIES_MAX} entries; the folder may have more.
          </p>
        )}
        {readme === undefined || text === undefined ? null : (
          <section className="card" aria-label={readme.name}>
            <p className="head">{readme.name}</p>
            <Rendered html={html} text={text} />
          </section>
        )}
        {below}
      </>
    ),
  } as const;
}

function CloneAddresses({ repository }: { repository: WireRepository }) {
  const addresses = [repository.clone_url, repository.ssh_url].filter((address) => address !== "");
  return (
    <details>
      <summary>Clone</summary>
      <pre tabIndex={0}>{addresses.map((address) => `git clone ${address}\n`).join("")}</pre>
    </details>
  );
}

function toKind({ type, size }: WireContents): string {
  if (type === "dir") return "folder";
  if (type === "submodule") return "submodule";
  return type === "symlink" ? "symbolic link" : toBytesText(size);
}

const toChildPath = ({ path }: Place, name: string) => (path === "" ? name : `${path}/${name}`);

/** The address of a page about a place, or of the bytes of its file. */
export function toSourcePath(
  { owner, name }: WireRepository,
  { kind, ref, path }: Place,
  form: "src" | "raw" = "src",
): string {
  const below = path === "" ? "" : `/${toFolderPath(path)}`;
  return `${toPath(owner.login, name)}/${form}/${kind}/${toFolderPath(ref)}${below}`;
}

export function Crumbs({ repository, place }: { repository: WireRepository; place: Place }) {
  const segments = place.path.split("/").filter((segment) => segment !== "");
  return (
    <p>
      <a href={toSourcePath(repository, { ...place, path: "" })}>{`${place.kind} ${place.ref}`}</a>
      {segments.map((segment, at) => {
        const path = segments.slice(0, at + 1).join("/");
        return (
          <span key={path}>
            {" / "}
            <a href={toSourcePath(repository, { ...place, path })}>
              <bdi>{segment}</bdi>
            </a>
          </span>
        );
      })}
    </p>
  );
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
  { render }: PageContext,
  repository: WireRepository,
  { kind, ref, path }: Place,
  text: string,
): Promise<string | undefined> {
  if (MARKUP.test(path)) {
    const folder = path.split("/").slice(0, -1);
    const context = escapePath(["", repository.full_name, "src", kind, ref, ...folder].join("/"));
    return render({ text, mode: "file", context, filePath: path });
  }
  // A fence that is longer than every run of backticks in the text, so that the text cannot end it.
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const language = /\.([a-z0-9]+)$/i.exec(path)?.[1] ?? "";
  return render({
    text: `${fence}${language}\n${text}\n${fence}\n`,
    mode: "markdown",
    context: "",
  });
}
