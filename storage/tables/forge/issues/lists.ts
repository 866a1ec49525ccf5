import type { Database, Queries, SqlValue } from "../../../engine/database.ts";
import { type Condition } from "../../condition.ts";
import { toContains } from "../../contains.ts";
import type { IssueId, UserId, LabelId, TeamId, RepositoryId, MilestoneId } from "../ids.ts";
import { type Reader, toInTeam, toReadable } from "../repositories/readable.ts";
import { type ForgeIssue, issues } from "./issues.ts";
import {
  findMissingRange,
  type MissingRange,
  SEARCHED_MAX,
  toIndexCondition,
} from "./search-index.ts";

/** The caller of a list across repositories. */
export interface ReaderScope {
  readonly reader: Reader;
  readonly isPublicOnly: boolean;
}

/** Conditions of a list of issues; an absent one matches every issue. */
export interface IssueFilter {
  /** One repository, or all that a reader may read. */
  readonly within:
    | { readonly repositoryId: RepositoryId }
    | (ReaderScope & {
        readonly ownerId?: UserId | undefined;
        /** Only repositories that this team has. */
        readonly teamId?: TeamId | undefined;
      });
  /** Only issues or only pull requests; undefined for both. */
  readonly isPull?: boolean | undefined;
  readonly state: "open" | "closed" | "all";
  /** Part of the title or of the beginning of the body, ignoring case; empty matches every issue. */
  readonly term: string;
  readonly authorId?: UserId | undefined;
  readonly assigneeId?: UserId | undefined;
  /** A user whom the issue or a comment mentions. */
  readonly mentionedId?: UserId | undefined;
  /** A user who is asked for a review, or a member of a team that is. */
  readonly requestedReviewerId?: UserId | undefined;
  /** A user who submitted a review. */
  readonly reviewerId?: UserId | undefined;
  /** An issue must have a label of each of these lists, which are not empty. */
  readonly labelIds: readonly (readonly LabelId[])[];
  /** An issue must have a label of one of these names; absent or empty matches every issue. */
  readonly labelNames?: readonly string[];
  /** An issue must be in one of them; absent or empty matches every issue. */
  readonly milestoneIds?: readonly MilestoneId[];
  /** An issue must be in a milestone with one of these titles; absent or empty matches every issue. */
  readonly milestoneTitles?: readonly string[];
  /** Range of the last change in epoch milliseconds, both ends included. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
  /** Only pull requests into this branch. */
  readonly baseBranch?: string | undefined;
}

/** The orders of a list. */
const orders = {
  newest: "created_at DESC, id DESC",
  oldest: "created_at, id",
  recentupdate: "updated_at DESC, id DESC",
  leastupdate: "updated_at, id",
  recentclose: "COALESCE(closed_at, 0) DESC, created_at DESC, id DESC",
  mostcomment: "comment_count DESC, created_at DESC, id DESC",
  leastcomment: "comment_count, created_at DESC, id DESC",
} as const;
export type IssueOrder = keyof typeof orders;

export const isIssueOrder = (word: string): word is IssueOrder => Object.hasOwn(orders, word);

/**
 * Returns a page of issues, newest first unless another order is given, and the total count.
 * @param firstRepositoryId a repository whose issues come before those of others
 */
export async function listIssues(
  db: Database,
  filter: IssueFilter,
  window: {
    readonly limit: number;
    readonly offset: number;
    readonly firstRepositoryId?: RepositoryId;
    readonly order?: IssueOrder;
    /** Number of issues of a repository from which on a search in it uses the index, which is that of all repositories. */
    readonly indexedFrom?: number;
  },
): Promise<{ readonly issues: readonly ForgeIssue[]; readonly total: number }> {
  if (filter.term.length > TERM_MAX || filter.term.includes("\0")) return { issues: [], total: 0 };
  const isIndexed =
    filter.term !== "" && (await isLarge(db, filter.within, window.indexedFrom ?? INDEXED_FROM));
  const missing = isIndexed ? await findMissingRange(db) : undefined;
  const { where, values } = toCondition(filter, db.dialect, { isIndexed, missing });
  const first = window.firstRepositoryId;
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_issues WHERE ${where}`,
    ...values,
  );
  const order = `${first === undefined ? "" : "CASE WHEN repository_id = ? THEN 0 ELSE 1 END, "}${orders[window.order ?? "newest"]}`;
  const ordered = first === undefined ? [] : [first];
  // The ids of a page come from an index alone where one has the order. PostgreSQL reads the rows before the page otherwise.
  const rows = await issues.readAll(
    db,
    `SELECT ${issues.columns} FROM forge_issues WHERE id IN
       (SELECT id FROM forge_issues WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?)
     ORDER BY ${order}`,
    ...values,
    ...ordered,
    window.limit,
    window.offset,
    ...ordered,
  );
  return { issues: rows, total: counted?.total ?? 0 };
}

/**
 * Returns for each name the ids of the labels that issues of a repository may have: the repository and its owner may
 * both have a label of one name. Unknown names are ignored.
 */
export async function listLabelIds(
  db: Queries,
  repositoryId: RepositoryId,
  names: readonly string[],
): Promise<LabelId[][]> {
  if (names.length === 0) return [];
  const rows = await db.all<{ id: LabelId; name: string }>(
    `SELECT id, name FROM forge_labels
     WHERE (repository_id = ? OR org_id = (SELECT r.owner_id FROM forge_repositories r WHERE r.id = ?))
       AND name IN (${toMarks(names)}) ORDER BY id`,
    repositoryId,
    repositoryId,
    ...names,
  );
  return [...Map.groupBy(rows, ({ name }) => name).values()].map((same) =>
    same.map(({ id }) => id),
  );
}

/** Maximum length of a term in characters. A longer one matches nothing. */
const TERM_MAX = 200;
/** A comparison with 1,000 texts takes about 5 ms; the index finds the matches of all repositories, in up to 170 ms for 300,000. */
const INDEXED_FROM = 1_000;

/** Returns whether a search reads at least `count` issues, as far as its repository tells. */
async function isLarge(
  db: Queries,
  within: IssueFilter["within"],
  count: number,
): Promise<boolean> {
  if (!("repositoryId" in within) || count === 0) return true;
  const row = await db.get<{ id: IssueId }>(
    "SELECT id FROM forge_issues WHERE repository_id = ? ORDER BY id LIMIT 1 OFFSET ?",
    within.repositoryId,
    count - 1,
  );
  return row !== undefined;
}

function toCondition(
  filter: IssueFilter,
  dialect: Database["dialect"],
  index: { readonly isIndexed: boolean; readonly missing: MissingRange | undefined },
): {
  readonly where: string;
  readonly values: readonly SqlValue[];
} {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const add = (condition: string, ...more: SqlValue[]) => {
    conditions.push(condition);
    values.push(...more);
  };
  const isIn = (table: string, column: string, id: number | undefined) => {
    if (id !== undefined)
      add(`id IN (SELECT t.issue_id FROM ${table} t WHERE t.${column} = ?)`, id);
  };
  const { sql, values: within } = toWithin(filter.within, dialect);
  add(sql, ...within);
  if (filter.isPull !== undefined) add("is_pull = ?", Number(filter.isPull));
  if (filter.state !== "all") add("is_closed = ?", Number(filter.state === "closed"));
  if (filter.authorId !== undefined) add("author_id = ?", filter.authorId);
  if (filter.since !== undefined) add("updated_at >= ?", filter.since);
  if (filter.before !== undefined) add("updated_at <= ?", filter.before);
  if (filter.baseBranch !== undefined)
    add("id IN (SELECT t.issue_id FROM forge_pulls t WHERE t.base_branch = ?)", filter.baseBranch);
  isIn("forge_issue_assignees", "user_id", filter.assigneeId);
  isIn("forge_issue_mentions", "user_id", filter.mentionedId);
  if (filter.requestedReviewerId !== undefined)
    add(
      `id IN (SELECT t.issue_id FROM forge_reviews t WHERE t.state = 'requested' AND
        (t.reviewer_id = ? OR t.team_id IN (SELECT m.team_id FROM forge_team_members m WHERE m.user_id = ?)))`,
      filter.requestedReviewerId,
      filter.requestedReviewerId,
    );
  if (filter.reviewerId !== undefined)
    add(
      `id IN (SELECT t.issue_id FROM forge_reviews t
        WHERE t.reviewer_id = ? AND t.state IN ('approved', 'changes_requested', 'comment'))`,
      filter.reviewerId,
    );
  for (const ids of filter.labelIds)
    add(
      `id IN (SELECT t.issue_id FROM forge_issue_labels t WHERE t.label_id IN (${toMarks(ids)}))`,
      ...ids,
    );
  const { labelNames = [], milestoneIds = [], milestoneTitles = [] } = filter;
  if (labelNames.length > 0)
    add(
      `id IN (SELECT t.issue_id FROM forge_issue_labels t JOIN forge_labels l ON l.id = t.label_id
              WHERE l.name IN (${toMarks(labelNames)}))`,
      ...labelNames,
    );
  if (milestoneIds.length > 0) add(`milestone_id IN (${toMarks(milestoneIds)})`, ...milestoneIds);
  if (milestoneTitles.length > 0)
    add(
      `milestone_id IN (SELECT m.id FROM forge_milestones m WHERE m.title IN (${toMarks(milestoneTitles)}))`,
      ...milestoneTitles,
    );
  if (filter.term !== "") {
    const indexed = index.isIndexed
      ? toIndexCondition(dialect, filter.term, index.missing)
      : undefined;
    if (indexed !== undefined) add(indexed.sql, ...indexed.values);
    const contains = ["title", `SUBSTR(body, 1, ${SEARCHED_MAX})`].map((text) =>
      toContains(dialect, text, filter.term),
    );
    add(
      `(${contains.map(({ sql: each }) => each).join(" OR ")})`,
      ...contains.flatMap((each) => each.values),
    );
  }
  return { where: conditions.join(" AND "), values };
}

function toWithin(within: IssueFilter["within"], dialect: Database["dialect"]): Condition {
  if ("repositoryId" in within) return { sql: "repository_id = ?", values: [within.repositoryId] };
  const { ownerId, teamId } = within;
  return toReadableIssues(within, dialect, [
    ...(ownerId === undefined ? [] : [{ sql: "r.owner_id = ?", values: [ownerId] }]),
    ...(teamId === undefined ? [] : [toInTeam(teamId)]),
  ]);
}

/**
 * Returns the condition for the issues and pull requests that a caller may read, over `forge_issues`, without those of
 * repositories where they are turned off or elsewhere.
 * @param more conditions of the repositories `r`
 */
export function toReadableIssues(
  { reader, isPublicOnly }: ReaderScope,
  dialect: Database["dialect"],
  more: readonly Condition[] = [],
): Condition {
  const kinds = [
    { isPull: 0, unit: "repo.issues", keeps: keepsIssues },
    { isPull: 1, unit: "repo.pulls", keeps: keepsPulls },
  ] as const;
  const readable = kinds.map(({ isPull, unit, keeps }): Condition => {
    const parts: Condition[] = [
      toReadable(reader, isPublicOnly, unit),
      { sql: keeps[dialect], values: [] },
      ...more,
    ];
    return {
      sql: `(is_pull = ${isPull} AND repository_id IN
        (SELECT r.id FROM forge_repositories r JOIN forge_users u ON u.id = r.owner_id
         WHERE ${parts.map(({ sql }) => `(${sql})`).join(" AND ")}))`,
      values: parts.flatMap(({ values }) => values),
    };
  });
  return {
    sql: `(${readable.map(({ sql }) => sql).join(" OR ")})`,
    values: readable.flatMap(({ values }) => values),
  };
}

/** The condition for a repository `r` that has issues here, by the members of its settings. */
export const keepsIssues = {
  sqlite: `(COALESCE(json_extract(r.settings, '$.has_issues'), 1) <> 0
    AND json_type(r.settings, '$.external_tracker') IS NULL)`,
  postgres: `(COALESCE(CAST(r.settings AS JSONB) ->> 'has_issues', 'true') <> 'false'
    AND CAST(r.settings AS JSONB) -> 'external_tracker' IS NULL)`,
} as const;

/** The condition for a repository `r` with pull requests. */
export const keepsPulls = {
  sqlite: "COALESCE(json_extract(r.settings, '$.has_pull_requests'), 1) <> 0",
  postgres: "COALESCE(CAST(r.settings AS JSONB) ->> 'has_pull_requests', 'true') <> 'false'",
} as const;

const toMarks = (list: readonly unknown[]) => list.map(() => "?").join(", ");
