import type { z } from "zod";
import { documentEndpoints } from "../../contract/vault/documents.ts";
import { searchEndpoints } from "../../contract/vault/search.ts";
import { topicEndpoints } from "../../contract/vault/topics.ts";
import { EmptyState, Pager } from "../../pages/elements.tsx";
import { toPageNumber } from "../../pages/page.ts";
import { Choose, DocumentLink, DocumentTable, Selection, Topics } from "./document-list.tsx";
import { Tiles } from "./tiles.tsx";
import { Name, Passage, toSizeText } from "./elements.tsx";
import { ADD, HOME, toItemPath, TRASH } from "./addresses.ts";
import {
  open,
  type SignedInContext,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

/** Documents on one page of the list. */
const PER_PAGE = 50;

/** The first page: the documents of the caller, as a list or as results of a search. */
export const documentsPage: VaultPageRoute = open(HOME, async (context) => {
  const { request } = context;
  if (context.session.caller.role === "admin") return { kind: "redirect", to: "/vault/admin" };
  const choice = readChoice(request.query);
  return choice.q === "" ? showList(context, choice) : showResults(context, choice);
});

const sorts = {
  newest: { sort: "created_at", order: "desc", text: "Newest first" },
  oldest: { sort: "created_at", order: "asc", text: "Oldest first" },
  name: { sort: "name", order: "asc", text: "Name" },
  largest: { sort: "size", order: "desc", text: "Largest first" },
  smallest: { sort: "size", order: "asc", text: "Smallest first" },
} as const;

type Sort = keyof typeof sorts;

/** What the query of the page chooses. */
interface Choice {
  readonly q: string;
  /** Whether the search compares meanings, too. */
  readonly byMeaning: boolean;
  /** Empty for all, `-` for documents without a topic. */
  readonly topic: string;
  readonly sort: Sort;
  readonly view: "table" | "tiles";
}

function readChoice(query: URLSearchParams): Choice {
  const sort = query.get("sort") ?? "";
  return {
    q: (query.get("q") ?? "").trim().slice(0, 1000),
    byMeaning: query.get("meaning") === "yes",
    topic: query.get("topic") ?? "",
    sort: sort in sorts ? (sort as Sort) : "newest",
    view: query.get("view") === "tiles" ? "tiles" : "table",
  };
}

/** Returns the address of the page with a choice changed; defaults are left out. */
function toHref(choice: Choice, change: Partial<Choice>): string {
  const { q, byMeaning, topic, sort, view } = { ...choice, ...change };
  const query = new URLSearchParams({
    ...(q === "" ? {} : { q }),
    ...(byMeaning && q !== "" ? { meaning: "yes" } : {}),
    ...(topic === "" ? {} : { topic }),
    ...(sort === "newest" ? {} : { sort }),
    ...(view === "table" ? {} : { view }),
  });
  return query.size === 0 ? HOME : `${HOME}?${query}`;
}

async function showList(context: SignedInContext, choice: Choice): Promise<VaultPageAnswer> {
  const { request, call, session } = context;
  const { sort, order } = sorts[choice.sort];
  const page = toPageNumber(request);
  const filter =
    choice.topic === "-" ? { has_topics: "false" } : choice.topic !== "" && { topic: choice.topic };
  const listed = await tryForm(
    () =>
      call(documentEndpoints.listDocuments, {
        query: { sort, order, page: String(page), per_page: String(PER_PAGE), ...filter },
      }),
    ["not_found"],
  );
  const { items, total } = "result" in listed ? listed.result.body : { items: [], total: 0 };
  return {
    kind: "page",
    title: "Documents",
    body: (
      <>
        <Head choice={choice} topics={await listTopics(context)} />
        {items.length === 0 ? (
          <EmptyState>
            {choice.topic === "" ? (
              <>
                No documents yet. <a href={ADD}>Add some</a>.{" "}
                <span data-drop-hint="" hidden>
                  You can drop files and folders anywhere on this page.
                </span>
              </>
            ) : (
              <>
                No document has this topic. Choose some in <a href={HOME}>Documents</a>, and press
                Topics.
              </>
            )}
          </EmptyState>
        ) : (
          <Selection token={session.formToken} back={toHref(choice, {})}>
            <p className="quiet">{toCountText(total)}</p>
            {choice.view === "tiles" ? (
              <Tiles documents={items} />
            ) : (
              <DocumentTable documents={items} />
            )}
          </Selection>
        )}
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
      </>
    ),
  };
}

const toCountText = (count: number) =>
  `${count.toLocaleString("en-US")} ${count === 1 ? "document" : "documents"}`;

async function listTopics({ call }: SignedInContext): Promise<readonly string[]> {
  const { body } = await call(topicEndpoints.listTopics);
  return body.items.map(({ name }) => name);
}

async function showResults(context: SignedInContext, choice: Choice): Promise<VaultPageAnswer> {
  const { request, call, session } = context;
  const page = toPageNumber(request);
  const query = {
    q: choice.q,
    page: String(page),
    per_page: String(PER_PAGE),
    ...(choice.topic === "" || choice.topic === "-" ? {} : { topic: choice.topic }),
  };
  const search = (semantic: boolean) =>
    call(searchEndpoints.search, { query: { ...query, semantic: String(semantic) } });
  // Without a provider of embeddings, words are still searched.
  const tried = await tryForm(() => search(choice.byMeaning), ["unprocessable", "unavailable"]);
  const problem = "refusal" in tried ? toText(tried.refusal) : undefined;
  const { items, total } = ("result" in tried ? tried.result : await search(false)).body;
  return {
    kind: "page",
    title: `${choice.q} · Documents`,
    body: (
      <>
        <Head choice={choice} topics={await listTopics(context)} />
        {problem === undefined ? null : <p className="notice">{problem}</p>}
        {items.length === 0 ? (
          <EmptyState>
            Nothing was found. Try fewer words, the beginning of one with a star (invo*), or the
            search by meaning.
          </EmptyState>
        ) : (
          <Selection token={session.formToken} back={toHref(choice, {})}>
            <p className="quiet">{`${total.toLocaleString("en-US")} found`}</p>
            <ul className="list results" data-rows>
              {items.map((result) => (
                <Result key={(result.document ?? result.item)?.id} result={result} />
              ))}
            </ul>
          </Selection>
        )}
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
      </>
    ),
  };
}

type SearchResult = z.output<(typeof searchEndpoints.search.replies)[200]>["items"][number];

function Result({ result: { document: found, item, snippet } }: { result: SearchResult }) {
  return (
    <li data-row>
      {found === null ? null : (
        <div className="found">
          <Choose id={found.id} name={found.filename} />
          <DocumentLink document={found} />
          <span className="quiet">{toSizeText(found.size_bytes)}</span>
          <Topics names={found.topics} />
        </div>
      )}
      {item === null ? null : (
        <div className="found">
          <a href={toItemPath(item.connection_id, item.provider_item_id)} data-open>
            <Name>{item.name}</Name>
          </a>
          <span className="quiet">in connected storage</span>
        </div>
      )}
      {snippet.text === "" ? null : <Passage text={snippet.text} marks={snippet.marks} />}
    </li>
  );
}

function Head({ choice, topics }: { choice: Choice; topics: readonly string[] }) {
  const { topic, sort, view, q, byMeaning } = choice;
  return (
    <>
      <div className="title" data-drop="">
        <h1>Documents</h1>
        <span className="actions">
          <a className="button" href={TRASH}>
            Trash
          </a>
          <a className="button primary" href={ADD}>
            Add
          </a>
        </span>
      </div>
      <form method="get" action={HOME} className="search" role="search">
        <input
          type="search"
          name="q"
          defaultValue={q}
          maxLength={1000}
          placeholder="Names and texts"
          aria-label="Search names and texts"
          data-key="/"
        />
        {topic === "" ? null : <input type="hidden" name="topic" value={topic} />}
        {view === "table" ? null : <input type="hidden" name="view" value={view} />}
        <button type="submit">Search</button>
        <label className="check">
          <input type="checkbox" name="meaning" value="yes" defaultChecked={byMeaning} /> by
          meaning, too
        </label>
      </form>
      {topics.length === 0 ? null : (
        <nav className="chips" aria-label="Topics">
          <Chip href={toHref(choice, { topic: "" })} isCurrent={topic === ""}>
            All
          </Chip>
          {topics.map((name) => (
            <Chip key={name} href={toHref(choice, { topic: name })} isCurrent={topic === name}>
              <Name>{name}</Name>
            </Chip>
          ))}
          <Chip href={toHref(choice, { topic: "-" })} isCurrent={topic === "-"}>
            Without a topic
          </Chip>
        </nav>
      )}
      {q !== "" ? null : (
        <nav className="chips" aria-label="Order and view">
          {(Object.keys(sorts) as Sort[]).map((each) => (
            <Chip key={each} href={toHref(choice, { sort: each })} isCurrent={sort === each}>
              {sorts[each].text}
            </Chip>
          ))}
          <Chip
            href={toHref(choice, { view: view === "table" ? "tiles" : "table" })}
            isCurrent={false}
          >
            {view === "table" ? "Show tiles" : "Show a table"}
          </Chip>
        </nav>
      )}
    </>
  );
}

function Chip({
  href,
  isCurrent,
  children,
}: {
  href: string;
  isCurrent: boolean;
  children: React.ReactNode;
}) {
  return (
    <a className="chip" href={href} aria-current={isCurrent ? "true" : undefined}>
      {children}
    </a>
  );
}
