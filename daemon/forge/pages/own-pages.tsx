import { issueStateEndpoints } from "../../contract/forge/issues/issue-states.ts";
import { EmptyState, Pager, Tabs } from "../../pages/elements.tsx";
import { SearchForm } from "../../pages/form.tsx";
import { get, toPageNumber } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute, toSignIn } from "./forge-page.ts";
import { FilterMenu, IssueList, orders, StateFilter, toFiltered } from "./issue-list.tsx";

/** The lists of the signed-in person over all repositories. */
export const OWN_ISSUES = "/issues";
export const OWN_PULLS = "/pulls";

const LIMIT = 30;

/** The relations of a person to issues, by the words of Gitea's pages: the text of the tab, and the filter of the API. */
const relations = [
  ["assigned", "Assigned to you", "assigned"],
  ["created_by", "Created by you", "created"],
  ["mentioned", "Mentioning you", "mentioned"],
  ["review_requested", "Review requested", "review_requested"],
  ["reviewed_by", "Reviewed by you", "reviewed"],
] as const;
const ofIssues = relations.slice(0, 3);

/** The issues and the pull requests that concern the signed-in person. */
export function ownPages(): ForgePageRoute[] {
  return [
    get(OWN_ISSUES, (context) => showOwn(context, "issues")),
    get(OWN_PULLS, (context) => showOwn(context, "pulls")),
  ];
}

async function showOwn(context: ForgePageContext, type: "issues" | "pulls") {
  const { call, request, session } = context;
  if (session === undefined) return toSignIn(request.target);
  const { query } = request;
  const shown = type === "issues" ? ofIssues : relations;
  const [current, , filter] = shown.find(([key]) => key === query.get("type")) ?? relations[0];
  const page = toPageNumber(request);
  const state = query.get("state") ?? "open";
  const q = query.get("q") ?? "";
  const load = (more: Readonly<Record<string, string>>) =>
    call(issueStateEndpoints.searchIssues, {
      query: { type, q, state, sort: query.get("sort") ?? "", [filter]: "true", ...more },
    });
  const { body: issues, total = 0 } = await load({ page: String(page), limit: String(LIMIT) });
  const counts = {
    open: (await load({ state: "open", limit: "1" })).total ?? 0,
    closed: (await load({ state: "closed", limit: "1" })).total ?? 0,
  };
  const title = type === "issues" ? "Your issues" : "Your pull requests";
  const kept = Object.fromEntries([...query].filter(([name]) => name !== "q" && name !== "page"));
  return {
    kind: "page",
    title,
    body: (
      <>
        <h1>{title}</h1>
        <Tabs
          label="Relation"
          tabs={shown.map(([key, text]) => ({ key, text, href: toFiltered(query, { type: key }) }))}
          current={current}
        />
        <SearchForm label={`Search ${title.toLowerCase()}`} query={q} kept={kept} />
        <div className="filters">
          <StateFilter query={query} current={state} counts={counts} />
          <div>
            <FilterMenu name="sort" text="Sort" query={query} options={orders} anyText="Newest" />
          </div>
        </div>
        {issues.length === 0 ? (
          <EmptyState command={type === "issues" ? "croft issue status" : "croft pr status"}>
            Nothing here. On a terminal, this shows what concerns you:
          </EmptyState>
        ) : (
          <IssueList issues={issues} label={title} isOfOneRepository={false} />
        )}
        <Pager page={page} limit={LIMIT} total={total} query={query} />
      </>
    ),
  } as const;
}
