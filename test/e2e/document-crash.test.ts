import { mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";
import {
  type Acknowledged,
  changeAccounts,
  changeDocuments,
  changeStored,
  connect,
  digest,
  type FlakyDav,
  PASSWORD,
  register,
  request,
  signIn,
  startFlakyDav,
} from "./document-mix.ts";

const ROUNDS = countKills(5);
const KILL_WITHIN_MS = 200;
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];
const TWO_DAYS_MS = 2 * 86_400_000;

test(
  "documents, versions, trash, shares, accounts and quota survive kills while uploading, replacing, restoring and deleting",
  { timeout: limitOfKills(ROUNDS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
    const env = {
      CROFT_RATE_LIMITS: "off",
      CROFT_LOG_LEVEL: "warn",
      CROFT_BREACH_URL: "off",
      CROFT_DEFAULT_QUOTA_BYTES: "100GB",
    };
    const serve = () => serveCroft(command, { home, env });
    await using storage = await startFlakyDav();
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home, env },
        PASSWORD,
      );
      const seen: Acknowledged = {
        kept: new Map(),
        stored: new Map(),
        deleted: new Set(),
        accounts: new Set(),
        counts: { uploads: 0, asked: 0, deletions: 0, failures: 0, own: 0 },
      };
      for (let round = 0; round < ROUNDS; round += 1) {
        await using daemon = await serve();
        if (round === 0) {
          for (const handle of ["mira", "noor"]) await register(daemon.url, handle);
          await connect(daemon.url, await signIn(daemon.url, "noor"), storage.origin);
        }
        const headers = await signIn(daemon.url, "mira");
        const clients = [
          changeDocuments(daemon.url, headers, seen),
          changeDocuments(daemon.url, headers, seen),
          changeStored(daemon.url, seen),
          changeAccounts(daemon.url, headers, seen, round),
        ];
        // Kinds of deletions take turns: each is under way at some of the kills.
        const count = () =>
          [seen.counts.own, seen.accounts.size, seen.counts.deletions][round % 3] ?? 0;
        const before = count();
        while (count() === before) await sleep(1);
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await Promise.all(clients);
        assertNothingLost(daemon.stderr());
      }
      process.stdout.write(
        `${ROUNDS} kills: ${JSON.stringify({ ...seen.counts, accounts: seen.accounts.size })}\n`,
      );
      // A third of the steps at least.
      expect(seen.counts.asked * 2).toBeGreaterThanOrEqual(seen.counts.uploads);

      storage.isFlaky = false;
      {
        await using daemon = await serve();
        await assertAcknowledged(daemon.url, seen);
        await finishDeletions(home, daemon.url, seen);
        await expect
          .poll(() => countUnfinished(home), { timeout: 60_000 + ROUNDS * 3_000 })
          .toBe(0);
        expect(await daemon.end("SIGTERM")).toBe(0);
        assertNothingLost(daemon.stderr());
      }

      await age(home);
      await using daemon = await serve();
      const cron = (task: string) =>
        fetch(`${daemon.url}/api/v1/admin/cron/${task}`, {
          method: "POST",
          headers: { Authorization: `token ${forge.token}` },
        });
      for (const task of ["reconcile_documents", "cleanup_packages"])
        expect((await cron(task)).status).toBe(204);
      await expect
        .poll(async () => [...(await listObjects(home)).keys()].toSorted(), { timeout: 60_000 })
        .toEqual(listReferences(home));
      await expect
        .poll(() => listStored(storage), { timeout: 60_000 })
        .toEqual([...seen.stored.values()].toSorted());
      expect(await daemon.end("SIGTERM")).toBe(0);
      assertNothingLost(daemon.stderr());
      await assertConsistent(home);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

/** Asserts that everything acknowledged to a client holds. */
async function assertAcknowledged(url: string, seen: Acknowledged): Promise<void> {
  for (const [handle, documents] of [
    ["mira", seen.kept],
    ["noor", seen.stored],
  ] as const) {
    const headers = await signIn(url, handle);
    for (const [id, sha256] of documents) {
      const answer = await fetch(`${url}/api/documents/${id}/content`, { headers });
      expect(answer.status, `${handle} ${id}`).toBe(200);
      expect(digest(Buffer.from(await answer.arrayBuffer()))).toBe(sha256);
    }
    for (const id of seen.deleted)
      expect((await request(url, `/api/documents/${id}`, { headers })).status).toBe(404);
  }
  for (const email of seen.accounts) {
    const json = { email, password: PASSWORD };
    expect((await request(url, "/api/auth/login", { json })).status, email).toBe(401);
  }
}

/** Deletes the documents of connected storage whose deletion failed or was cut off; it can be repeated until it succeeds. */
async function finishDeletions(home: string, url: string, seen: Acknowledged): Promise<void> {
  const headers = await signIn(url, "noor");
  const rows = read(home, (db) =>
    db.prepare("SELECT id FROM vault_documents WHERE storage_backend = 'webdav'").pluck().all(),
  ) as string[];
  for (const id of rows.filter((each) => !seen.stored.has(each))) {
    const path = `/api/documents/${id}`;
    expect(await request(url, path, { method: "DELETE", headers })).toMatchObject({
      status: 200,
      body: { success: true },
    });
  }
}

/** The SHA-256 of every file at the provider, sorted. */
function listStored({ dav: { store } }: FlakyDav): string[] {
  return store
    .all(store.root)
    .filter(({ kind }) => kind === "file")
    .map(({ bytes }) => digest(bytes))
    .toSorted();
}

/** Reconciliation runs at every start and logs its corrections. */
function assertNothingLost(log: string): void {
  expect(log).not.toContain("corrected quota bookings");
  expect(log).not.toContain("documents without bytes");
}

/** Documents whose text is still to be extracted. */
function countUnfinished(home: string): number {
  return read(home, (db) =>
    Number(
      db
        .prepare(`SELECT count(*) FROM vault_documents
           WHERE status IN ('pending', 'processing') AND trashed_at IS NULL`)
        .pluck()
        .get(),
    ),
  );
}

/** Files of the object store by SHA-256. */
async function listObjects(home: string): Promise<Map<string, string>> {
  const entries = await readdir(join(home, "packages"), { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => [name, join(parentPath, name)]),
  );
}

/** Makes objects and unfinished writes as old as those that the sweeps take. The daemon must not run. */
async function age(home: string): Promise<void> {
  const longAgo = (Date.now() - TWO_DAYS_MS) / 1000;
  for (const path of (await listObjects(home)).values()) await utimes(path, longAgo, longAgo);
  const db = new Sqlite(join(home, "croft.db"));
  try {
    db.prepare("UPDATE vault_stored_file_writes SET created_at = created_at - ?").run(TWO_DAYS_MS);
  } finally {
    db.close();
  }
}

/** The SHA-256 of every object that a row names, sorted. */
function listReferences(home: string): string[] {
  return read(home, (db) =>
    db
      .prepare(
        `SELECT sha256 FROM vault_documents WHERE storage_backend = 'internal'
         UNION SELECT sha256 FROM vault_document_versions
         UNION SELECT object_sha256 FROM vault_document_uploads WHERE object_sha256 IS NOT NULL ORDER BY 1`,
      )
      .pluck()
      .all(),
  ) as string[];
}

/** Every booked byte is a document's, every document has its whole object and its search entry, nothing is half stored. */
async function assertConsistent(home: string): Promise<void> {
  const objects = await listObjects(home);
  for (const [sha256, path] of objects) expect(digest(await readFile(path))).toBe(sha256);
  read(home, (db) => {
    const wrong = db
      .prepare(
        `SELECT user_id, used_bytes, (SELECT coalesce(sum(d.size_bytes +
             (SELECT coalesce(sum(size_bytes), 0) FROM vault_document_versions WHERE document_id = d.id)), 0)
           FROM vault_documents d
           WHERE d.user_id = q.user_id AND d.storage_backend = 'internal' AND d.trashed_at IS NULL) AS sum
         FROM vault_quotas q WHERE used_bytes <> sum`,
      )
      .all();
    expect(wrong).toEqual([]);
    const rows = db
      .prepare(
        `SELECT sha256, storage_backend AS backend, trashed_at IS NULL AS live,
           (SELECT count(*) FROM vault_search_entries WHERE document_id = d.id) AS entries
         FROM vault_documents d`,
      )
      .all() as { sha256: string; backend: string; live: number; entries: number }[];
    for (const { sha256, backend, live, entries } of rows) {
      if (backend === "internal") expect(objects.has(sha256), sha256).toBe(true);
      expect(entries).toBe(live);
    }
    const count = (sql: string) => Number(db.prepare(`SELECT count(*) FROM ${sql}`).pluck().get());
    const versions = db.prepare("SELECT sha256 FROM vault_document_versions").pluck().all();
    for (const sha256 of versions as string[]) expect(objects.has(sha256), sha256).toBe(true);
    const liveCount = rows.filter(({ live }) => live === 1).length;
    expect(count("vault_search_entries WHERE document_id IS NOT NULL")).toBe(liveCount);
    expect(count("vault_stored_file_writes")).toBe(0);
    // Only the accounts that were never deleted, or whose deletion was cut off before it was recorded.
    for (const table of ["vault_documents", "vault_quotas", "vault_connections"])
      expect(count(`${table} WHERE user_id NOT IN (SELECT id FROM vault_users)`), table).toBe(0);
    expect(count("vault_shares WHERE document_id NOT IN (SELECT id FROM vault_documents)")).toBe(0);
    expect(
      count(
        `jobs WHERE kind = 'vault.documents.process'
         AND json_extract(payload, '$.document_id') NOT IN (SELECT id FROM vault_documents)`,
      ),
    ).toBe(0);
    expect(db.pragma("foreign_key_check")).toEqual([]);
    expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  });
  const waiting = await readdir(join(home, "tmp"), { recursive: true });
  expect(waiting.filter((name) => /^(?:object|extract)-/.test(name))).toEqual([]);
}

function read<T>(home: string, work: (db: Sqlite.Database) => T): T {
  const db = new Sqlite(join(home, "croft.db"), { readonly: true });
  try {
    return work(db);
  } finally {
    db.close();
  }
}
