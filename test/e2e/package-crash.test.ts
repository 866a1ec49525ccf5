import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";

const ROUNDS = 10;
const KILL_WITHIN_MS = 150;
const PASSWORD = "Correct-Horse-7-Battery";
const TWO_DAYS_S = 2 * 86_400;
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

/** Files by address, with the SHA-256 of what was sent. A missing one was neither kept nor deleted for sure. */
interface Acknowledged {
  readonly kept: Map<string, string>;
  readonly deleted: Set<string>;
}

test("packages survive kills whole or not at all", { timeout: 300_000 }, async () => {
  const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
  try {
    const { forge } = await croftJson<{ forge: { token: string } }>(
      command,
      ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
      { home },
      PASSWORD,
    );
    const headers = { Authorization: `token ${forge.token}` };
    const acknowledged: Acknowledged = { kept: new Map(), deleted: new Set() };
    for (let round = 0; round < ROUNDS; round += 1) {
      await using daemon = await serve(home);
      const clients = ["a", "b", "c"].map((name) =>
        publishAndDelete(daemon.url, headers, `${name}${round}`, acknowledged),
      );
      const before = acknowledged.kept.size;
      while (acknowledged.kept.size === before) await sleep(1);
      await sleep(Math.random() * KILL_WITHIN_MS);
      await daemon.end("SIGKILL");
      await Promise.all(clients);
    }

    await using daemon = await serve(home);
    const folder = join(home, "packages");
    const rows = readRows(join(home, "croft.db"));
    for (const { sha256, size } of rows) {
      const bytes = await readFile(objectAt(folder, sha256));
      expect([bytes.byteLength, digest(bytes)]).toEqual([size, sha256]);
    }
    for (const [path, sha256] of acknowledged.kept) {
      const answer = await fetch(daemon.url + path, { headers });
      expect(answer.status, path).toBe(200);
      expect(digest(Buffer.from(await answer.arrayBuffer()))).toBe(sha256);
    }
    for (const path of acknowledged.deleted)
      expect((await fetch(daemon.url + path, { headers })).status, path).toBe(404);
    // Nothing is half in: every version has its file.
    expect(readVersionsWithoutFiles(join(home, "croft.db"))).toEqual([]);

    // What was on its way in belongs to nobody, and goes when it is old.
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const longAgo = Date.now() / 1000 - TWO_DAYS_S;
    for (const file of files.filter((entry) => entry.isFile()))
      await utimes(join(file.parentPath, file.name), longAgo, longAgo);
    const swept = await fetch(`${daemon.url}/api/v1/admin/cron/cleanup_packages`, {
      method: "POST",
      headers,
    });
    expect(swept.status).toBe(204);
    const wanted = new Set(rows.map(({ sha256 }) => sha256));
    await expect
      .poll(() => listObjects(folder), { timeout: 20_000 })
      .toEqual([...wanted].toSorted());
    const waiting = await readdir(join(home, "tmp"), { recursive: true });
    expect(waiting.filter((name) => name.includes("object-"))).toEqual([]);
    expect(await daemon.end("SIGTERM")).toBe(0);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

const serve = (home: string) =>
  serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn" } });

/** Publishes files and deletes every other one, until the daemon is gone. */
async function publishAndDelete(
  url: string,
  headers: Record<string, string>,
  name: string,
  { kept, deleted }: Acknowledged,
): Promise<void> {
  for (let index = 0; ; index += 1) {
    const path = `/api/packages/keeper/generic/${name}/1.0.${index}/file`;
    const bytes = randomBytes(index % 3 === 0 ? 2_000_000 : 2_000);
    try {
      const made = await fetch(url + path, { method: "PUT", headers, body: bytes });
      expect(made.status).toBe(201);
      if (index % 2 === 0) {
        kept.set(path, digest(bytes));
        continue;
      }
      const gone = await fetch(url + path, { method: "DELETE", headers });
      if (gone.status === 204) deleted.add(path);
    } catch (error) {
      // Cut off: what was asked for last may have happened or not.
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const objectAt = (folder: string, sha256: string) =>
  join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256);

async function listObjects(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();
}

function readRows(path: string): { readonly sha256: string; readonly size: number }[] {
  return query(path, "SELECT DISTINCT sha256, size FROM forge_package_files");
}

function readVersionsWithoutFiles(path: string): unknown[] {
  return query(
    path,
    `SELECT v.id FROM forge_package_versions v
     WHERE NOT EXISTS (SELECT 1 FROM forge_package_files f WHERE f.version_id = v.id)`,
  );
}

function query<T>(path: string, sql: string): T[] {
  const db = new Sqlite(path, { readonly: true });
  const rows = db.prepare(sql).all() as T[];
  db.close();
  return rows;
}
