import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../../storage/engine/sqlite.ts";

const script = join(import.meta.dirname, "../support/storage/write-until-killed.ts");

/** Lets a process write from `first` on and kills it after `writes` acknowledgements; gives the acknowledged ids. */
async function writeAndKill(path: string, first: number, writes: number): Promise<number[]> {
  const child = spawn(process.execPath, [script, path, String(first)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const acknowledged: number[] = [];
  for await (const line of createInterface(child.stdout)) {
    acknowledged.push(Number(line));
    if (acknowledged.length === writes) child.kill("SIGKILL");
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return acknowledged;
}

test("after SIGKILL every acknowledged write is complete and no write is partial, five times over", async () => {
  const directory = mkdtempSync(join(tmpdir(), "croft-crash-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "croft.db");
  let first = 1;
  for (const writes of [1, 20, 55, 90, 200]) {
    const acknowledged = await writeAndKill(path, first, writes);
    expect(acknowledged.length).toBeGreaterThanOrEqual(writes);
    const db = openSqlite({ path, clock: () => 0 });
    const debits = await db.all<{ id: number }>("SELECT id FROM debits");
    const credits = await db.all<{ id: number }>("SELECT id FROM credits");
    const problems = await db.integrityCheck();
    await db.close();
    const stored = new Set(debits.map((row) => row.id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(new Set(credits.map((row) => row.id))).toEqual(stored);
    expect(problems).toEqual([]);
    first = Math.max(0, ...stored) + 1;
  }
});
