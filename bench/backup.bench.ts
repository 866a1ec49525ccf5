import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import Sqlite from "better-sqlite3";
import { built, makeHome } from "./daemon.ts";
import { atMost, findProgram, median, report, startChild } from "./measure.ts";
import type { Figure } from "./results.ts";

// Backups of a large home under write load, against `sqlite3 .backup` and `cp` of the same home under the same load, and the
// writes meanwhile against writes on an idle machine. CROFT_BENCH_BACKUP_PART=0.1 takes a tenth of the home,
// CROFT_BENCH_BACKUP_ROUNDS=1 one round instead of three.

const PART = Number(process.env["CROFT_BENCH_BACKUP_PART"] ?? 1);
const GIB = 1024 ** 3;
const ROWS_BYTES = GIB * PART;
const OBJECTS_BYTES = 5 * GIB * PART;
const ROW_BYTES = 500;
const OBJECT_BYTES = 2 * 1024 ** 2;
const ROUNDS = Number(process.env["CROFT_BENCH_BACKUP_ROUNDS"] ?? 3);
/** One write every so often, whatever the last one took: a load that does not slow down with the daemon. */
const WRITE_EVERY_MS = 20;
const IDLE_MS = 20_000;

const run = promisify(execFile);
const sqlite3 = await findProgram("sqlite3");
const scratch = await mkdtemp(join(process.env["CROFT_BENCH_DISK"] ?? tmpdir(), "croft-backup-"));

try {
  await using home = await makeHome();
  await fill(home.home);
  await using daemon = await home.serve();
  const sink = await startChild(process.execPath, [
    "--import",
    "tsx",
    join(import.meta.dirname, "s3-sink.ts"),
  ]);
  const bucketAddress = `s3://sink/homes?endpoint=${sink.line}`;
  const write = () => patch(daemon.url, home.token);
  try {
    const idle = await underWrites(write, () => sleep(IDLE_MS));
    const figures: Figure[] = [
      { label: "writes on an idle machine, p50 and p99", value: toText(idle.waits) },
    ];
    const file = join(scratch, "home.tar");
    const copy = join(scratch, "copy");
    const croft = (...args: string[]) =>
      run(process.execPath, [...built.slice(1), "daemon", "backup", ...args], {
        env: {
          ...process.env,
          CROFT_HOME: home.home,
          CROFT_BACKUP_ACCESS_KEY_ID: "id",
          CROFT_BACKUP_SECRET_ACCESS_KEY: "secret",
        },
      });
    const ours: Measured[] = [];
    const theirs: Measured[] = [];
    const bucket: Measured[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      ours.push(await underWrites(write, () => croft(file)));
      if (round === 0) {
        const { size } = await stat(file);
        if (size < ROWS_BYTES + OBJECTS_BYTES) throw new Error(`the backup has ${size} bytes`);
      }
      await rm(file);
      if (sqlite3 !== undefined) {
        theirs.push(await underWrites(write, () => copyPlain(sqlite3, home.home, copy)));
        await rm(copy, { recursive: true });
      }
      bucket.push(await underWrites(write, () => croft("--to", bucketAddress)));
    }
    const seconds = (all: readonly Measured[]) => median(all.map(({ ms }) => ms)) / 1000;
    figures.push(
      { label: "backup to a file", value: `${seconds(ours).toFixed(1)} s` },
      {
        label: "p50 and p99 of writes meanwhile",
        value: toText(ours.flatMap(({ waits }) => waits)),
      },
      { label: "backup to a bucket that keeps nothing", value: `${seconds(bucket).toFixed(1)} s` },
      {
        label: "p50 and p99 of writes meanwhile",
        value: toText(bucket.flatMap(({ waits }) => waits)),
      },
    );
    if (theirs.length > 0)
      figures.push(
        { label: "sqlite3 .backup and cp", value: `${seconds(theirs).toFixed(1)} s` },
        {
          label: "p50 and p99 of writes meanwhile",
          value: toText(theirs.flatMap(({ waits }) => waits)),
        },
        atMost("time of the backup against both", median(pairs(ours, theirs)), 2, ""),
      );
    const p99 = (all: readonly Measured[]) => median(all.map(({ waits }) => at(waits, 0.99)));
    figures.push(
      atMost(
        "p99 of writes during a backup to a file against idle",
        p99(ours) / at(idle.waits, 0.99),
        2,
        "",
      ),
      atMost(
        "p99 during a backup to a bucket against idle",
        p99(bucket) / at(idle.waits, 0.99),
        2,
        "",
      ),
    );
    report(
      `Backup of ${(ROWS_BYTES / GIB).toFixed(1)} GiB of rows and ${(OBJECTS_BYTES / GIB).toFixed(1)} GiB of objects`,
      "A backup reads and writes each byte once like the copy, and adds hashes; people who work meanwhile should hardly notice.",
      figures,
    );
  } finally {
    await sink.stop();
  }
} finally {
  await rm(scratch, { recursive: true, force: true });
}

interface Measured {
  readonly ms: number;
  /** Milliseconds that each write took. */
  readonly waits: readonly number[];
}

/** Fills a stopped home: a table of random rows, and objects of random bytes. */
async function fill(home: string): Promise<void> {
  const db = new Sqlite(join(home, "croft.db"));
  db.exec("CREATE TABLE bench_rows (id INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT");
  const insert = db.prepare("INSERT INTO bench_rows (value) VALUES (?)");
  const insertMany = db.transaction((count: number) => {
    for (let at = 0; at < count; at += 1) insert.run(randomBytes(ROW_BYTES));
  });
  for (let left = Math.ceil(ROWS_BYTES / ROW_BYTES); left > 0; left -= 20_000)
    insertMany(Math.min(left, 20_000));
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  const folder = join(home, "packages", "be", "nc");
  await mkdir(folder, { recursive: true });
  const bytes = randomBytes(OBJECT_BYTES);
  for (let at = 0; at * OBJECT_BYTES < OBJECTS_BYTES; at += 1) {
    bytes.writeUInt32BE(at);
    await writeFile(join(folder, String(at).padStart(64, "0")), bytes);
  }
  await run("sync");
}

async function patch(url: string, token: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/user/settings`, {
    method: "PATCH",
    headers: { authorization: `token ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ description: `written at ${performance.now()}` }),
  });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`a write was answered with ${response.status}`);
}

/** Writes at a constant rate while `work` runs. */
async function underWrites(
  write: () => Promise<void>,
  work: () => Promise<unknown>,
): Promise<Measured> {
  const waits: number[] = [];
  const running = new Set<Promise<void>>();
  let failure: unknown;
  const timer = setInterval(() => {
    const begun = performance.now();
    const one = write()
      .then(() => void waits.push(performance.now() - begun))
      .catch((error: unknown) => void (failure ??= error))
      .finally(() => running.delete(one));
    running.add(one);
  }, WRITE_EVERY_MS);
  const begun = performance.now();
  await work().finally(() => clearInterval(timer));
  const ms = performance.now() - begun;
  await Promise.all(running);
  if (failure !== undefined) throw failure;
  return { ms, waits };
}

async function copyPlain(program: string, home: string, to: string): Promise<void> {
  await mkdir(to);
  // Without an open read each commit of the daemon would restart the copy, and it would never end.
  const pin = "BEGIN; SELECT count(*) FROM sqlite_schema;";
  await run(program, [join(home, "croft.db"), pin, `.backup ${join(to, "croft.db")}`]);
  for (const folder of ["objects", "packages", "repositories", "outbox", "files"])
    await run("cp", ["-r", join(home, folder), to]).catch((error: Error) => {
      if (!/No such file/.test(error.message)) throw error;
    });
  // A backup promises that its bytes are on the disk, so the copy is synced too.
  await run("sync", ["-f", to]);
}

function pairs(ours: readonly Measured[], theirs: readonly Measured[]): number[] {
  return ours.map(({ ms }, round) => ms / (theirs[round]?.ms ?? Number.NaN));
}

function at(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function toText(waits: readonly number[]): string {
  return `${at(waits, 0.5).toFixed(1)} and ${at(waits, 0.99).toFixed(1)} ms (${waits.length} writes)`;
}
