import { issueStateEndpoints } from "../../contract/forge/issues/issue-states.ts";
import { issueEndpoints } from "../../contract/forge/issues/issues.ts";
import { EmptyState, Pager } from "../../pages/elements.tsx";
import { SearchForm } from "../../pages/form.tsx";
import { get, toPageNumber, toPath } from "../../pages/page.ts";
import { notFound } from "../refusals.ts";
import {
  findRefusal,
  type ForgePageContext,
  type ForgePageRoute,
  type RepositoryParams,
} from "./forge-page.ts";
import { FilterMenu, IssueList, LabelMenu, orders, StateFilter } from "./issue-list.tsx";
import { loadLabels, loadMilestones, loadWriters } from "./planning.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** Number of issues on one page. */
const LIMIT = 30;

/** What the list of issues and that of pull requests have apart. */
const kinds = {
  issues: {
    title: "Issues",
    noun: "issue",
    newPath: "issues/new",
    newText: "New issue",
    toCommand: (name: string) => `croft issue create ${name} --title "…"`,
  },
  pulls: {
    title: "Pull requests",
    noun: "pull request",
    newPath: "compare",
    newText: "New pull request",
    toCommand: (name: string) => `croft pr create ${name} --head BRANCH --title "…"`,
  },
} as const;

/** The issues and the pull requests of a repository. */
export function issuePages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/issues", showList("issues")),
    get("/:owner/:repo/pulls", showList("pulls")),
  ];
}

/** Reads the filters of the address, which has the names of Gitea's pages and values that a person can read. */
function readFilters(query: URLSearchParams) {
  const of = (name: string) => query.get(name) ?? "";
  return {
    state: query.get("state") ?? "open",
    q: of("q"),
    labels: of("labels"),
    milestones: of("milestone"),
    created_by: of("poster"),
    assigned_by: of("assignee"),
    mentioned_by: of("mentioned"),
    sort: of("sort"),
  };
}

const showList =
  (type: keyof typeof kinds) => async (context: ForgePageContext, params: RepositoryParams) => {
    const { call, request, session } = context;
    const { title, noun, newPath, newText, toCommand } = kinds[type];
    const head = await loadHead(context, params);
    if (!(type === "issues" ? head.has_issues : head.has_pull_requests)) throw notFound();
    const { query } = request;
    const page = toPageNumber(request);
    const filters = readFilters(query);
    const load = async (more: Readonly<Record<string, string>>) => {
      const wanted = { ...filters, type, ...more };
      return call(issueEndpoints.listIssues, { params, query: wanted });
    };
    let found: Awaited<ReturnType<typeof load>> | undefined;
    const counts = { open: 0, closed: 0 };
    // A filter by a person whom the caller cannot see finds nothing.
    await findRefusal(["not_found"], async () => {
      found = await load({ page: String(page), limit: String(LIMIT) });
      counts.open = (await load({ state: "open", limit: "1" })).total ?? 0;
      counts.closed = (await load({ state: "closed", limit: "1" })).total ?? 0;
    });
    const issues = found?.body ?? [];
    const isFiltered = Object.entries(filters).some(([name, value]) => value && name !== "state");
    const pinned =
      type === "pulls" || page > 1 || isFiltered || filters.state !== "open"
        ? []
        : (await call(issueStateEndpoints.listPinnedIssues, { params })).body;
    const labels = await loadLabels(context, head);
    const milestones = await loadMilestones(context, params, "open");
    const writers = (await loadWriters(context, params)).map(({ login }) => login);
    const me = session?.caller.user.name;
    const people = [...new Set(me === undefined ? writers : [me, ...writers])].map((name) => ({
      value: name,
      text: name === me ? `${name} (you)` : name,
    }));
    const home = toPath(params.owner, params.repo);
    const kept = Object.fromEntries([...query].filter(([name]) => name !== "q" && name !== "page"));
    return {
      kind: "page",
      title: `${title} of ${head.full_name}`,
      body: (
        <>
          <RepositoryHead repository={head} current={type} />
          <div className="toolbar">
            <SearchForm label={`Search ${title.toLowerCase()}`} query={filters.q} kept={kept} />
            <nav className="links" aria-label="Planning">
              <a href={`${home}/labels`}>Labels</a>
              <a href={`${home}/milestones`}>Milestones</a>
              {head.archived ? null : (
                <a className="button primary" href={`${home}/${newPath}`}>
                  {newText}
                </a>
              )}
            </nav>
          </div>
          {pinned.length === 0 ? null : (
            <section aria-labelledby="pinned">
              <h2 id="pinned">Pinned</h2>
              <IssueList issues={pinned} label="Pinned issues" isOfOneRepository />
            </section>
          )}
          <div className="filters">
            <StateFilter query={query} current={filters.state} counts={counts} />
            <div>
              <LabelMenu labels={labels} query={query} />
              <FilterMenu
                name="milestone"
                text="Milestone"
                query={query}
                options={milestones.map(({ title }) => ({ value: title, text: title }))}
              />
              <FilterMenu name="poster" text="Author" query={query} options={people} />
              <FilterMenu name="assignee" text="Assignee" query={query} options={people} />
              <FilterMenu name="mentioned" text="Mentioned" query={query} options={people} />
              <FilterMenu name="sort" text="Sort" query={query} options={orders} anyText="Newest" />
            </div>
          </div>
          {issues.length > 0 ? (
            <IssueList issues={issues} label={title} isOfOneRepository />
          ) : isFiltered || filters.state === "closed" ? (
            <EmptyState>
              {`No ${noun} matches. `}
              <a href="?">{`Show all open ${noun}s`}</a>
            </EmptyState>
          ) : (
            <EmptyState command={toCommand(head.full_name)}>{`No open ${noun}s.`}</EmptyState>
          )}
          <Pager page={page} limit={LIMIT} total={found?.total ?? 0} query={query} />
        </>
      ),
    } as const;
  };
