import type { Queries, Row, SqlValue } from "../../engine/database.ts";
import { type Condition, sql } from "../condition.ts";
import { type AccountId, type ConnectionId, type DocumentId, toDocumentId } from "./ids.ts";
import { PASSAGE_WORDS, type SearchTerm, toPassage } from "./search-terms.ts";

/** Conditions of a search; an absent one matches every entry. */
export interface SearchFilter {
  readonly userId: AccountId;
  readonly kind?: "document" | "item" | undefined;
  readonly connectionId?: ConnectionId | undefined;
  readonly contentType?: string | undefined;
  /** Epoch milliseconds of the last change of the text, included. */
  readonly from?: number | undefined;
  /** Excluded. */
  readonly to?: number | undefined;
  /** Key of a topic. */
  readonly topicKey?: string | undefined;
}

/** A match. A higher score is a better match. */
export interface SearchMatch {
  readonly entryId: number;
  readonly documentId: DocumentId | undefined;
  readonly itemId: string | undefined;
  readonly score: number;
  /** A passage of title or body with matches between `MARK_START` and `MARK_END`. */
  readonly passage: string;
}

/** A match in the title counts as much as this many in the body. */
const TITLE_WEIGHT = 5;
/** Number of characters of a body that PostgreSQL searches for a passage. */
const PASSAGE_SOURCE_MAX = 50_000;

/** Returns whether a page of this many rows is the last one, and is not beyond the end. */
export function isEnd(
  { offset, limit }: { readonly offset: number; readonly limit: number },
  rows: number,
): boolean {
  return rows < limit && (rows > 0 || offset === 0);
}

/** Returns one page of the entries that match all terms, best first, and the number of all matches. */
export async function searchEntries(
  db: Queries & { readonly dialect: "sqlite" | "postgres" },
  terms: readonly SearchTerm[],
  filter: SearchFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly matches: SearchMatch[]; readonly total: number }> {
  if (terms.length === 0) return { matches: [], total: 0 };
  const { sql: where, values } = toWhere(filter);
  return db.dialect === "sqlite"
    ? searchSqlite(db, terms, where, values, page)
    : searchPostgres(db, terms, where, values, page);
}

/** Returns the subquery for the ids of the documents that match all terms. */
export function toDocumentCondition(
  dialect: "sqlite" | "postgres",
  terms: readonly SearchTerm[],
): Condition {
  if (terms.length === 0) return sql`NULL`;
  return dialect === "sqlite"
    ? sql`SELECT entry.document_id FROM vault_search_text
        JOIN vault_search_entries AS entry ON entry.id = vault_search_text.rowid
        WHERE vault_search_text MATCH ${toFts5Query(terms)}`
    : sql`SELECT entry.document_id FROM vault_search_entries AS entry
        WHERE entry.folded @@ to_tsquery('simple', ${toTsQuery(terms)})`;
}

/** Returns the matching passages of some documents, by document id. */
export async function listPassages(
  db: Queries & { readonly dialect: "sqlite" | "postgres" },
  terms: readonly SearchTerm[],
  documentIds: readonly DocumentId[],
): Promise<ReadonlyMap<string, string>> {
  if (documentIds.length === 0 || terms.length === 0) return new Map();
  const marks = documentIds.map(() => "?").join(", ");
  const usesIndex = db.dialect === "sqlite" && !terms.some(isBroad);
  const rows = await db.all<{ document_id: DocumentId; passage: string }>(
    usesIndex
      ? `SELECT entry.document_id, ${SQLITE_PASSAGE} AS passage FROM vault_search_text
         JOIN vault_search_entries AS entry ON entry.id = vault_search_text.rowid
         WHERE vault_search_text MATCH ? AND entry.document_id IN (${marks})`
      : `SELECT entry.document_id, ${PASSAGE_SOURCE} AS passage FROM vault_search_entries AS entry
         WHERE entry.document_id IN (${marks})`,
    ...(usesIndex ? [toFts5Query(terms)] : []),
    ...documentIds,
  );
  return new Map(
    rows.map((row) => [row.document_id, usesIndex ? row.passage : toPassage(row.passage, terms)]),
  );
}

/** The full-text index first, then the filters by an index that holds all of their columns. */
const SQLITE_MATCHES = `FROM vault_search_text CROSS JOIN vault_search_entries AS entry INDEXED BY vault_search_entries_user
  ON entry.id = vault_search_text.rowid WHERE vault_search_text MATCH ?`;
const SQLITE_PASSAGE = `snippet(vault_search_text, -1, char(1), char(2), '…', ${PASSAGE_WORDS})`;
/**
 * The text from which `toPassage` cuts a passage: on PostgreSQL, which would not highlight words with accents, and where the
 * index of SQLite would merge all words of a broad prefix once more.
 */
const PASSAGE_SOURCE = `substr(entry.title || '\n' || entry.body, 1, ${PASSAGE_SOURCE_MAX})`;

async function searchSqlite(
  db: Queries,
  terms: readonly SearchTerm[],
  where: string,
  values: readonly SqlValue[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly matches: SearchMatch[]; readonly total: number }> {
  const query = toFts5Query(terms);
  const few = terms.some(isBroad) ? undefined : await findFew(db, query, where, values);
  if (few !== undefined) return { matches: few.slice(offset, offset + limit), total: few.length };
  // The matches are sorted and counted in one pass over the index.
  const rows = await db.all(
    `WITH matches AS MATERIALIZED (
       SELECT entry.id, entry.document_id, entry.item_id, -bm25(vault_search_text, ${TITLE_WEIGHT}.0, 1.0) AS score
       ${SQLITE_MATCHES} AND ${where}
     )
     SELECT id, document_id, item_id, score, (SELECT count(*) FROM matches) AS total
     FROM matches ORDER BY score DESC, id DESC LIMIT ? OFFSET ?`,
    query,
    ...values,
    limit,
    offset,
  );
  // A page past the end has no row that carries the total.
  const count = async () => {
    const row = await db.get<{ total: number }>(
      `SELECT count(*) AS total ${SQLITE_MATCHES} AND ${where}`,
      query,
      ...values,
    );
    return Number(row?.total ?? 0);
  };
  // Builds passages only for the rows of the page, not for every match.
  const ids = rows.map((row) => Number(row["id"]));
  if (ids.length === 0) return { matches: [], total: offset === 0 ? 0 : await count() };
  const byId = await readSqlitePassages(db, terms, ids);
  return {
    matches: rows.map((row) => toMatch(row, byId.get(Number(row["id"])) ?? "")),
    total: Number(rows[0]?.["total"] ?? 0),
  };
}

/** Matches that one statement reads with their passages: two statements take twice the time, of which a rare word has little. */
const FEW = 10;

/** Returns all matches, best first; undefined for more than a few. */
async function findFew(
  db: Queries,
  query: string,
  where: string,
  values: readonly SqlValue[],
): Promise<SearchMatch[] | undefined> {
  const rows = await db.all(
    `SELECT entry.id, entry.document_id, entry.item_id, -bm25(vault_search_text, ${TITLE_WEIGHT}.0, 1.0) AS score,
       ${SQLITE_PASSAGE} AS passage ${SQLITE_MATCHES} AND ${where} LIMIT ${FEW + 1}`,
    query,
    ...values,
  );
  if (rows.length > FEW) return undefined;
  return rows
    .map((row) => toMatch(row, String(row["passage"])))
    .toSorted((one, other) => other.score - one.score || other.entryId - one.entryId);
}

async function readSqlitePassages(
  db: Queries,
  terms: readonly SearchTerm[],
  ids: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const marks = ids.map(() => "?").join(", ");
  if (terms.some(isBroad)) {
    const rows = await db.all<{ id: number; passage: string }>(
      `SELECT entry.id, ${PASSAGE_SOURCE} AS passage FROM vault_search_entries AS entry WHERE entry.id IN (${marks})`,
      ...ids,
    );
    return new Map(rows.map(({ id, passage }) => [id, toPassage(passage, terms)]));
  }
  const rows = await db.all<{ id: number; passage: string }>(
    `SELECT rowid AS id, ${SQLITE_PASSAGE} AS passage
     FROM vault_search_text WHERE vault_search_text MATCH ? AND rowid IN (${marks})`,
    toFts5Query(terms),
    ...ids,
  );
  return new Map(rows.map(({ id, passage }) => [id, passage]));
}

/** Whether a term begins many words without an index of such beginnings, which are for two and three letters. */
function isBroad({ words, isPrefix }: SearchTerm): boolean {
  return isPrefix && [...(words.at(-1) ?? "")].length === 1;
}

async function searchPostgres(
  db: Queries,
  terms: readonly SearchTerm[],
  where: string,
  values: readonly SqlValue[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly matches: SearchMatch[]; readonly total: number }> {
  const query = toTsQuery(terms);
  const from = `FROM vault_search_entries AS entry WHERE entry.folded @@ to_tsquery('simple', ?) AND ${where}`;
  const rows = await db.all(
    `SELECT chosen.id, chosen.document_id, chosen.item_id, chosen.score, ${PASSAGE_SOURCE} AS passage
     FROM (
       SELECT entry.id, entry.document_id, entry.item_id,
         ts_rank_cd(entry.folded, to_tsquery('simple', ?)) AS score
       ${from} ORDER BY score DESC, entry.id DESC LIMIT ? OFFSET ?
     ) AS chosen JOIN vault_search_entries AS entry ON entry.id = chosen.id
     ORDER BY chosen.score DESC, chosen.id DESC`,
    query,
    query,
    ...values,
    limit,
    offset,
  );
  const matches = rows.map((row) => toMatch(row, toPassage(String(row["passage"]), terms)));
  if (isEnd({ offset, limit }, rows.length)) return { matches, total: offset + rows.length };
  const count = await db.get<{ total: number }>(
    `SELECT count(*) AS total ${from}`,
    query,
    ...values,
  );
  return { matches, total: Number(count?.total ?? 0) };
}

/** Every word is quoted, because some words are operators. */
function toFts5Query(terms: readonly SearchTerm[]): string {
  return terms
    .map(({ words, typed, isPrefix }) => {
      const toPhrase = (text: string) => `"${text}"${isPrefix ? " *" : ""}`;
      const folded = toPhrase(words.join(" "));
      return typed === undefined ? folded : `(${folded} OR ${toPhrase(typed)})`;
    })
    .join(" AND ");
}

/** The words hold letters and digits only, so that no word is an operator. */
function toTsQuery(terms: readonly SearchTerm[]): string {
  return terms
    .map(({ words, isPrefix }) => `(${words.join(" <-> ")}${isPrefix ? ":*" : ""})`)
    .join(" & ");
}

/** The conditions of a filter on `vault_search_entries AS entry`. */
export function toWhere(filter: SearchFilter): Condition {
  const conditions = [
    "entry.user_id = ?",
    `(entry.item_id IS NULL OR EXISTS (
       SELECT 1 FROM vault_items AS live WHERE live.id = entry.item_id AND live.deleted_at IS NULL))`,
  ];
  const values: SqlValue[] = [filter.userId];
  const add = (condition: string, ...parameters: SqlValue[]) => {
    conditions.push(condition);
    values.push(...parameters);
  };
  if (filter.kind === "document") add("entry.document_id IS NOT NULL");
  if (filter.kind === "item") add("entry.item_id IS NOT NULL");
  if (filter.connectionId !== undefined) add("entry.connection_id = ?", filter.connectionId);
  if (filter.contentType !== undefined) add("entry.content_type = ?", filter.contentType);
  if (filter.from !== undefined) add("entry.changed_at >= ?", filter.from);
  if (filter.to !== undefined) add("entry.changed_at < ?", filter.to);
  if (filter.topicKey !== undefined)
    add(
      `(entry.document_id IN (
          SELECT link.document_id FROM vault_document_topics AS link
          JOIN vault_topics AS topic ON topic.id = link.topic_id WHERE topic.name_key = ?)
        OR entry.item_id IN (
          SELECT link.item_id FROM vault_item_topics AS link
          JOIN vault_topics AS topic ON topic.id = link.topic_id WHERE topic.name_key = ?))`,
      filter.topicKey,
      filter.topicKey,
    );
  return { sql: conditions.join(" AND "), values };
}

function toMatch(row: Row, passage: string): SearchMatch {
  const optional = (name: string) => (row[name] === null ? undefined : String(row[name]));
  return {
    entryId: Number(row["id"]),
    documentId: row["document_id"] === null ? undefined : toDocumentId(row["document_id"]),
    itemId: optional("item_id"),
    score: Number(row["score"]),
    passage,
  };
}
