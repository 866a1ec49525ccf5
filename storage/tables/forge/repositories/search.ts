import type { Database, SqlValue } from "../../../engine/database.ts";
import type { Condition } from "../../condition.ts";
import { type Reader, toReached, toReadable } from "./readable.ts";
import { findRepositoriesByIds, type ForgeRepository } from "./repositories.ts";

export type RepositorySort = "alpha" | "created" | "updated" | "size" | "stars" | "id";

/** The conditions of a search. An absent member matches everything. */
export interface RepositorySearch {
  readonly reader: Reader;
  /** Only public repositories of public owners, for every reader. */
  readonly isPublicOnly: boolean;
  /** Words separated by commas, any of which occurs in the name or a topic; empty is no filter. */
  readonly term: string;
  /** Whether the words are names of topics, and nothing else is searched. */
  readonly isOfTopics?: boolean;
  /** Whether the description is searched as well. */
  readonly includesDescription: boolean;
  readonly ownerId?: number | undefined;
  /** The repositories that this user owns or reaches. */
  readonly reachedBy?: number | undefined;
  /** Not this user's own ones. */
  readonly notOwnedBy?: number | undefined;
  /** Those of the team's organization. */
  readonly teamId?: number | undefined;
  /** Those that this user has starred. */
  readonly starredBy?: number | undefined;
  readonly isPrivate?: boolean | undefined;
  readonly isTemplate?: boolean | undefined;
  readonly isArchived?: boolean | undefined;
  readonly sort: RepositorySort;
  readonly descending: boolean;
  /** The owner whose repositories come first. */
  readonly firstOwnerId?: number | undefined;
}

const WORDS_MAX = 10;

/** Returns a page of the repositories that match and that the reader may read, and the count of all of them. */
export async function searchRepositories(
  db: Database,
  search: RepositorySearch,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly repositories: readonly ForgeRepository[]; readonly total: number }> {
  const { sql, values } = toCondition(db.dialect, search);
  const from = `FROM forge_repositories r JOIN forge_users u ON u.id = r.owner_id WHERE ${sql}`;
  const counted = await db.get<{ total: number }>(`SELECT COUNT(*) AS total ${from}`, ...values);
  const total = counted?.total ?? 0;
  if (offset >= total) return { repositories: [], total };
  const order = toOrder(search);
  const rows = await db.all<{ id: number }>(
    `SELECT r.id AS id ${from} ORDER BY ${order.sql} LIMIT ? OFFSET ?`,
    ...values,
    ...order.values,
    limit,
    offset,
  );
  const ids = rows.map(({ id }) => id);
  const found = new Map((await findRepositoriesByIds(db, ids)).map((one) => [one.id, one]));
  return { repositories: ids.flatMap((id) => found.get(id) ?? []), total };
}

function toCondition(dialect: Database["dialect"], search: RepositorySearch): Condition {
  const parts: Condition[] = [toReadable(search.reader, search.isPublicOnly)];
  const add = (sql: string, ...values: SqlValue[]) => parts.push({ sql, values });
  const { ownerId, reachedBy, notOwnedBy, teamId, isPrivate, isTemplate, isArchived } = search;
  if (search.starredBy !== undefined)
    add(
      "r.id IN (SELECT s.repository_id FROM forge_stars s WHERE s.user_id = ?)",
      search.starredBy,
    );
  if (ownerId !== undefined) add("r.owner_id = ?", ownerId);
  if (reachedBy !== undefined) {
    const { reader } = search;
    // Memberships of an organization are not public.
    const seesMemberships = reader !== undefined && (reader.isAdmin || reader.id === reachedBy);
    parts.push(toReached(reachedBy, { publicMemberships: !seesMemberships }));
  }
  if (notOwnedBy !== undefined) add("r.owner_id <> ?", notOwnedBy);
  if (teamId !== undefined)
    add(
      `r.owner_id IN (SELECT e.org_id FROM forge_teams e WHERE e.id = ? AND e.includes_all_repositories = 1)
       OR r.id IN (SELECT p.repository_id FROM forge_team_repositories p WHERE p.team_id = ?)`,
      teamId,
      teamId,
    );
  if (isPrivate !== undefined) add("r.is_private = ?", Number(isPrivate));
  if (isTemplate !== undefined) add("r.is_template = ?", Number(isTemplate));
  if (isArchived !== undefined) add(`r.archived_at IS ${isArchived ? "NOT " : ""}NULL`);
  const words = toWords(search.term);
  if (words.length > 0) {
    // Not LIKE: it takes quadratic time for a text of one repeated letter.
    const contains = (text: string) =>
      dialect === "sqlite" ? `INSTR(${text}, ?) > 0` : `STRPOS(${text}, ?) > 0`;
    const texts = ["r.lower_name", ...(search.includesDescription ? ["LOWER(r.description)"] : [])];
    const looks = words.flatMap((word) => texts.map((text) => ({ sql: contains(text), word })));
    const isOfTopics = search.isOfTopics === true;
    const topic = isOfTopics ? "t.name = ?" : contains("t.name");
    const sql = `r.id IN (SELECT t.repository_id FROM forge_repository_topics t WHERE ${topic})`;
    const all = [...(isOfTopics ? [] : looks), ...words.map((word) => ({ sql, word }))];
    add(all.map((each) => each.sql).join(" OR "), ...all.map(({ word }) => word));
  }
  return {
    sql: parts.map(({ sql }) => `(${sql})`).join(" AND "),
    values: parts.flatMap(({ values }) => values),
  };
}

function toWords(term: string): string[] {
  const words = term.toLowerCase().split(",");
  return words
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .slice(0, WORDS_MAX);
}

const orders: Readonly<Record<RepositorySort, readonly string[]>> = {
  alpha: ["u.lower_name", "r.lower_name"],
  created: ["r.created_at", "r.id"],
  updated: ["r.updated_at", "r.id"],
  size: ["r.size_kib", "r.id"],
  stars: ["r.star_count", "r.id"],
  id: ["r.id"],
};

function toOrder({ sort, descending, firstOwnerId }: RepositorySearch): Condition {
  const direction = descending ? "DESC" : "ASC";
  const columns = orders[sort].map((column) => `${column} ${direction}`);
  if (firstOwnerId === undefined) return { sql: columns.join(", "), values: [] };
  const first = "CASE WHEN r.owner_id = ? THEN 0 ELSE 1 END";
  return { sql: [first, ...columns].join(", "), values: [firstOwnerId] };
}
