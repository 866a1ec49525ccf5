import { releaseEndpoints, type WireRelease } from "../../contract/forge/releases/releases.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { EmptyState, FileList, Pager, Rendered, Time, toBytesText } from "../../pages/elements.tsx";
import { get, toFolderPath, toPageNumber, toPath } from "../../pages/page.ts";
import { UserLink } from "./elements.tsx";
import type { ForgePageContext, ForgePageRoute, RepositoryParams } from "./forge-page.ts";
import { type FeedFormat, toFeed, toText } from "./feed.ts";
import { releaseFormPages, type TagParams, toEditPath } from "./release-form.tsx";
import { loadHead, mayChangeCode, RepositoryHead } from "./repository-head.tsx";

/** Releases of one page: the notes of each are rendered. */
const LIMIT = 10;
/** Releases of a feed. */
const FEED_LIMIT = 30;

/** The releases of a repository, one of them, and their feed. */
export function releasePages(): ForgePageRoute[] {
  return [
    ...releaseFormPages(),
    get("/:owner/:repo/releases", showReleases),
    get("/:owner/:repo/releases/latest", showLatest),
    get("/:owner/:repo/releases/tag/**:tag", showRelease),
    get("/:owner/:repo/releases.atom", sendFeed("atom")),
    get("/:owner/:repo/releases.rss", sendFeed("rss")),
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
  const home = toPath(params.owner, params.repo);
  return {
    kind: "page",
    title: `Releases of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="releases" />
        <div className="toolbar">
          <nav className="links" aria-label="Feeds">
            <a href={`${home}/tags`}>Tags</a> <a href={`${home}/releases.atom`}>Feed</a>
          </nav>
          {mayChangeCode(repository) ? (
            <a className="button primary" href={`${home}/releases/new`}>
              New release
            </a>
          ) : null}
        </div>
        {entries.length === 0 ? (
          <EmptyState command={`croft release create ${repository.full_name} v1.0.0`}>
            No releases.
          </EmptyState>
        ) : null}
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
        {mayChangeCode(repository) ? (
          <a className="edit-link" href={toEditPath(params, release)}>
            Edit<span className="unseen">{` ${toTitle(release)}`}</span>
          </a>
        ) : null}
      </h2>
      <p className="content quiet">
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

/** The newest releases as a feed, without drafts. */
const sendFeed =
  (format: FeedFormat) =>
  async (context: ForgePageContext, { owner, repo }: RepositoryParams) => {
    const repository = await loadHead(context, { owner, repo });
    const { body: releases } = await context.call(releaseEndpoints.listReleases, {
      params: { owner, repo },
      query: { draft: "false", limit: String(FEED_LIMIT) },
    });
    const entries = await Promise.all(
      releases.map(async (release) => ({
        title: toTitle(release),
        link: release.html_url,
        updated: release.published_at,
        author: release.author.login,
        html: (await renderNotes(context, repository, release)) ?? toText(release.body),
      })),
    );
    return toFeed(format, {
      title: `Releases of ${repository.full_name}`,
      link: `${repository.html_url}/releases`,
      updated: releases[0]?.published_at ?? repository.updated_at,
      entries,
    });
  };
