import type { Database, SqlValue } from "../../../engine/database.ts";
import type { Condition } from "../../condition.ts";
import { toVisible } from "../accounts/follows.ts";
import type { Window } from "../../table.ts";
import type { TeamId, ActivityId, RepositoryId } from "../ids.ts";
import { keepsIssues, keepsPulls } from "../issues/lists.ts";
import { type Reader, toReadable } from "../repositories/readable.ts";
import { activityKinds } from "./activities.ts";

/** Which activities a feed has: those that an account received, those that it performed, or those of a repository. */
export type FeedSource =
  | { readonly receivedBy: number }
  | { readonly performedBy: number }
  | { readonly repositoryId: RepositoryId };

/** The activities of a feed that a reader may see. */
export interface FeedFilter {
  readonly source: FeedSource;
  readonly reader: Reader;
  /** Lists only activities that everyone may see. */
  readonly isPublicOnly: boolean;
  /** Only in repositories of this team. */
  readonly teamId?: TeamId | undefined;
  /** In epoch milliseconds; `since` is included, `until` is not. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Contributions of a quarter of an hour. */
export interface Contributions {
  /** Its beginning, in epoch seconds: time zones differ by quarters of an hour. */
  readonly timestamp: number;
  readonly contributions: number;
}

/** Returns the ids of a page of a feed, the latest first, and the count of all its activities that the reader may see. */
export async function listFeed(
  db: Database,
  filter: FeedFilter,
  { limit, offset }: Window,
): Promise<{ readonly ids: readonly ActivityId[]; readonly total: number }> {
  const { table, id, key } = toSource(filter);
  const visible = toFeedVisible(db.dialect, filter);
  // Visibility depends on these three columns only, so it is decided once for all activities with equal values.
  const counted = await db.get<{ total: number }>(
    `SELECT COALESCE(SUM(s.activities), 0) AS total FROM
       (SELECT s.repository_id, s.kind, s.actor_id, COUNT(*) AS activities FROM ${table} s WHERE ${key.sql}
        GROUP BY s.repository_id, s.kind, s.actor_id) s ${ends} WHERE ${visible.sql}`,
    ...key.values,
    ...visible.values,
  );
  const total = Number(counted?.total ?? 0);
  if (offset >= total) return { ids: [], total };
  const rows = await db.all<{ id: ActivityId }>(
    `SELECT s.${id} AS id FROM ${table} s ${ends} WHERE ${key.sql} AND ${visible.sql}
     ORDER BY s.created_at DESC, s.${id} DESC LIMIT ? OFFSET ?`,
    ...key.values,
    ...visible.values,
    limit,
    offset,
  );
  return { ids: rows.map((row) => row.id), total };
}

/** Returns how many activities of a feed the reader may see, by quarters of an hour, oldest first. */
export async function listContributions(
  db: Database,
  filter: FeedFilter,
): Promise<readonly Contributions[]> {
  const { table, key } = toSource(filter);
  const visible = toFeedVisible(db.dialect, filter);
  return db.all<{ timestamp: number; contributions: number }>(
    `SELECT s.created_at / 900000 * 900 AS "timestamp", COUNT(*) AS contributions
     FROM ${table} s ${ends} WHERE ${key.sql} AND ${visible.sql}
     GROUP BY s.created_at / 900000 ORDER BY 1`,
    ...key.values,
    ...visible.values,
  );
}

const ends =
  "JOIN forge_repositories r ON r.id = s.repository_id JOIN forge_users u ON u.id = r.owner_id";

/** Returns the table `s` of a feed, its column of the activity's id, and the condition for its key and dates. */
function toSource({ source, since, until }: FeedFilter): {
  readonly table: string;
  readonly id: string;
  readonly key: Condition;
} {
  const dates: Condition = {
    sql: `${since === undefined ? "" : " AND s.created_at >= ?"}${until === undefined ? "" : " AND s.created_at < ?"}`,
    values: [since, until].filter((value) => value !== undefined),
  };
  const keyed = (column: string, value: number): Condition => ({
    sql: `s.${column} = ?${dates.sql}`,
    values: [value, ...dates.values],
  });
  if ("receivedBy" in source)
    return {
      table: "forge_activity_receivers",
      id: "activity_id",
      key: keyed("user_id", source.receivedBy),
    };
  const key =
    "performedBy" in source
      ? keyed("actor_id", source.performedBy)
      : keyed("repository_id", source.repositoryId);
  return { table: "forge_activities", id: "id", key };
}

/**
 * Returns the condition for the activities `s` in a repository `r` of `u` that a reader may see: the part of the repository
 * that they are about must be readable now, and the actor must show its activity.
 */
function toFeedVisible(dialect: Database["dialect"], filter: FeedFilter): Condition {
  const { reader, isPublicOnly, teamId } = filter;
  const parts = [
    toKindsReadable(dialect, reader, isPublicOnly),
    toActorVisible(isPublicOnly ? undefined : reader),
  ];
  if (teamId !== undefined)
    parts.push({
      sql: `r.owner_id IN (SELECT e.org_id FROM forge_teams e WHERE e.id = ? AND e.includes_all_repositories = 1)
        OR r.id IN (SELECT p.repository_id FROM forge_team_repositories p WHERE p.team_id = ?)`,
      values: [teamId, teamId],
    });
  return join(parts, "AND");
}

/** The kinds of activities by the part of the repository that they are about. */
const kindsOfUnits = [
  ["any", ["create_repo", "rename_repo", "transfer_repo"]],
  ["repo.code", ["commit_repo", "push_tag", "delete_tag", "delete_branch"]],
  ["repo.issues", ["create_issue", "comment_issue", "close_issue", "reopen_issue"]],
  [
    "repo.pulls",
    [
      "create_pull_request",
      "comment_pull",
      "merge_pull_request",
      "close_pull_request",
      "reopen_pull_request",
    ],
  ],
  ["repo.releases", ["publish_release"]],
] as const;

/** The condition for a repository `r` whose settings keep a part. */
const keepsOfUnits: Readonly<Record<string, Readonly<Record<Database["dialect"], string>>>> = {
  "repo.code": keeping("has_code"),
  "repo.issues": keepsIssues,
  "repo.pulls": keepsPulls,
  "repo.releases": keeping("has_releases"),
};

function keeping(member: "has_code" | "has_releases") {
  return {
    sqlite: `COALESCE(json_extract(r.settings, '$.${member}'), 1) <> 0`,
    postgres: `COALESCE(CAST(r.settings AS JSONB) ->> '${member}', 'true') <> 'false'`,
  };
}

function toKindsReadable(
  dialect: Database["dialect"],
  reader: Reader,
  isPublicOnly: boolean,
): Condition {
  const parts = kindsOfUnits.map(([unit, kinds]): Condition => {
    const readable = toReadable(reader, isPublicOnly, unit);
    const codes = kinds.map((kind) => activityKinds[kind]).join(", ");
    const keeps = keepsOfUnits[unit as string];
    const hasPart = keeps === undefined ? "" : ` AND ${keeps[dialect]}`;
    return {
      sql: `s.kind IN (${codes}) AND (${readable.sql})${hasPart}`,
      values: readable.values,
    };
  });
  return join(parts, "OR");
}

/** Only the account itself and administrators see the activity of one that hides it. */
function toActorVisible(reader: Reader): Condition {
  if (reader?.isAdmin === true) return { sql: "1 = 1", values: [] };
  const visible = toVisible(reader);
  const visibleActor = `EXISTS (SELECT 1 FROM forge_users u
    WHERE u.id = s.actor_id AND u.keep_activity_private = 0 AND (${visible.sql}))`;
  if (reader === undefined) return { sql: visibleActor, values: visible.values };
  return { sql: `s.actor_id = ? OR ${visibleActor}`, values: [reader.id, ...visible.values] };
}

function join(parts: readonly Condition[], word: "AND" | "OR"): Condition {
  return {
    sql: `(${parts.map(({ sql }) => `(${sql})`).join(` ${word} `)})`,
    values: parts.flatMap(({ values }): readonly SqlValue[] => values),
  };
}
