import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { openSqlite } from "../storage/engine/sqlite.ts";
import { atLeast, atMost, ratio, report } from "./measure.ts";
import type { Figure } from "./results.ts";

// The storage port against better-sqlite3 alone, on the disk of CROFT_BENCH_DISK or of the temporary folder.

const ROUNDS = 5;
const WRITES = 1_000;
const READS = 50_000;
const TABLE =
  "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL) STRICT";
const INSERT = "INSERT INTO notes (text, at) VALUES (?, ?)";
const SELECT = "SELECT id, text, at FROM notes WHERE id = ?";
const TEXT = "a short line of text";

const directory = mkdtempSync(join(process.env["CROFT_BENCH_DISK"] ?? tmpdir(), "croft-bench-"));
const raw = new Sqlite(join(directory, "raw.db"));
raw.pragma("journal_mode = WAL");
raw.pragma("synchronous = FULL");
raw.exec(TABLE);
const insert = raw.prepare(INSERT);
const select = raw.prepare(SELECT);
const db = openSqlite({ path: join(directory, "port.db"), clock: Date.now });
await db.run(TABLE);

const rawWrites = () => perSecond(WRITES, () => repeat(WRITES, () => insert.run(TEXT, 1)));
const writes = (callers: number) => () =>
  perSecond(WRITES, () => together(callers, () => db.run(INSERT, TEXT, 1)));
const transactions = (callers: number) => () =>
  perSecond(WRITES, () =>
    together(callers, () => db.transaction((tx) => tx.run(INSERT, TEXT, tx.now))),
  );
const rawGet = () =>
  microseconds(READS, () => repeat(READS, (index) => select.get((index % WRITES) + 1)));
const preparedAnew = () =>
  microseconds(READS / 10, () =>
    repeat(READS / 10, (index) => raw.prepare(SELECT).get((index % WRITES) + 1)),
  );
const get = () =>
  microseconds(READS, async () => {
    for (let index = 0; index < READS; index++) await db.get(SELECT, (index % WRITES) + 1);
  });

report(
  `Storage, median of ${ROUNDS} rounds, synchronous=FULL`,
  "The port adds queues and checks to the engine, and shares commits among callers that write at once.",
  [
    ...(await compareWrites("single writes, one caller", writes(1), 0.6)),
    ...(await compareWrites("single writes, 64 callers", writes(64), 4)),
    ...(await compareWrites("transactions, one caller", transactions(1), 0.6)),
    ...(await compareWrites("transactions, 64 callers", transactions(64), 4)),
    ...(await compareReads()),
  ],
);
await db.close();
raw.close();
rmSync(directory, { recursive: true });

async function compareWrites(
  label: string,
  ours: () => Promise<number>,
  aim: number,
): Promise<Figure[]> {
  const { ratio: ofRaw, a, b } = await ratio(ROUNDS, ours, rawWrites);
  return [
    { label, value: `${a.toFixed(0)} commits/s, the raw loop ${b.toFixed(0)}` },
    atLeast(`${label}, against the raw loop`, ofRaw, aim),
  ];
}

async function compareReads(): Promise<Figure[]> {
  const { a, b } = await ratio(ROUNDS, get, rawGet);
  return [
    { label: "get through the port", value: `${a.toFixed(2)} µs` },
    { label: "get, raw, prepared once", value: `${b.toFixed(2)} µs` },
    { label: "get, raw, prepared each time", value: `${(await preparedAnew()).toFixed(2)} µs` },
    atMost("what the port adds to a get", a - b, 4, "µs"),
  ];
}

/** Makes `WRITES` calls by `callers` concurrent callers, each of which awaits a call before its next one. */
async function together(callers: number, call: () => Promise<unknown>): Promise<void> {
  let left = WRITES;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

function repeat(times: number, call: (index: number) => unknown): void {
  for (let index = 0; index < times; index++) call(index);
}

async function milliseconds(run: () => unknown): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

async function perSecond(calls: number, run: () => unknown): Promise<number> {
  return (calls / (await milliseconds(run))) * 1_000;
}

async function microseconds(calls: number, run: () => unknown): Promise<number> {
  return ((await milliseconds(run)) / calls) * 1_000;
}
