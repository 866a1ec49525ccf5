import type { Database, Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { TopicId, RepositoryId } from "../ids.ts";
import { type Reader, toReadable } from "./readable.ts";
import { generated, id, integer, now, text } from "../../columns.ts";
import { defineTable } from "../../table.ts";

const repositoryTopics = defineTable("forge_repository_topics", {
  id: generated(integer()),
  repositoryId: id<RepositoryId>(),
  name: text(),
  createdAt: now(),
});

/** A topic that repositories have. Times are epoch milliseconds. */
export interface ForgeTopic {
  /** The id of the oldest row with the name. */
  readonly id: TopicId;
  readonly name: string;
  /** The repositories with it that the reader may read. */
  readonly repositories: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Gives a repository these topics and no others. `names` are distinct. */
export async function replaceTopics(
  tx: Transaction,
  repositoryId: RepositoryId,
  names: readonly string[],
): Promise<void> {
  const before = await tx.all<{ name: string }>(
    "SELECT name FROM forge_repository_topics WHERE repository_id = ?",
    repositoryId,
  );
  const currentNames = new Set(before.map(({ name }) => name));
  for (const name of currentNames)
    if (!names.includes(name)) await repositoryTopics.delete(tx, { repositoryId, name });
  for (const name of names)
    if (!currentNames.has(name)) await repositoryTopics.insert(tx, { repositoryId, name });
  await tx.run(
    "UPDATE forge_repositories SET topics = ? WHERE id = ?",
    JSON.stringify(names.toSorted()),
    repositoryId,
  );
}

/** The conditions of a search. */
interface TopicSearch {
  readonly reader: Reader;
  /** Only public repositories of public owners, for every reader. */
  readonly isPublicOnly: boolean;
  /** A part of the name; empty matches every topic. */
  readonly term: string;
}

/**
 * Returns a page of the topics of the repositories that the reader may read, those of the most repositories first, and
 * the count of all that match.
 */
export async function searchTopics(
  db: Database,
  { reader, isPublicOnly, term }: TopicSearch,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly topics: readonly ForgeTopic[]; readonly total: number }> {
  const readable = toReadable(reader, isPublicOnly);
  const contains = db.dialect === "sqlite" ? "INSTR(t.name, ?) > 0" : "STRPOS(t.name, ?) > 0";
  const matches =
    term === "" ? { sql: "", values: [] } : { sql: ` AND ${contains}`, values: [term] };
  const from = `FROM forge_repository_topics t JOIN forge_repositories r ON r.id = t.repository_id
    JOIN forge_users u ON u.id = r.owner_id WHERE (${readable.sql})${matches.sql}`;
  const values: readonly SqlValue[] = [...readable.values, ...matches.values];
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(DISTINCT t.name) AS total ${from}`,
    ...values,
  );
  const rows = await db.all<TopicRow>(
    `SELECT t.name AS name, MIN(t.id) AS id, COUNT(*) AS repositories,
       MIN(t.created_at) AS created_at, MAX(t.created_at) AS updated_at ${from}
     GROUP BY t.name ORDER BY COUNT(*) DESC, t.name LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { topics: rows.map(toTopic), total: counted?.total ?? 0 };
}

interface TopicRow {
  id: TopicId;
  name: string;
  repositories: number;
  created_at: number;
  updated_at: number;
}

function toTopic(row: TopicRow): ForgeTopic {
  return {
    id: row.id,
    name: row.name,
    repositories: row.repositories,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Reads the topics of a repository in a transaction that is to change them. */
export async function listTopicsOf(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<readonly string[]> {
  const rows = await db.all<{ name: string }>(
    "SELECT name FROM forge_repository_topics WHERE repository_id = ? ORDER BY name",
    repositoryId,
  );
  return rows.map(({ name }) => name);
}
