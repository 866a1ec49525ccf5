import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";

const ROUNDS = Number(process.env["CROFT_TEST_KILLS"] ?? 12);
const KILL_WITHIN_MS = 200;
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];
const USER_AGENT = { "User-Agent": "croft-crash-test" };

/** Documents by id with the SHA-256 of what was sent; those whose last request was cut off are in neither. */
interface Acknowledged {
  readonly kept: Map<string, string>;
  readonly deleted: Set<string>;
}

test(
  "documents and quota survive kills whole or not at all",
  { timeout: Math.max(900_000, ROUNDS * 20_000) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
    const env = {
      CROFT_RATE_LIMITS: "off",
      CROFT_LOG_LEVEL: "warn",
      CROFT_BREACH_URL: "off",
      CROFT_DEFAULT_QUOTA_BYTES: "100GB",
    };
    const serve = () => serveCroft(command, { home, env });
    try {
      await croftJson(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home, env },
        PASSWORD,
      );
      const acknowledged: Acknowledged = { kept: new Map(), deleted: new Set() };
      for (let round = 0; round < ROUNDS; round += 1) {
        await using daemon = await serve();
        if (round === 0) await register(daemon.url);
        const headers = await signIn(daemon.url);
        const clients = [0, 1, 2].map(() => change(daemon.url, headers, acknowledged));
        const before = acknowledged.kept.size;
        while (acknowledged.kept.size === before) await sleep(1);
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await Promise.all(clients);
      }

      await using daemon = await serve();
      const headers = await signIn(daemon.url);
      for (const [id, sha256] of acknowledged.kept) {
        const answer = await fetch(`${daemon.url}/api/documents/${id}/content`, { headers });
        expect(answer.status, id).toBe(200);
        expect(digest(Buffer.from(await answer.arrayBuffer()))).toBe(sha256);
      }
      for (const id of acknowledged.deleted)
        expect((await fetch(`${daemon.url}/api/documents/${id}`, { headers })).status).toBe(404);
      await expect.poll(() => countUnfinished(home), { timeout: 60_000 }).toBe(0);
      expect(await daemon.end("SIGTERM")).toBe(0);
      assertConsistent(home);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

async function register(url: string): Promise<void> {
  const answer = await fetch(`${url}/api/auth/register`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ handle: "mira", email: "mira@example.org", password: PASSWORD }),
  });
  expect(answer.status).toBe(201);
}

async function signIn(url: string): Promise<Record<string, string>> {
  const answer = await fetch(`${url}/api/auth/login`, {
    method: "POST",
    headers: { ...USER_AGENT, "Content-Type": "application/json" },
    body: JSON.stringify({ email: "mira@example.org", password: PASSWORD }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return { ...USER_AGENT, Authorization: `Bearer ${token}` };
}

/** Uploads documents and deletes every other one, until the daemon is gone. */
async function change(
  url: string,
  headers: Readonly<Record<string, string>>,
  { kept, deleted }: Acknowledged,
): Promise<void> {
  for (let index = 0; ; index += 1) {
    const bytes = randomBytes(index % 3 === 0 ? 400_000 : 2_000);
    const body = new FormData();
    body.set("file", new File([bytes], `file ${index}.txt`));
    try {
      const made = await fetch(`${url}/api/documents/upload`, { method: "POST", headers, body });
      expect(made.status).toBe(201);
      const { id } = (await made.json()) as { id: string };
      if (index % 2 === 0) {
        kept.set(id, digest(bytes));
        continue;
      }
      const gone = await fetch(`${url}/api/documents/${id}`, { method: "DELETE", headers });
      if (gone.status === 200) deleted.add(id);
    } catch (error) {
      // Cut off: the last request may have been carried out or not.
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Documents whose text is still to be extracted. */
function countUnfinished(home: string): number {
  return read(home, (db) =>
    Number(
      db
        .prepare("SELECT count(*) FROM vault_documents WHERE status IN ('pending', 'processing')")
        .pluck()
        .get(),
    ),
  );
}

/** Every booked byte is a document's, every document has its object and its search entry. */
function assertConsistent(home: string): void {
  read(home, (db) => {
    const used = db
      .prepare(
        "SELECT used_bytes FROM vault_quotas q JOIN vault_users u ON u.id = q.user_id WHERE u.handle = 'mira'",
      )
      .pluck()
      .get();
    const sum = db
      .prepare("SELECT coalesce(sum(size_bytes), 0) FROM vault_documents")
      .pluck()
      .get();
    expect(used).toBe(sum);
    const rows = db
      .prepare(
        `SELECT sha256, (SELECT count(*) FROM vault_search_entries WHERE document_id = d.id) AS entries
         FROM vault_documents d`,
      )
      .all() as { sha256: string; entries: number }[];
    for (const { sha256, entries } of rows) {
      const path = join(home, "packages", sha256.slice(0, 2), sha256.slice(2, 4), sha256);
      expect(existsSync(path), sha256).toBe(true);
      expect(entries).toBe(1);
    }
  });
}

function read<T>(home: string, work: (db: Sqlite.Database) => T): T {
  const db = new Sqlite(join(home, "croft.db"), { readonly: true });
  try {
    return work(db);
  } finally {
    db.close();
  }
}
