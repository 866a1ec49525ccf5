import { releaseEndpoints, type WireRelease } from "../../contract/forge/releases/releases.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { EmptyState, FileList, Pager, Rendered, Time, toBytesText } from "../../pages/elements.tsx";
import { get, toFolderPath, toPageNumber, toPath } from "../../pages/page.ts";
import { UserLink } from "./elements.tsx";
import type { ForgePageContext, ForgePageRoute, RepositoryParams } from "./forge-page.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** Releases of one page: the notes of each are rendered. */
const LIMIT = 10;
/** Releases of a feed. */
const FEED_LIMIT = 30;

type TagParams = RepositoryParams & { readonly tag: string };

/** The releases of a repository, one of them, and their feed. */
export function releasePages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/releases", showReleases),
    get("/:owner/:repo/releases/latest", showLatest),
    get("/:owner/:repo/releases/tag/**:tag", showRelease),
    get("/:owner/:repo/releases.atom", showFeed),
  ];
}

async function showReleases(context: ForgePageContext, params: RepositoryParams) {
  const { call, request } = context;
  const repository = await loadHead(context, params);
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: releases, total = 0 } = await call(releaseEndpoints.listReleases, {
    params,
    query,
  });
  const entries = await Promise.all(
    releases.map(async (release) => ({
      release,
      notes: await renderNotes(context, repository, release),
    })),
  );
  return {
    kind: "page",
    title: `Releases of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="releases" />
        {entries.length === 0 ? <EmptyState>No releases.</EmptyState> : null}
        {entries.map(({ release, notes }) => (
          <Release key={release.id} repository={repository} release={release} notes={notes} />
        ))}
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

async function showLatest({ call }: ForgePageContext, params: RepositoryParams) {
  const { body: release } = await call(releaseEndpoints.getLatestRelease, { params });
  return { kind: "redirect", to: toReleasePath(params, release) } as const;
}

async function showRelease(context: ForgePageContext, params: TagParams) {
  const { owner, repo, tag } = params;
  const { body: release } = await context.call(releaseEndpoints.getReleaseByTag, {
    params: { owner, repo, tag },
  });
  const repository = await loadHead(context, params);
  const notes = await renderNotes(context, repository, release);
  return {
    kind: "page",
    title: `${toTitle(release)} of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="releases" />
        <Release repository={repository} release={release} notes={notes} />
      </>
    ),
  } as const;
}

async function renderNotes(
  { render }: ForgePageContext,
  { full_name: name }: WireRepository,
  { body: text }: WireRelease,
): Promise<string | undefined> {
  return text === "" ? undefined : render({ text, mode: "comment", context: `/${name}` });
}

function Release({
  repository,
  release,
  notes,
}: {
  repository: WireRepository;
  release: WireRelease;
  notes: string | undefined;
}) {
  const params = { owner: repository.owner.login, repo: repository.name };
  const { draft, prerelease, tag_name: tag, assets } = release;
  const home = toPath(params.owner, params.repo);
  const archive = `${home}/archive/${toFolderPath(tag)}`;
  const sources = ["zip", "tar.gz"].map((format) => ({
    name: `Source code (${format})`,
    href: `${archive}.${format}`,
    note: "",
  }));
  return (
    <section className="card" aria-label={toTitle(release)}>
      <h2 className="head">
        <a href={toReleasePath(params, release)}>
          <bdi>{toTitle(release)}</bdi>
        </a>{" "}
        {draft ? <span className="state plain-state">draft</span> : null}
        {prerelease ? <span className="state plain-state">prerelease</span> : null}
      </h2>
      <p className="quiet">
        {draft ? tag : <a href={`${home}/src/tag/${toFolderPath(tag)}`}>{tag}</a>}
        {draft ? ", created " : ", published "}
        <Time at={release.published_at} /> by <UserLink user={release.author} />
      </p>
      {release.body === "" ? null : <Rendered html={notes} text={release.body} />}
      <FileList
        label="Files"
        entries={[
          ...assets.map(({ name, size, uuid, digest, browser_download_url: address }) => ({
            name,
            // A link leads to another server.
            href: digest === null ? address : `/attachments/${uuid}`,
            note: digest === null ? "link" : toBytesText(size),
          })),
          ...(draft ? [] : sources),
        ]}
      />
    </section>
  );
}

const toTitle = ({ name, tag_name: tag }: WireRelease) => (name === "" ? tag : name);

const toReleasePath = ({ owner, repo }: RepositoryParams, { tag_name: tag }: WireRelease) =>
  `${toPath(owner, repo)}/releases/tag/${toFolderPath(tag)}`;

/** The newest releases as an Atom feed (RFC 4287), without drafts. */
async function showFeed(context: ForgePageContext, { owner, repo }: RepositoryParams) {
  const { call } = context;
  const repository = await loadHead(context, { owner, repo });
  const { body: releases } = await call(releaseEndpoints.listReleases, {
    params: { owner, repo },
    query: { draft: "false", limit: String(FEED_LIMIT) },
  });
  const page = `${repository.html_url}/releases`;
  const newest = releases[0]?.published_at ?? repository.updated_at;
  const entries = await Promise.all(
    releases.map(async (release) => {
      const notes = await renderNotes(context, repository, release);
      return toElement("entry", [
        toElement("title", toText(toTitle(release))),
        toElement("id", toText(release.html_url)),
        `<link href="${toText(release.html_url)}"/>`,
        toElement("updated", release.published_at),
        toElement("author", toElement("name", toText(release.author.login))),
        `<content type="html">${toText(notes ?? release.body)}</content>`,
      ]);
    }),
  );
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
${[
  toElement("title", toText(`Releases of ${repository.full_name}`)),
  toElement("id", toText(page)),
  `<link href="${toText(page)}"/>`,
  toElement("updated", newest),
  ...entries,
].join("\n")}
</feed>
`;
  return { kind: "text", contentType: "application/atom+xml; charset=utf-8", text } as const;
}

const toElement = (name: string, content: string | readonly string[]) =>
  `<${name}>${typeof content === "string" ? content : content.join("\n")}</${name}>`;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Returns a text for an element or an attribute, without the characters that XML does not allow. */
function toText(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- removes control characters
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
      .replace(/[&<>"]/g, (character) => ESCAPES[character] ?? "")
  );
}
