import type { ReactNode } from "react";
import type { WireIssue } from "../../contract/forge/issues/issues.ts";
import { Menu, State, Tabs, Time } from "../../pages/elements.tsx";
import { toPath } from "../../pages/page.ts";
import { Author, Label } from "./elements.tsx";

/** Returns the path of an issue or a pull request. */
export const toIssuePath = ({
  repository,
  number,
  pull_request: pull,
}: Pick<WireIssue, "repository" | "number" | "pull_request">) =>
  toPath(repository.owner, repository.name, pull === null ? "issues" : "pulls", String(number));

/** `open`, `closed`, `draft` or `merged`. */
export function toIssueState({ state, pull_request: pull }: WireIssue): string {
  if (pull?.merged === true) return "merged";
  return pull?.draft === true && state === "open" ? "draft" : state;
}

/** Issues and pull requests, each with a line of facts. */
export function IssueList({
  issues,
  label,
  isOfOneRepository,
}: {
  issues: readonly WireIssue[];
  /** Names the list for screen readers. */
  label: string;
  /** Whether the page belongs to the repository, so that its name is not repeated. */
  isOfOneRepository: boolean;
}) {
  return (
    <ul className="list" aria-label={label}>
      {issues.map((issue) => (
        <li key={issue.id}>
          <State word={toIssueState(issue)} />{" "}
          <a className="heading" href={toIssuePath(issue)}>
            <bdi>{issue.title}</bdi>
          </a>{" "}
          {issue.labels.map((each) => (
            <Label key={each.id} label={each} href={toLabelPath(issue, each.name)} />
          ))}
          <p className="quiet">
            {isOfOneRepository ? null : issue.repository.full_name}
            {`#${issue.number} opened `}
            <Time at={issue.created_at} /> by{" "}
            <Author user={issue.user} original={issue.original_author} />
            <IssueFacts issue={issue} />
          </p>
        </li>
      ))}
    </ul>
  );
}

function IssueFacts({ issue }: { issue: WireIssue }) {
  const { milestone, due_date: due, comments, assignees } = issue;
  return (
    <>
      {milestone === null ? null : (
        <>
          {" · "}
          <bdi>{milestone.title}</bdi>
        </>
      )}
      {due === null ? null : ` · due ${due.slice(0, 10)}`}
      {comments === 0 ? null : ` · ${comments} ${comments === 1 ? "comment" : "comments"}`}
      {assignees === null
        ? null
        : ` · assigned to ${assignees.map(({ login }) => login).join(", ")}`}
    </>
  );
}

function toLabelPath({ repository, pull_request: pull }: WireIssue, name: string): string {
  const list = toPath(repository.owner, repository.name, pull === null ? "issues" : "pulls");
  return `${list}?${new URLSearchParams({ labels: name })}`;
}

/** Returns the address of the same list with some filters changed, from its first page; an empty value removes one. */
export function toFiltered(
  query: URLSearchParams,
  changes: Readonly<Record<string, string>>,
): string {
  const next = new URLSearchParams(query);
  next.delete("page");
  for (const [name, value] of Object.entries(changes))
    if (value === "") next.delete(name);
    else next.set(name, value);
  return `?${next}`;
}

/** The states of a list, with their counts. */
export function StateFilter({
  query,
  current,
  counts,
}: {
  query: URLSearchParams;
  current: string;
  counts: { readonly open: number; readonly closed: number };
}) {
  const tabs = [
    { key: "open", text: `Open (${counts.open})` },
    { key: "closed", text: `Closed (${counts.closed})` },
    { key: "all", text: "All" },
  ];
  return (
    <Tabs
      label="State"
      tabs={tabs.map((tab) => ({ ...tab, href: toFiltered(query, { state: tab.key }) }))}
      current={current}
    />
  );
}

/** A value of a filter. */
export interface FilterOption {
  readonly value: string;
  readonly text: ReactNode;
}

/** Links that choose one value of a filter. */
export function FilterMenu({
  name,
  text,
  options,
  query,
  anyText = "Any",
}: {
  /** The parameter of the address. */
  name: string;
  text: string;
  options: readonly FilterOption[];
  query: URLSearchParams;
  anyText?: string;
}) {
  const current = query.get(name) ?? "";
  const all = [{ value: "", text: anyText }, ...options];
  return (
    <Menu name={current === "" ? text : `${text}: ${current}`} className="menu">
      <ul>
        {all.map(({ value, text: shown }) => (
          <li key={value}>
            <a
              href={toFiltered(query, { [name]: value })}
              aria-current={value === current ? "true" : undefined}
            >
              {shown}
            </a>
          </li>
        ))}
      </ul>
    </Menu>
  );
}

/** Links that add a label to the filter, or take it out. An issue must have all of them. */
export function LabelMenu({
  labels,
  query,
}: {
  labels: readonly { readonly id: number; readonly name: string; readonly color: string }[];
  query: URLSearchParams;
}) {
  const chosen = (query.get("labels") ?? "").split(",").filter((name) => name !== "");
  return (
    <Menu name={chosen.length === 0 ? "Label" : `Label: ${chosen.join(", ")}`} className="menu">
      <ul>
        <li>
          <a
            href={toFiltered(query, { labels: "" })}
            aria-current={chosen.length === 0 ? "true" : undefined}
          >
            Any
          </a>
        </li>
        {labels.map(({ id, name, color }) => {
          const isChosen = chosen.includes(name);
          const next = isChosen ? chosen.filter((each) => each !== name) : [...chosen, name];
          return (
            <li key={id}>
              <a
                href={toFiltered(query, { labels: next.join(",") })}
                aria-current={isChosen ? "true" : undefined}
              >
                <Label label={{ name, color }} />
              </a>
            </li>
          );
        })}
      </ul>
    </Menu>
  );
}

/** The orders of a list, by the words of the API. */
export const orders: readonly FilterOption[] = [
  { value: "oldest", text: "Oldest" },
  { value: "recentupdate", text: "Recently changed" },
  { value: "leastupdate", text: "Least recently changed" },
  { value: "mostcomment", text: "Most comments" },
  { value: "leastcomment", text: "Fewest comments" },
];
