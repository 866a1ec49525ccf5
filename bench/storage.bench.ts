// Writes per second and the cost of a read through the storage port, against better-sqlite3 alone.
// Run it with: node bench/storage.bench.ts [directory on the disk to measure]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { openSqlite } from "../storage/engine/sqlite.ts";

const WRITES = 2_000;
const READS = 200_000;
const TABLE =
  "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL) STRICT";
const INSERT = "INSERT INTO notes (text, at) VALUES (?, ?)";
const SELECT = "SELECT id, text, at FROM notes WHERE id = ?";
const TEXT = "a short line of text";

const directory = mkdtempSync(join(process.argv[2] ?? tmpdir(), "croft-bench-"));
try {
  await measure();
} finally {
  rmSync(directory, { recursive: true });
}

async function measure(): Promise<void> {
  const raw = new Sqlite(join(directory, "raw.db"));
  raw.pragma("journal_mode = WAL");
  raw.pragma("synchronous = FULL");
  raw.exec(TABLE);
  const db = openSqlite({ path: join(directory, "port.db"), clock: Date.now });
  await db.run(TABLE);

  const insert = raw.prepare(INSERT);
  const rawWrites = perSecond(WRITES, await time(() => repeat(WRITES, () => insert.run(TEXT, 1))));
  console.log(`raw loop, synchronous=FULL        ${round(rawWrites)} writes/s`);
  for (const concurrency of [1, 64]) {
    const writes = perSecond(WRITES, await time(() => writeTogether(db, concurrency)));
    console.log(
      `port, ${String(concurrency).padStart(2)} writers at once         ${round(writes)} writes/s   ${(writes / rawWrites).toFixed(2)} of raw`,
    );
  }
  for (const concurrency of [1, 64]) {
    const writes = perSecond(WRITES, await time(() => transactTogether(db, concurrency)));
    console.log(
      `port, ${String(concurrency).padStart(2)} transactions at once    ${round(writes)} commits/s  ${(writes / rawWrites).toFixed(2)} of raw`,
    );
  }

  const select = raw.prepare(SELECT);
  const rawGet = perCall(
    READS,
    await time(() => repeat(READS, (index) => select.get((index % WRITES) + 1))),
  );
  const preparing = perCall(
    READS / 10,
    await time(() => repeat(READS / 10, (index) => raw.prepare(SELECT).get((index % WRITES) + 1))),
  );
  const portGet = perCall(
    READS,
    await time(async () => {
      for (let index = 0; index < READS; index++) await db.get(SELECT, (index % WRITES) + 1);
    }),
  );
  console.log(`get, prepared once, raw           ${rawGet.toFixed(2)} µs`);
  console.log(`get, prepared each time, raw      ${preparing.toFixed(2)} µs`);
  console.log(`get, port                         ${portGet.toFixed(2)} µs`);
  raw.close();
  await db.close();
}

async function writeTogether(
  db: ReturnType<typeof openSqlite>,
  concurrency: number,
): Promise<void> {
  await together(concurrency, () => db.run(INSERT, TEXT, 1));
}

async function transactTogether(
  db: ReturnType<typeof openSqlite>,
  concurrency: number,
): Promise<void> {
  await together(concurrency, () => db.transaction((tx) => tx.run(INSERT, TEXT, tx.now)));
}

/** `WRITES` calls by `concurrency` callers, each of which waits for its own before the next. */
async function together(concurrency: number, call: () => Promise<unknown>): Promise<void> {
  let left = WRITES;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
}

function repeat(times: number, call: (index: number) => unknown): void {
  for (let index = 0; index < times; index++) call(index);
}

async function time(run: () => unknown): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

function perSecond(calls: number, milliseconds: number): number {
  return (calls / milliseconds) * 1_000;
}

function perCall(calls: number, milliseconds: number): number {
  return (milliseconds / calls) * 1_000;
}

function round(value: number): string {
  return Math.round(value).toString().padStart(7);
}
