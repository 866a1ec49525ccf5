import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { startS3Server } from "../stand-ins/s3-server.ts";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const ROUNDS = countKills(5);
const KILL_WITHIN_MS = 150;
const PASSWORD = "Correct-Horse-7-Battery";
const TWO_DAYS_S = 2 * 86_400;
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

/** Files by address, with the SHA-256 of the sent bytes. The outcome for a missing one is unknown. */
interface Acknowledged {
  readonly kept: Map<string, string>;
  readonly deleted: Set<string>;
}

/** Where the bytes of packages are. */
interface Keeping extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** Bytes of the larger files. */
  readonly large: number;
  list(): Promise<readonly string[]>;
  read(sha256: string): Promise<Uint8Array>;
  /** Makes all of them old enough for the sweep. */
  age(): Promise<void>;
  /** Lists unfinished uploads. */
  halves(): readonly string[];
}

test.each([
  ["on the disk", keepAsFiles],
  ["in a bucket", keepInBucket],
] as const)(
  "packages %s survive kills completely or not at all",
  { timeout: limitOfKills(ROUNDS) },
  async (_where, keep) => {
    const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
    await using keeping = await keep(home);
    const { env } = keeping;
    const serve = () =>
      serveCroft(command, {
        home,
        env: { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn", ...env },
      });
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home, env },
        PASSWORD,
      );
      const headers = { Authorization: `token ${forge.token}` };
      const acknowledged: Acknowledged = { kept: new Map(), deleted: new Set() };
      for (let round = 0; round < ROUNDS; round += 1) {
        await using daemon = await serve();
        const clients = ["a", "b", "c"].map((name) =>
          publishAndDelete(daemon.url, headers, `${name}${round}`, keeping.large, acknowledged),
        );
        const before = acknowledged.kept.size;
        while (acknowledged.kept.size === before) await sleep(1);
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await Promise.all(clients);
      }

      await using daemon = await serve();
      const rows = readRows(join(home, "croft.db"));
      for (const { sha256, size } of rows) {
        const bytes = await keeping.read(sha256);
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

      // Unfinished uploads have no references and are deleted when they are old.
      await keeping.age();
      const swept = await fetch(`${daemon.url}/api/v1/admin/cron/cleanup_packages`, {
        method: "POST",
        headers,
      });
      expect(swept.status).toBe(204);
      const wanted = new Set(rows.map(({ sha256 }) => sha256));
      await expect
        .poll(async () => (await keeping.list()).toSorted())
        .toEqual([...wanted].toSorted());
      await expect.poll(() => keeping.halves()).toEqual([]);
      const waiting = await readdir(join(home, "tmp"), { recursive: true });
      expect(waiting.filter((name) => name.includes("object-"))).toEqual([]);
      expect(await daemon.end("SIGTERM")).toBe(0);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

/** Publishes files and deletes every other one, until the daemon is killed. */
async function publishAndDelete(
  url: string,
  headers: Record<string, string>,
  name: string,
  large: number,
  { kept, deleted }: Acknowledged,
): Promise<void> {
  for (let index = 0; ; index += 1) {
    const path = `/api/packages/keeper/generic/${name}/1.0.${index}/file`;
    const bytes = randomBytes(index % 3 === 0 ? large : 2_000);
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
      // The connection was cut: the last request may or may not have taken effect.
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function keepAsFiles(home: string): Promise<Keeping> {
  const folder = join(home, "packages");
  const list = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile());
  };
  return {
    env: {},
    large: 2_000_000,
    list: async () => (await list()).map(({ name }) => name),
    read: (sha256) => readFile(join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256)),
    async age() {
      const longAgo = Date.now() / 1000 - TWO_DAYS_S;
      for (const { parentPath, name } of await list())
        await utimes(join(parentPath, name), longAgo, longAgo);
    },
    halves: () => [],
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function keepInBucket(): Promise<Keeping> {
  const server = await startS3Server();
  const { store, bucket, key } = server;
  return {
    env: {
      CROFT_OBJECTS_URL: `s3://${bucket}?endpoint=${server.origin}`,
      CROFT_OBJECTS_ACCESS_KEY_ID: key.id,
      CROFT_OBJECTS_SECRET_ACCESS_KEY: key.secret,
    },
    // Two parts.
    large: 9_000_000,
    list: async () => store.versions("objects/").map((one) => one.key.split("/")[1] ?? ""),
    async read(sha256) {
      const [found] = store.versions(`objects/${sha256}/`);
      if (found === undefined) throw new Error(`${sha256} is not in the bucket`);
      return found.version.bytes;
    },
    age: async () => store.age(TWO_DAYS_S * 1000),
    halves: () => [...store.uploads.values()].map((upload) => upload.key),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
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
