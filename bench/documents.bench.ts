import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseQuery } from "../daemon/vault/documents/query.ts";
import { migrate, readMigrations } from "../storage/engine/migrate.ts";
import { openSqlite, type SqliteDatabase } from "../storage/engine/sqlite.ts";
import {
  type DocumentSort,
  insertDocument,
  listDocuments,
} from "../storage/tables/vault/documents/documents.ts";
import { insertQuota } from "../storage/tables/vault/quotas.ts";
import { searchEntries } from "../storage/tables/vault/search.ts";
import { putSearchEntry } from "../storage/tables/vault/search-entries.ts";
import { insertVaultUser } from "../storage/tables/vault/users.ts";
import { atMost, median, report } from "./measure.ts";
import type { Figure } from "./results.ts";
import { toAccountId, toDocumentId } from "../storage/tables/vault/ids.ts";

// Documents of one user: pages of the list and the search, beside the same search written by hand in FTS5.
const DOCUMENTS = Number(process.env["CROFT_BENCH_DOCUMENTS"] ?? 200_000);
const BATCH = 2_000;
const WORDS_PER_TEXT = 60;
/** With a million documents each round of a common word takes a second. */
const IS_LARGE = DOCUMENTS > 500_000;
const ROUNDS = IS_LARGE ? 15 : 50;
const BROAD_ROUNDS = IS_LARGE ? 3 : 7;
/** For searches well under a millisecond: of fewer rounds the p99 is the longest pause of the machine. */
const RARE_ROUNDS = 2_000;
/** A word of one document, and a word of no document. */
const RARE = [String(DOCUMENTS * 0.75), "wzz"];

const folder = await mkdtemp(join(tmpdir(), "croft-bench-"));
try {
  const db = openSqlite({ path: join(folder, "bench.db"), clock: Date.now });
  await migrate(db, readMigrations());
  await fill(db);
  report(
    `documents: ${DOCUMENTS} of one user`,
    "A first page costs the same however many documents there are, and the last one the steps over an index; a search adds filters and passages to FTS5.",
    [...(await listFigures(db)), ...(await searchFigures(db))],
  );
  await db.close();
} finally {
  await rm(folder, { recursive: true });
}

/** Words with the frequencies of language: the n-th is n times as rare as the first. */
function wordOf(seed: number): string {
  const rank = Math.floor(Math.exp(((seed % 1_000) / 1_000) * Math.log(20_000)));
  return `w${rank.toString(36)}`;
}

async function fill(db: SqliteDatabase): Promise<void> {
  await db.transaction(async (tx) => {
    await insertVaultUser(tx, {
      id: toAccountId("u"),
      handle: "mira",
      email: "mira@example.org",
      passwordHash: "",
      role: "user",
      passwordMustChange: false,
    });
    await insertQuota(tx, toAccountId("u"), Number.MAX_SAFE_INTEGER);
  });
  let seed = 1;
  const next = () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648);
  for (let from = 0; from < DOCUMENTS; from += BATCH)
    await db.transaction(async (tx) => {
      for (let index = from; index < from + BATCH; index++) {
        const id = toDocumentId(`d${String(index).padStart(7, "0")}`);
        const filename = `${wordOf(next())} ${wordOf(next())} ${index}.txt`;
        const body = Array.from({ length: WORDS_PER_TEXT }, () => wordOf(next())).join(" ");
        await insertDocument(tx, {
          id,
          userId: toAccountId("u"),
          filename,
          contentType: "text/plain",
          sizeBytes: next() % 1_000_000,
          sha256: id,
          storageBackend: "internal",
          connectionId: undefined,
          providerItemId: undefined,
        });
        await putSearchEntry(tx, {
          userId: toAccountId("u"),
          source: { documentId: id },
          title: filename,
          body,
          contentType: "text/plain",
          connectionId: undefined,
        });
      }
    });
}

async function listFigures(db: SqliteDatabase): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const sort of ["created_at", "name", "size"] satisfies DocumentSort[]) {
    const page = (offset: number) => () =>
      listDocuments(
        db,
        { userId: toAccountId("u") },
        { sort, descending: true, limit: 30, offset },
      );
    const first = await timesOf(page(0));
    const deep = await timesOf(page(DOCUMENTS - 100));
    figures.push(atMost(`first page by ${sort}`, median(first), 20, "ms"));
    // The first page reads thirty rows and a count that is kept; the last one steps over an index of all.
    figures.push(atMost(`last page by ${sort}`, median(deep), 30, "ms"));
  }
  return figures;
}

async function searchFigures(db: SqliteDatabase): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const query of ["wa", ...RARE, "wa wb", "w1*", "w*", '"wa wb"']) {
    // Every word of these texts begins with this letter: each round takes seconds.
    const rounds = query === "w*" ? BROAD_ROUNDS : RARE.includes(query) ? RARE_ROUNDS : ROUNDS;
    const [term] = parseQuery(query);
    if (term === undefined) continue;
    const own = await timesOf(
      () =>
        searchEntries(
          db,
          parseQuery(query),
          { userId: toAccountId("u") },
          { limit: 30, offset: 0 },
        ),
      rounds,
    );
    const match = parseQuery(query)
      .map(({ words, isPrefix }) => `"${words.join(" ")}"${isPrefix ? " *" : ""}`)
      .join(" AND ");
    const byHand = await timesOf(
      () =>
        db.all(
          `SELECT rowid, bm25(vault_search_text, 5.0, 1.0) AS score FROM vault_search_text
         WHERE vault_search_text MATCH ? ORDER BY score LIMIT 30`,
          match,
        ),
      rounds,
    );
    const ratio = percentile(own, 0.99) / percentile(byHand, 0.99);
    figures.push(atMost(`search ${query}: p99 against FTS5 by hand`, ratio, 3, ""));
    figures.push({
      label: `search ${query}: p99`,
      value: `${percentile(own, 0.99).toFixed(1)} ms`,
    });
  }
  return figures;
}

/** Milliseconds of each round after one to warm up. */
async function timesOf(work: () => Promise<unknown>, rounds = ROUNDS): Promise<number[]> {
  await work();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return times;
}

function percentile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
