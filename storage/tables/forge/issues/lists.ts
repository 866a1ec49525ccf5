import type { Database, Queries, SqlValue } from "../../../engine/database.ts";
import { type ForgeIssue, issueColumns, type IssueRow, toIssue } from "./issues.ts";

/** Conditions of a list of issues; an absent one matches every issue. */
export interface IssueFilter {
  readonly repositoryId: number;
  readonly state: "open" | "closed" | "all";
  /** Part of the title or of the beginning of the body, ignoring case; empty matches every issue. */
  readonly term: string;
  readonly authorId?: number | undefined;
  readonly assigneeId?: number | undefined;
  /** A user whom the issue or a comment mentions. */
  readonly mentionedId?: number | undefined;
  /** An issue must have all of them. */
  readonly labelIds: readonly number[];
  /** Range of the last change in epoch milliseconds, both ends included. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
}

/** Returns a page of a repository's issues, newest first, and the total count. */
export async function listIssues(
  db: Database,
  filter: IssueFilter,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly issues: readonly ForgeIssue[]; readonly total: number }> {
  if (filter.term.length > TERM_MAX || filter.term.includes("\0")) return { issues: [], total: 0 };
  const { where, values } = toCondition(filter, db.dialect);
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_issues WHERE ${where}`,
    ...values,
  );
  const rows = await db.all<IssueRow>(
    `SELECT ${issueColumns} FROM forge_issues WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { issues: rows.map(toIssue), total: counted?.total ?? 0 };
}

/** Returns the ids of a repository's labels with these names; unknown names are ignored. */
export async function listLabelIds(
  db: Queries,
  repositoryId: number,
  names: readonly string[],
): Promise<number[]> {
  if (names.length === 0) return [];
  const rows = await db.all<{ id: number }>(
    `SELECT id FROM forge_labels WHERE repository_id = ? AND name IN (${names.map(() => "?").join(", ")}) ORDER BY id`,
    repositoryId,
    ...names,
  );
  return rows.map(({ id }) => id);
}

/** Maximum length of a term in characters. A longer one matches nothing. */
const TERM_MAX = 200;
/** Number of characters of a text that are searched, which bounds the time of a search. */
const SEARCHED_MAX = 8_192;

function toCondition(
  filter: IssueFilter,
  dialect: Database["dialect"],
): {
  readonly where: string;
  readonly values: readonly SqlValue[];
} {
  const conditions = ["repository_id = ?"];
  const values: SqlValue[] = [filter.repositoryId];
  // Not LIKE, which takes quadratic time for a text of one repeated letter.
  const toContains = (text: string) =>
    dialect === "sqlite" ? `INSTR(${text}, ?) > 0` : `STRPOS(${text}, ?) > 0`;
  const add = (condition: string, ...more: SqlValue[]) => {
    conditions.push(condition);
    values.push(...more);
  };
  const isIn = (table: string, column: string, id: number | undefined) => {
    if (id !== undefined)
      add(`id IN (SELECT t.issue_id FROM ${table} t WHERE t.${column} = ?)`, id);
  };
  if (filter.state !== "all") add("is_closed = ?", Number(filter.state === "closed"));
  if (filter.authorId !== undefined) add("author_id = ?", filter.authorId);
  if (filter.since !== undefined) add("updated_at >= ?", filter.since);
  if (filter.before !== undefined) add("updated_at <= ?", filter.before);
  isIn("forge_issue_assignees", "user_id", filter.assigneeId);
  isIn("forge_issue_mentions", "user_id", filter.mentionedId);
  for (const labelId of filter.labelIds) isIn("forge_issue_labels", "label_id", labelId);
  if (filter.term !== "") {
    const small = filter.term.toLowerCase();
    const comparisons = [`LOWER(title)`, `LOWER(SUBSTR(body, 1, ${SEARCHED_MAX}))`].map(
      (text) => [text, small] as const,
    );
    // A database may fold the case of ASCII letters only, so other letters match case-sensitively.
    if (/[^\p{ASCII}]/u.test(small))
      comparisons.push(["title", filter.term], [`SUBSTR(body, 1, ${SEARCHED_MAX})`, filter.term]);
    add(
      `(${comparisons.map(([text]) => toContains(text)).join(" OR ")})`,
      ...comparisons.map(([, term]) => term),
    );
  }
  return { where: conditions.join(" AND "), values };
}
