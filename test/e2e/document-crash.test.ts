import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
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
const TWO_DAYS_S = 2 * 86_400;
/** Bytes that many documents have, so that a deletion and an upload of the same object meet. */
const COMMON = Buffer.from("the same letter again and again");

/** Documents by id with the SHA-256 of what was sent; those whose last request was cut off are in neither. */
interface Acknowledged {
  readonly kept: Map<string, string>;
  readonly deleted: Set<string>;
}

test(
  "documents and quota survive kills while uploading, classifying and deleting",
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
      const { forge } = await croftJson<{ forge: { token: string } }>(
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
        assertNothingLost(daemon.stderr());
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
      await expect.poll(() => countUnfinished(home), { timeout: 60_000 + ROUNDS * 3_000 }).toBe(0);

      await age(home);
      const cron = (task: string) =>
        fetch(`${daemon.url}/api/v1/admin/cron/${task}`, {
          method: "POST",
          headers: { Authorization: `token ${forge.token}` },
        });
      for (const task of ["reconcile_documents", "cleanup_packages"])
        expect((await cron(task)).status).toBe(204);
      await expect
        .poll(async () => [...(await listObjects(home)).keys()].toSorted(), { timeout: 30_000 })
        .toEqual(listReferences(home));
      expect(await daemon.end("SIGTERM")).toBe(0);
      assertNothingLost(daemon.stderr());
      await assertConsistent(home);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

/** Reconciliation runs at every start and says what it had to set right. */
function assertNothingLost(log: string): void {
  expect(log).not.toContain("corrected quota bookings");
  expect(log).not.toContain("documents without bytes");
}

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

/** Uploads documents by form and by address, classifies some and deletes others, until the daemon is gone. */
async function change(
  url: string,
  headers: Readonly<Record<string, string>>,
  { kept, deleted }: Acknowledged,
): Promise<void> {
  for (let index = 0; ; index += 1) {
    const bytes = index % 5 === 4 ? COMMON : randomBytes(index % 3 === 0 ? 400_000 : 2_000);
    try {
      const id = await (index % 4 === 2 ? uploadByAddress : uploadByForm)(url, headers, bytes);
      if (index % 3 === 2) {
        const classified = await fetch(`${url}/api/documents/${id}/classify`, {
          method: "POST",
          headers,
        });
        expect(classified.status).toBe(202);
      }
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

type Upload = (
  url: string,
  headers: Readonly<Record<string, string>>,
  bytes: Buffer<ArrayBuffer>,
) => Promise<string>;

const uploadByForm: Upload = async (url, headers, bytes) => {
  const body = new FormData();
  body.set("file", new File([bytes], "file.txt"));
  const made = await fetch(`${url}/api/documents/upload`, { method: "POST", headers, body });
  expect(made.status).toBe(201);
  return ((await made.json()) as { id: string }).id;
};

const uploadByAddress: Upload = async (url, headers, bytes) => {
  const promised = await fetch(`${url}/api/documents/upload-url`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify({
      filename: "sent.txt",
      content_type: "text/plain",
      size_bytes: bytes.byteLength,
    }),
  });
  expect(promised.status).toBe(201);
  const { document_id: id, upload_url: address } = (await promised.json()) as {
    document_id: string;
    upload_url: string;
  };
  const sent = await fetch(url + new URL(address).pathname, {
    method: "PUT",
    headers: { "Content-Type": "text/plain" },
    body: bytes,
  });
  expect(sent.status).toBe(204);
  const confirmed = await fetch(`${url}/api/documents/${id}/confirm`, { method: "POST", headers });
  expect(confirmed.status).toBe(200);
  return id;
};

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

/** Files of the object store by SHA-256. */
async function listObjects(home: string): Promise<Map<string, string>> {
  const entries = await readdir(join(home, "packages"), { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => [name, join(parentPath, name)]),
  );
}

/** Makes all objects as old as those that the sweep takes. */
async function age(home: string): Promise<void> {
  const longAgo = Date.now() / 1000 - TWO_DAYS_S;
  for (const path of (await listObjects(home)).values()) await utimes(path, longAgo, longAgo);
}

/** The SHA-256 of every object that a row names, sorted. */
function listReferences(home: string): string[] {
  return read(home, (db) =>
    db
      .prepare(
        `SELECT sha256 FROM vault_documents
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
      expect(objects.has(sha256), sha256).toBe(true);
      expect(entries).toBe(1);
    }
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
