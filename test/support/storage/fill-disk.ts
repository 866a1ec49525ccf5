// Run on a small file system: fills it with a database, makes room again, and prints the result of every write.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StorageError } from "../../../storage/engine/database.ts";
import { openSqlite } from "../../../storage/engine/sqlite.ts";

const [directory = ""] = process.argv.slice(2);
const ballast = join(directory, "ballast");
writeFileSync(ballast, Buffer.alloc(512 * 1024));

const db = openSqlite({ path: join(directory, "croft.db"), clock: Date.now });
await db.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT");

const acknowledged: number[] = [];
const codes = new Set<string>();
let refused = 0;

async function write(id: number): Promise<void> {
  const text = "x".repeat(10_000);
  const sql = "INSERT INTO notes (id, text) VALUES (?, ?) RETURNING id";
  try {
    if (id % 3 === 0) await db.run(sql, id, text);
    else if (id % 3 === 1) await db.get(sql, id, text);
    else await db.transaction((tx) => tx.run(sql, id, text));
    acknowledged.push(id);
  } catch (error) {
    refused++;
    codes.add(error instanceof StorageError ? error.code : String(error));
  }
}

const waitingTogether = 7;
for (let id = 0; refused < 3 * waitingTogether; id += waitingTogether)
  await Promise.all(Array.from({ length: waitingTogether }, (_, index) => write(id + index)));

const stored = await db.all<{ id: number }>("SELECT id FROM notes ORDER BY id");
const readable = JSON.stringify(stored.map((row) => row.id)) === JSON.stringify(acknowledged);
rmSync(ballast);
const afterRoom = acknowledged.length;
await write(1_000_000);
await Promise.all([write(1_000_001), write(1_000_002)]);
const problems = await db.integrityCheck();
await db.close();
process.stdout.write(
  JSON.stringify({
    codes: [...codes],
    allAcknowledgedStored: readable,
    acknowledged: afterRoom,
    worksAgain: acknowledged.length - afterRoom,
    problems,
  }),
);
