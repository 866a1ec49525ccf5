import { type WireWikiPageMeta, wikiEndpoints } from "../../contract/forge/repositories/wiki.ts";
import { EmptyState, Pager, Time } from "../../pages/elements.tsx";
import { get, post, toPageNumber } from "../../pages/page.ts";
import { toBytes, toVectorPicture } from "./file-pages.ts";
import type {
  ForgePageAnswer,
  ForgePageContext,
  ForgePageRoute,
  RepositoryParams,
} from "./forge-page.ts";
import { showEdit, showForm, submitPage } from "./wiki-form.tsx";
import {
  findPage,
  HOME,
  openPlace,
  orMissing,
  renderText,
  toWikiAnswer,
  type WikiPlace,
} from "./wiki-place.tsx";

/** Pages or revisions of one list. */
const LIMIT = 30;

type FileParams = RepositoryParams & { readonly file: string };

/** The wiki of a repository. The addresses are those of Gitea: `?action=` names what is shown of a page. */
export function wikiPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/wiki", show),
    get("/:owner/:repo/wiki/**:page", show),
    get("/:owner/:repo/wiki/raw/**:file", sendFile),
    post("/:owner/:repo/wiki", submitPage),
    post("/:owner/:repo/wiki/**:page", submitPage),
  ];
}

async function show(context: ForgePageContext, params: RepositoryParams): Promise<ForgePageAnswer> {
  const place = await openPlace(context, params);
  const { repository } = place;
  if (repository.external_wiki !== undefined)
    return toWikiAnswer(
      place,
      "Wiki",
      <ExternalWiki address={repository.external_wiki.external_wiki_url} />,
    );
  switch (context.request.query.get("action")) {
    case "_pages":
      return showList(place);
    case "_new":
      return showForm(place, { title: "" });
    case "_edit":
      return showEdit(place);
    case "_revision":
    case "_history":
      return showHistory(place);
    default:
      return showPage(place);
  }
}

function ExternalWiki({ address }: { address: string }) {
  return (
    <p>
      The wiki of this repository is at{" "}
      <a href={address} rel="nofollow noopener">
        {address}
      </a>
      .
    </p>
  );
}

async function showPage(place: WikiPlace): Promise<ForgePageAnswer> {
  const page = await findPage(place);
  if (page === undefined) return showMissing(place);
  const { name, home } = place;
  const [content, sidebar, footer] = await Promise.all(
    [page.content_base64, page.sidebar, page.footer].map((text) => renderText(place, text)),
  );
  const own = `${home}/${page.sub_url}`;
  return toWikiAnswer(
    place,
    page.title,
    <>
      <h2>
        <bdi>{page.title}</bdi>
      </h2>
      <p className="quiet">
        changed <Time at={page.last_commit.commiter.date} /> by{" "}
        <bdi>{page.last_commit.author.name}</bdi>
        {" · "}
        <a href={`${own}?action=_history`}>{`History (${page.commit_count})`}</a>
        {" · "}
        <a href={`${home}?action=_pages`}>All pages</a>
        {" · "}
        <a href={`${home}/raw/${name}`}>Raw</a>
        {place.token === undefined ? null : (
          <>
            {" · "}
            <a href={`${own}?action=_edit`}>Edit</a>
            {" · "}
            <a href={`${home}?action=_new`}>New page</a>
          </>
        )}
      </p>
      {content ?? <EmptyState>This page is empty, or too large to be shown.</EmptyState>}
      {sidebar === null ? null : (
        <aside className="card" aria-label="Sidebar">
          {sidebar}
        </aside>
      )}
      {footer === null ? null : <footer className="quiet">{footer}</footer>}
    </>,
  );
}

/** A page that does not exist, or a wiki without any: who may write begins it here. */
function showMissing(place: WikiPlace): ForgePageAnswer {
  const { home, name, token } = place;
  const isHome = name === HOME;
  return toWikiAnswer(
    place,
    "Pages",
    <>
      <EmptyState>
        {isHome ? "This wiki has no first page." : "This wiki has no such page."}{" "}
        <a href={`${home}?action=_pages`}>All pages</a>
      </EmptyState>
      {token === undefined ? null : (
        <p>
          <a href={`${home}?action=_new${isHome ? `&title=${HOME}` : ""}`}>
            {isHome ? "Write the first page" : "Write a page"}
          </a>
        </p>
      )}
    </>,
    isHome ? 200 : 404,
  );
}

async function showList(place: WikiPlace): Promise<ForgePageAnswer> {
  const { context, params, home, token } = place;
  const page = toPageNumber(context.request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: pages, total = 0 } = (await orMissing(() =>
    context.call(wikiEndpoints.listWikiPages, { params, query }),
  )) ?? { body: [] };
  return toWikiAnswer(
    place,
    "Pages",
    <>
      <h2>Pages</h2>
      {pages.length === 0 ? <EmptyState>No pages.</EmptyState> : null}
      <ul className="list">
        {pages.map((each) => (
          <PageLine key={each.sub_url} page={each} home={home} />
        ))}
      </ul>
      <Pager page={page} limit={LIMIT} total={total} query={context.request.query} />
      {token === undefined ? null : <a href={`${home}?action=_new`}>New page</a>}
    </>,
  );
}

function PageLine({ page, home }: { page: WireWikiPageMeta; home: string }) {
  return (
    <li>
      <a href={`${home}/${page.sub_url}`}>
        <bdi>{page.title}</bdi>
      </a>
      <p className="quiet">
        changed <Time at={page.last_commit.commiter.date} /> by{" "}
        <bdi>{page.last_commit.author.name}</bdi>
      </p>
    </li>
  );
}

async function showHistory(place: WikiPlace): Promise<ForgePageAnswer> {
  const { context, params, home, name } = place;
  const page = toPageNumber(context.request);
  const { body } = await context.call(wikiEndpoints.listWikiRevisions, {
    params: { ...params, name },
    query: { page: String(page), limit: String(LIMIT) },
  });
  return toWikiAnswer(
    place,
    "History",
    <>
      <h2>
        History of <a href={`${home}/${name}`}>{decodeName(name)}</a>
      </h2>
      <ul className="list">
        {body.commits.map(({ sha, message, author, commiter }) => (
          <li key={sha}>
            <a href={`${home}/raw/${name}?ref=${sha}`}>
              <bdi>{message.split("\n", 1)[0]}</bdi>
            </a>
            <p className="quiet">
              {`${sha.slice(0, 10)}, `}
              <Time at={commiter.date} /> by <bdi>{author.name}</bdi>
            </p>
          </li>
        ))}
      </ul>
      <Pager page={page} limit={LIMIT} total={body.count} query={context.request.query} />
    </>,
  );
}

function decodeName(name: string): string {
  return decodeURIComponent(name.replaceAll("+", " ").replace(/\.-$/, ""));
}

/** Serves files of a wiki: the targets of its pictures, and the texts of pages. */
async function sendFile({ call, request }: ForgePageContext, params: FileParams) {
  const { owner, repo, file } = params;
  const answer = toBytes(
    await call(wikiEndpoints.getWikiFile, {
      params: { owner, repo, file },
      query: { ref: request.query.get("ref") ?? "" },
    }),
  );
  const isVector = file.endsWith(".svg");
  return { kind: "file", answer: isVector ? toVectorPicture(answer) : answer } as const;
}
