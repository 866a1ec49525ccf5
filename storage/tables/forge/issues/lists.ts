import type { Database, Queries, SqlValue } from "../../../engine/database.ts";
import { type ForgeIssue, issueColumns, type IssueRow, toIssue } from "./issues.ts";

/** Which issues of a repository; absent members choose nothing away. */
export interface IssueFilter {
  readonly repositoryId: number;
  readonly state: "open" | "closed" | "all";
  /** Found in the title or the beginning of the body, whatever the case; empty: all. */
  readonly term: string;
  readonly authorId?: number | undefined;
  readonly assigneeId?: number | undefined;
  /** Whom its text or a comment names. */
  readonly mentionedId?: number | undefined;
  /** All of them. */
  readonly labelIds: readonly number[];
  /** Last changed at this time or later, in epoch milliseconds; `before`: or earlier. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
}

/** A page of a repository's issues, newest first, and the count of all that fit. */
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

/** The ids of a repository's labels that have one of these names. */
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

/** Longest term, in characters. A longer one finds nothing, and costs nothing. */
const TERM_MAX = 200;
/** How much of a text is searched, in characters: whoever writes long ones must not make others wait. */
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
  // Not LIKE: for a text of one letter it takes the length of the text times that of the term.
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
    const looks = [`LOWER(title)`, `LOWER(SUBSTR(body, 1, ${SEARCHED_MAX}))`].map(
      (text) => [text, small] as const,
    );
    // An engine may know small letters of ASCII only: others are found as they are written.
    if (/[^\p{ASCII}]/u.test(small))
      looks.push(["title", filter.term], [`SUBSTR(body, 1, ${SEARCHED_MAX})`, filter.term]);
    add(
      `(${looks.map(([text]) => toContains(text)).join(" OR ")})`,
      ...looks.map(([, term]) => term),
    );
  }
  return { where: conditions.join(" AND "), values };
}
