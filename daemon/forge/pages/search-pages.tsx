import type { ReactNode } from "react";
import { userEndpoints } from "../../contract/forge/accounts/users.ts";
import { CODE_TEXT_MAX } from "../../contract/forge/code/browsing.ts";
import { issueStateEndpoints } from "../../contract/forge/issues/issue-states.ts";
import { organizationEndpoints } from "../../contract/forge/organizations/organizations.ts";
import { repositoryListEndpoints } from "../../contract/forge/repositories/lists.ts";
import { AppError } from "../../errors.ts";
import { EmptyState, Pager, Tabs } from "../../pages/elements.tsx";
import { get, toPageNumber, toPath } from "../../pages/page.ts";
import { UserLink } from "./elements.tsx";
import { CodeMatches, searchCode } from "./find-pages.tsx";
import type { ForgePageContext, ForgePageRoute } from "./forge-page.ts";
import { IssueList } from "./issue-list.tsx";
import { RepositoryList } from "./people-pages.tsx";

/** Results on a page of one kind, and of each kind on the page of all. */
const LIMIT = 30;
const FEW = 5;
/** Repositories whose code one search reads: the latest updated ones. */
const SEARCHED_REPOSITORIES = 5;

export const SEARCH = "/explore";

/** The search over repositories, issues, code and people. */
export function searchPages(): ForgePageRoute[] {
  return [
    get(SEARCH, showAll),
    get("/explore/repos", showRepositories),
    get("/explore/issues", showIssues),
    get("/explore/code", showCode),
    get("/explore/users", showUsers),
    get("/explore/organizations", showOrganizations),
  ];
}

type Scope = "all" | "repos" | "issues" | "code" | "users" | "organizations";

const scopes: readonly (readonly [Scope, string, string])[] = [
  ["all", "All", SEARCH],
  ["repos", "Repositories", "/explore/repos"],
  ["issues", "Issues", "/explore/issues"],
  ["code", "Code", "/explore/code"],
  ["users", "People", "/explore/users"],
  ["organizations", "Organizations", "/explore/organizations"],
];

const toQuery = ({ request }: ForgePageContext) =>
  (request.query.get("q") ?? "").trim().slice(0, CODE_TEXT_MAX);

function toPage(context: ForgePageContext, scope: Scope, results: ReactNode) {
  const q = toQuery(context);
  const query = q === "" ? "" : `?${new URLSearchParams({ q })}`;
  return {
    kind: "page",
    title: q === "" ? "Search" : `Search for ${q}`,
    body: (
      <>
        <h1>Search</h1>
        <form method="get" className="row" role="search">
          <input
            type="search"
            name="q"
            defaultValue={q}
            maxLength={CODE_TEXT_MAX}
            aria-label="Search"
          />
          <button type="submit">Search</button>
        </form>
        <Tabs
          label="What"
          tabs={scopes.map(([key, text, path]) => ({ key, text, href: path + query }))}
          current={scope}
        />
        {results}
      </>
    ),
  } as const;
}

async function showAll(context: ForgePageContext) {
  const { call } = context;
  const q = toQuery(context);
  if (q === "")
    return toPage(
      context,
      "all",
      <EmptyState>Type a name or a text. Each tab searches one kind of things.</EmptyState>,
    );
  const query = { q, limit: String(FEW) };
  const [repositories, issues, users] = await Promise.all([
    call(repositoryListEndpoints.searchRepositories, { query }),
    call(issueStateEndpoints.searchIssues, { query: { ...query, state: "all" } }),
    call(userEndpoints.searchUsers, { query }),
  ]);
  const more = (path: string, total = 0) =>
    total <= FEW ? null : (
      <p>
        <a
          href={`${path}?${new URLSearchParams({ q })}`}
        >{`All ${total.toLocaleString("en-US")}`}</a>
      </p>
    );
  return toPage(
    context,
    "all",
    <>
      <h2>Repositories</h2>
      <RepositoryList repositories={repositories.body.data} />
      {more("/explore/repos", repositories.total)}
      <h2>Issues and pull requests</h2>
      {issues.body.length === 0 ? (
        <EmptyState>No issues.</EmptyState>
      ) : (
        <IssueList issues={issues.body} label="Issues" isOfOneRepository={false} />
      )}
      {more("/explore/issues", issues.total)}
      <h2>People</h2>
      <People users={users.body.data} />
      {more("/explore/users", users.total)}
    </>,
  );
}

const toWindow = ({ request }: ForgePageContext) => ({
  page: String(toPageNumber(request)),
  limit: String(LIMIT),
});

function Pages({ context: { request }, total = 0 }: { context: ForgePageContext; total?: number }) {
  return <Pager page={toPageNumber(request)} limit={LIMIT} total={total} query={request.query} />;
}

async function showRepositories(context: ForgePageContext) {
  const query = { q: toQuery(context), sort: "updated", order: "desc", ...toWindow(context) };
  const found = await context.call(repositoryListEndpoints.searchRepositories, { query });
  return toPage(
    context,
    "repos",
    <>
      <RepositoryList repositories={found.body.data} />
      <Pages context={context} total={found.total ?? 0} />
    </>,
  );
}

async function showIssues(context: ForgePageContext) {
  const query = { q: toQuery(context), state: "all", ...toWindow(context) };
  const found = await context.call(issueStateEndpoints.searchIssues, { query });
  return toPage(
    context,
    "issues",
    <>
      {found.body.length === 0 ? (
        <EmptyState>No issues.</EmptyState>
      ) : (
        <IssueList issues={found.body} label="Issues" isOfOneRepository={false} />
      )}
      <Pages context={context} total={found.total ?? 0} />
    </>,
  );
}

async function showUsers(context: ForgePageContext) {
  const query = { q: toQuery(context), ...toWindow(context) };
  const found = await context.call(userEndpoints.searchUsers, { query });
  return toPage(
    context,
    "users",
    <>
      <People users={found.body.data} />
      <Pages context={context} total={found.total ?? 0} />
    </>,
  );
}

function People({ users }: { users: readonly { id: number; login: string; full_name: string }[] }) {
  if (users.length === 0) return <EmptyState>No people.</EmptyState>;
  return (
    <ul className="list">
      {users.map((user) => (
        <li key={user.id}>
          <UserLink user={user} />{" "}
          {user.full_name === "" ? null : <span className="quiet">{user.full_name}</span>}
        </li>
      ))}
    </ul>
  );
}

async function showOrganizations(context: ForgePageContext) {
  const query = toWindow(context);
  const found = await context.call(organizationEndpoints.listVisibleOrganizations, { query });
  const q = toQuery(context).toLowerCase();
  const shown = found.body.filter(({ name, full_name: fullName }) =>
    `${name} ${fullName}`.toLowerCase().includes(q),
  );
  return toPage(
    context,
    "organizations",
    <>
      {shown.length === 0 ? <EmptyState>No organizations on this page.</EmptyState> : null}
      <ul className="list">
        {shown.map(({ id, name, description }) => (
          <li key={id}>
            <a href={toPath(name)}>{name}</a> <span className="quiet">{description}</span>
          </li>
        ))}
      </ul>
      <Pages context={context} total={found.total ?? 0} />
    </>,
  );
}

/** Searches the code of the latest updated repositories; the page of each repository searches any. */
async function showCode(context: ForgePageContext) {
  const q = toQuery(context);
  if (q === "")
    return toPage(
      context,
      "code",
      <EmptyState>
        {`The search reads the code of the ${SEARCHED_REPOSITORIES} latest updated repositories. A repository has a search of its own.`}
      </EmptyState>,
    );
  const query = { sort: "updated", order: "desc", limit: String(SEARCHED_REPOSITORIES) };
  const { body } = await context.call(repositoryListEndpoints.searchRepositories, { query });
  const results: ReactNode[] = [];
  // One after the other: each search uses two threads of git.
  for (const repository of body.data.filter(({ empty }) => !empty)) {
    const params = { owner: repository.owner.login, repo: repository.name };
    const found = await searchIn(context, params, q);
    if (found === undefined || found.matches.length === 0) continue;
    const place = { kind: "branch", ref: repository.default_branch, path: "" };
    results.push(
      <section key={repository.id} aria-label={repository.full_name}>
        <h2>
          <a href={toPath(params.owner, params.repo)}>{repository.full_name}</a>
        </h2>
        <CodeMatches repository={repository} place={place} found={found} q={q} />
      </section>,
    );
  }
  return toPage(
    context,
    "code",
    results.length === 0 ? (
      <EmptyState>No file of the latest updated repositories contains this text.</EmptyState>
    ) : (
      results
    ),
  );
}

/** Searches a repository; undefined for one whose code the caller may not read, or that is busy. */
async function searchIn(
  context: ForgePageContext,
  params: { readonly owner: string; readonly repo: string },
  q: string,
) {
  try {
    return await searchCode(context, params, q);
  } catch (error) {
    if (error instanceof AppError && ["not_found", "unavailable"].includes(error.code))
      return undefined;
    throw error;
  }
}
