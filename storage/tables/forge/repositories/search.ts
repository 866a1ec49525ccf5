import type { Database, SqlValue } from "../../../engine/database.ts";
import type { Condition } from "../../condition.ts";
import { toContains } from "../../contains.ts";
import type { UserId, TeamId, RepositoryId } from "../ids.ts";
import { type Reader, toInTeam, toReached, toReadable } from "./readable.ts";
import { findRepositoriesByIds, type ForgeRepository } from "./repositories.ts";

export type RepositorySort = "alpha" | "created" | "updated" | "size" | "stars" | "forks" | "id";

/** The conditions of a search. An absent member matches everything. */
export interface RepositorySearch {
  readonly reader: Reader;
  /** Only public repositories of public owners, for every reader. */
  readonly isPublicOnly: boolean;
  /**
   * Words separated by commas, any of which occurs in the name or a topic; `owner/name` occurs in both names. Empty is no
   * filter.
   */
  readonly term: string;
  /** Whether the words are names of topics, and nothing else is searched. */
  readonly isOfTopics?: boolean;
  /** Whether the description is searched as well. */
  readonly includesDescription: boolean;
  readonly ownerId?: UserId | undefined;
  /** The repositories that this user owns or reaches. */
  readonly reachedBy?: UserId | undefined;
  /** Not this user's own ones. */
  readonly notOwnedBy?: UserId | undefined;
  /** Those that this team has. */
  readonly teamId?: TeamId | undefined;
  /** Those that this user has starred. */
  readonly starredBy?: UserId | undefined;
  readonly isPrivate?: boolean | undefined;
  readonly isTemplate?: boolean | undefined;
  readonly isArchived?: boolean | undefined;
  /** The forks of this repository. */
  readonly forkOf?: RepositoryId | undefined;
  readonly isFork?: boolean | undefined;
  readonly isMirror?: boolean | undefined;
  readonly sort: RepositorySort;
  readonly descending: boolean;
  /** The owner whose repositories come first. */
  readonly firstOwnerId?: UserId | undefined;
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
  const rows = await db.all<{ id: RepositoryId }>(
    `SELECT r.id AS id ${from} ORDER BY ${order.sql} LIMIT ? OFFSET ?`,
    ...values,
    ...order.values,
    limit,
    offset,
  );
  const ids = rows.map(({ id }) => id);
  const found = new Map(
    (await findRepositoriesByIds(db, ids)).map((repository) => [repository.id, repository]),
  );
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
  if (teamId !== undefined) parts.push(toInTeam(teamId));
  if (isPrivate !== undefined) add("r.is_private = ?", Number(isPrivate));
  if (isTemplate !== undefined) add("r.is_template = ?", Number(isTemplate));
  if (isArchived !== undefined) add(`r.archived_at IS ${isArchived ? "NOT " : ""}NULL`);
  if (search.forkOf !== undefined) add("r.fork_of = ?", search.forkOf);
  if (search.isFork !== undefined) add(`r.fork_of IS ${search.isFork ? "NOT " : ""}NULL`);
  if (search.isMirror !== undefined) add("r.is_mirror = ?", Number(search.isMirror));
  const words = toWords(search.term);
  if (words.length > 0) {
    // Not LIKE: it takes quadratic time for a text of one repeated letter.
    const contains = (text: string) =>
      dialect === "sqlite" ? `INSTR(${text}, ?) > 0` : `STRPOS(${text}, ?) > 0`;
    const isOfTopics = search.isOfTopics === true;
    const topic = isOfTopics ? "t.name = ?" : contains("t.name");
    const conditions = words.flatMap((word): Condition[] => {
      const inTopic = `r.id IN (SELECT t.repository_id FROM forge_repository_topics t WHERE ${topic})`;
      const [owner = "", name, ...more] = word.split("/");
      const isFullName = name !== undefined && more.length === 0;
      const own: Condition[] = [
        { sql: contains("r.lower_name"), values: [word] },
        ...(search.includesDescription ? [toContains(dialect, "r.description", word)] : []),
        ...(isFullName
          ? [
              {
                sql: `(${contains("u.lower_name")} AND ${contains("r.lower_name")})`,
                values: [owner, name],
              },
            ]
          : []),
      ];
      return [{ sql: inTopic, values: [word] }, ...(isOfTopics ? [] : own)];
    });
    add(
      conditions.map(({ sql }) => sql).join(" OR "),
      ...conditions.flatMap(({ values }) => values),
    );
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
  forks: ["r.fork_count", "r.id"],
  id: ["r.id"],
};

function toOrder({ sort, descending, firstOwnerId, term }: RepositorySearch): Condition {
  const direction = descending ? "DESC" : "ASC";
  const columns = orders[sort].map((column) => `${column} ${direction}`);
  const first = (sql: string, value: SqlValue) => ({
    sql: [`CASE WHEN ${sql} THEN 0 ELSE 1 END`, ...columns].join(", "),
    values: [value],
  });
  if (firstOwnerId !== undefined) return first("r.owner_id = ?", firstOwnerId);
  const [owner = "", name, ...more] = term.trim().toLowerCase().split("/");
  if (name !== undefined && more.length === 0) return first("u.lower_name = ?", owner);
  return { sql: columns.join(", "), values: [] };
}
