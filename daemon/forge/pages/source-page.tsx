import type { ReactNode } from "react";
import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import type { WireContents } from "../../contract/forge/code/contents.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import type { FindFileLanguage } from "../code/file-languages.ts";
import { parsePointer } from "../large-files/pointer.ts";
import { decodeIfText } from "../../utilities/text-encoding.ts";
import { Code, Rendered, toBytesText } from "../../pages/elements.tsx";
import { LatestCommit, Submodule } from "./folder.tsx";
import type { ForgePageContext } from "./forge-page.ts";
import { Crumbs, type Place, toFormPath, toRef, toSourcePath } from "./place.tsx";
import { loadRefs, RefMenu } from "./ref-menu.tsx";
import { RepositoryHead } from "./repository-head.tsx";
import {
  FILE_BYTES_MAX,
  followAt,
  MARKUP,
  readBytes,
  renderCode,
  renderFile,
} from "./source-text.ts";

/** Names of files that browsers show as pictures, play, or open. */
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp)$/i;
const SOUND = /\.(?:mp3|ogg|oga|opus|wav|flac|m4a)$/i;
const FILM = /\.(?:mp4|webm|ogv|mov)$/i;
const PDF = /\.pdf$/i;

/** A file of a commit, or what stands in its place: a symbolic link or a submodule. */
export interface SourceFile {
  readonly repository: WireRepository;
  readonly place: Place;
  readonly entry: WireContents;
  readonly findFileLanguage: FindFileLanguage;
}

/** The page of a file. */
export async function showFile(context: ForgePageContext, file: SourceFile) {
  const { repository, place, entry } = file;
  const params = { owner: repository.owner.login, repo: repository.name };
  const [content, refs, commit] = await Promise.all([
    showContent(context, file),
    loadRefs(context, params),
    findCommitId(context, file),
  ]);
  return {
    kind: "page",
    title: `${place.path} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <div className="bar">
          <RefMenu repository={repository} refs={refs} place={place} />
          <Crumbs repository={repository} place={place} />
        </div>
        <div className="card">
          <LatestCommit repository={repository} commit={undefined} entries={[entry]}>
            <a href={toSourcePath(repository, place, "commits")}>History</a>
          </LatestCommit>
          <FileTools file={file} commit={commit} isText={content.isText} />
          {content.body}
        </div>
      </>
    ),
  } as const;
}

/** Returns the id of the commit that a place names, for its permanent address. */
async function findCommitId({ call }: ForgePageContext, { repository, place }: SourceFile) {
  if (place.kind === "commit") return place.ref;
  const { body } = await call(commitEndpoints.getCommit, {
    params: { owner: repository.owner.login, repo: repository.name, sha: toRef(place) },
    query: { stat: "false", files: "false", verification: "false" },
  });
  return body.sha;
}

function FileTools({
  file: { repository, place, entry },
  commit,
  isText,
}: {
  file: SourceFile;
  commit: string;
  isText: boolean;
}) {
  const isFile = entry.type === "file";
  const mayWrite =
    place.kind === "branch" &&
    !repository.archived &&
    !repository.mirror &&
    entry.type !== "submodule";
  const links: readonly (readonly [string, string, boolean])[] = [
    ["Raw", toSourcePath(repository, place, "raw"), entry.type !== "submodule"],
    ["Blame", toSourcePath(repository, place, "blame"), isFile && isText],
    ["Permalink", toSourcePath(repository, { ...place, kind: "commit", ref: commit }), true],
    ["Edit", toFormPath(repository, place, "_edit"), mayWrite && isFile && isText],
    ["Delete", toFormPath(repository, place, "_delete"), mayWrite],
  ];
  return (
    <div className="file-tools">
      <span className="quiet">{isFile ? toBytesText(entry.size) : entry.type}</span>
      <nav aria-label="File" className="inline-list">
        {links
          .filter(([, , isShown]) => isShown)
          .map(([name, href]) => (
            <a key={name} href={href} data-permalink={name === "Permalink" ? "" : undefined}>
              {name}
            </a>
          ))}
        {entry.type === "submodule" ? null : (
          <a href={toSourcePath(repository, place, "raw")} download={entry.name}>
            Download
          </a>
        )}
      </nav>
    </div>
  );
}

interface ShownContent {
  readonly body: ReactNode;
  /** Whether the file is a text, which can be blamed and edited. */
  readonly isText: boolean;
}

const note = (text: ReactNode): ShownContent => ({
  isText: false,
  body: <p className="content">{text}</p>,
});

async function showContent(context: ForgePageContext, file: SourceFile): Promise<ShownContent> {
  const { repository, place, entry } = file;
  if (entry.type === "submodule")
    return note(
      <>
        A <Submodule entry={entry} repository={repository} />.
      </>,
    );
  if (entry.type === "symlink") return note(await describeLink(context, file));
  const raw = toSourcePath(repository, place, "raw");
  const media = showMedia(place.path, raw);
  if (media !== undefined) return { ...media, isText: place.path.toLowerCase().endsWith(".svg") };
  if (entry.size > FILE_BYTES_MAX)
    return note(`${toBytesText(entry.size)} are too many for a page. Download the file.`);
  const params = { owner: repository.owner.login, repo: repository.name };
  const bytes = await readBytes(context, params, entry.sha);
  const pointer = bytes && parsePointer(bytes);
  if (pointer !== undefined)
    return note(
      <>
        The file has {toBytesText(pointer.size)} and is kept by Git LFS.{" "}
        <a href={toSourcePath(repository, place, "media")}>Download it</a>.
      </>,
    );
  const text = bytes && decodeIfText(bytes);
  if (text === undefined) return note(`A binary file of ${toBytesText(entry.size)}.`);
  return { isText: true, body: await showText(context, file, text) };
}

/** What a browser shows by itself. The address also sends the file behind a pointer of Git LFS. */
function showMedia(path: string, raw: string): { readonly body: ReactNode } | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (PICTURE.test(path)) return { body: <img className="picture" src={raw} alt={name} /> };
  if (SOUND.test(path))
    return { body: <audio className="player" controls src={raw} preload="none" /> };
  if (FILM.test(path))
    return { body: <video className="player" controls src={raw} preload="none" /> };
  if (PDF.test(path))
    return {
      body: (
        <p className="content">
          <a href={raw}>Open the PDF</a>
        </p>
      ),
    };
  return undefined;
}

async function showText(
  context: ForgePageContext,
  { repository, place, findFileLanguage }: SourceFile,
  text: string,
): Promise<ReactNode> {
  const { request, session } = context;
  const isMarkup = MARKUP.test(place.path);
  const isPlain = request.query.get("display") === "source";
  if (isMarkup && !isPlain) {
    const html = await renderFile(context, repository, place, text);
    return (
      <>
        <p className="content">
          <a href="?display=source">Source</a>
        </p>
        <Rendered html={html} text={text} />
      </>
    );
  }
  const { address, signal } = request;
  const named = { owner: repository.owner.login, repo: repository.name };
  const file = { ...named, ref: toRef(place), path: place.path };
  const language = isMarkup
    ? undefined
    : await findFileLanguage({ caller: session?.caller, address, signal }, file);
  return (
    <>
      {isMarkup ? (
        <p className="content">
          <a href="?">Rendered</a>
        </p>
      ) : null}
      <Code html={await renderCode(context, place.path, text, language)} text={text} />
    </>
  );
}

/** Names the target of a symbolic link and links to it when that is in the same commit. */
async function describeLink(context: ForgePageContext, { repository, place, entry }: SourceFile) {
  const followed = await followAt(context, repository, place, entry);
  const target = <bdi>{entry.target ?? "a target that is too long"}</bdi>;
  if (followed === undefined) return <>A symbolic link to {target}, which is not in this commit.</>;
  return (
    <>
      A symbolic link to{" "}
      <a href={toSourcePath(repository, { ...place, path: followed.path })}>{target}</a>.
    </>
  );
}
