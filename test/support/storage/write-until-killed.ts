// Writes without end and prints the number of each write once it is acknowledged; the test kills it.
import { openSqlite } from "../../../storage/engine/sqlite.ts";

const [path = "", first = "0"] = process.argv.slice(2);
const db = openSqlite({ path, clock: Date.now });
await db.run("CREATE TABLE IF NOT EXISTS debits (id INTEGER PRIMARY KEY, amount INTEGER) STRICT");
await db.run("CREATE TABLE IF NOT EXISTS credits (id INTEGER PRIMARY KEY, amount INTEGER) STRICT");

let next = Number(first);

async function writeForever(): Promise<never> {
  for (;;) {
    const id = next++;
    await db.transaction(async (tx) => {
      await tx.run("INSERT INTO debits (id, amount) VALUES (?, ?)", id, -id);
      await tx.run("INSERT INTO credits (id, amount) VALUES (?, ?)", id, id);
    });
    process.stdout.write(`${id}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, writeForever));
