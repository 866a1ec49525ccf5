import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const ROUNDS = countKills(5);
const FILES = 6;
const KILL_WITHIN_MS = 120;
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

test(
  "a byte cache whose daemon is killed again and again never gives anything but the file's own bytes",
  { timeout: limitOfKills(ROUNDS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-cache-crash-"));
    const folder = join(home, "files", "mira");
    const digests = new Map<string, string>();
    try {
      await croftJson(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      let connection = "";
      for (let round = 0; round <= ROUNDS; round += 1) {
        await using daemon = await serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off" } });
        const bearer = await signIn(daemon.url, round === 0);
        if (round === 0) connection = await connect(daemon.url, bearer, folder);
        const base = `${daemon.url}/api/cloud/connections/${connection}/items`;
        // Small ones that are kept in memory first, and large ones that are written while they are read.
        for (let at = 0; at < FILES; at += 1) {
          const bytes = randomBytes(at % 2 === 0 ? 40_000 + at : 3_000_000 + at);
          const name = `${round}-${at}.bin`;
          await writeFile(join(folder, name), bytes);
          digests.set(name, digestOf(bytes));
        }
        expect((await get(`${base}?refresh=true`, bearer)).status).toBe(200);
        const reading = [...digests.keys()].map(async (name) => {
          // A download that the kill cuts off is no answer at all.
          const digest = await download(`${base}/${name}/download`, bearer).catch(() => undefined);
          if (digest !== undefined) expect([name, digest]).toEqual([name, digests.get(name)]);
        });
        if (round < ROUNDS) {
          await sleep(Math.random() * KILL_WITHIN_MS);
          await daemon.end("SIGKILL");
          await Promise.all(reading);
          continue;
        }
        await Promise.all(reading);
        expect(await daemon.end("SIGTERM")).toBe(0);
      }
      expect(await readdir(join(home, "cache", "tmp"))).toEqual([]);
      const files = (await readdir(join(home, "cache"), { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile() && entry.name !== "store-id")
        .map((entry) => entry.name);
      expect(files.sort()).toEqual(listCached(join(home, "croft.db")));
      expect(files.length).toBeGreaterThan(FILES);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function listCached(path: string): string[] {
  const db = new Sqlite(path, { readonly: true });
  try {
    const rows = db.prepare("SELECT cache_key FROM vault_cache_entries ORDER BY cache_key").all();
    return (rows as { cache_key: string }[]).map((row) => row.cache_key);
  } finally {
    db.close();
  }
}

async function download(url: string, bearer: string): Promise<string> {
  const answer = await get(url, bearer);
  if (answer.status !== 200) throw new Error(`${answer.status}`);
  return digestOf(Buffer.from(await answer.arrayBuffer()));
}

function get(url: string, bearer: string): Promise<Response> {
  return fetch(url, { headers: { Authorization: `Bearer ${bearer}` } });
}

async function signIn(url: string, isNew: boolean): Promise<string> {
  const account = { handle: "mira", email: "mira@example.org", password: PASSWORD };
  if (isNew) await post(`${url}/api/auth/register`, account);
  const { access_token: token } = (await post(`${url}/api/auth/login`, account)) as {
    access_token: string;
  };
  return token;
}

async function connect(url: string, bearer: string, root: string): Promise<string> {
  const body = { provider: "local_folder", display_name: "Files", settings: { root } };
  return ((await post(`${url}/api/cloud/connections`, body, bearer)) as { id: string }).id;
}

async function post(url: string, body: object, bearer?: string): Promise<unknown> {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
    },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
