import type { Database } from "../../../storage/engine/database.ts";
import {
  type IssueFilter,
  listIssues,
  listLabelIds,
} from "../../../storage/tables/forge/issues/lists.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeCaller } from "../caller.ts";
import { toQueryRange } from "../notifications/query-time.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import { keepsIssues } from "../repositories/repository-settings.view.ts";
import { openRepository } from "./issue-access.ts";
import { seeIssue, type SeenIssue } from "./seen-issue.ts";

/** What a list of issues is asked for, as the query has it; empty texts choose nothing away. */
export interface WantedIssues extends PageWindow {
  readonly state: string;
  /** Names with commas between them. */
  readonly labels: string;
  readonly q: string;
  readonly type: string;
  /** RFC 3339, of the last change, both included. */
  readonly since: string;
  readonly before: string;
  readonly created_by: string;
  readonly assigned_by: string;
  readonly mentioned_by: string;
}

/** Labels that a list is asked for: each is looked up. */
const LABELS_MAX = 50;

/**
 * A page of a repository's issues, by the reference's filters: issues that have all of the labels, where names that no
 * label has count as absent. Refuses with `not_found` a person whom there is not, with `unprocessable` times that are
 * none. There are no pull requests here, so their list is empty.
 */
export async function listRepositoryIssues(
  db: Database,
  path: RepositoryPath,
  caller: ForgeCaller | undefined,
  wanted: WantedIssues,
): Promise<{ readonly issues: readonly SeenIssue[]; readonly total: number }> {
  const opened = await openRepository(db, path, caller, "/issues");
  const { settings } = opened.repository;
  if (!keepsIssues(settings)) {
    // There might be pull requests, which are listed here, too.
    if (settings["has_pull_requests"] === false) throw notFound();
    return { issues: [], total: 0 };
  }
  const state = wanted.state.toLowerCase();
  const filter: IssueFilter = {
    repositoryId: opened.repository.id,
    state: state === "closed" || state === "all" ? state : "open",
    term: wanted.q,
    labelIds: await listLabelIds(db, opened.repository.id, toNames(wanted.labels)),
    authorId: await findNamed(wanted.created_by),
    assigneeId: await findNamed(wanted.assigned_by),
    mentionedId: await findNamed(wanted.mentioned_by),
    ...toQueryRange(wanted),
  };
  if (wanted.type === "pulls") return { issues: [], total: 0 };
  const found = await listIssues(db, filter, toRows(wanted));
  const issues: SeenIssue[] = [];
  for (const issue of found.issues) issues.push(await seeIssue(db, opened, issue, caller?.user));
  return { issues, total: found.total };

  async function findNamed(name: string): Promise<number | undefined> {
    if (name === "") return undefined;
    const user = await findUserByName(db, name);
    if (user === undefined) throw notFound();
    return user.id;
  }
}

/** Names with commas between them. */
function toNames(text: string): string[] {
  const names = text.split(",", LABELS_MAX).map((name) => name.trim());
  return [...new Set(names)].filter((name) => name !== "");
}
