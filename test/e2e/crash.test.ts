import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const ROUNDS = countKills(5);
const CLIENTS = 4;
const KILL_WITHIN_MS = 50;
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

/** The changes that the killed daemon had confirmed to its clients. */
interface Acknowledged {
  readonly users: Set<string>;
  readonly files: Set<string>;
}

test(
  "every acknowledged write survives kills, without partial changes",
  { timeout: limitOfKills(ROUNDS) },
  async () => {
    const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
    const folder = join(home, "files", "mira", "Papers");
    try {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        { home },
        PASSWORD,
      );
      await mkdir(folder, { recursive: true });
      const acknowledged: Acknowledged = { users: new Set(), files: new Set() };
      let connection: string | undefined;
      let bearer = "";
      for (let round = 0; round < ROUNDS; round += 1) {
        await using daemon = await serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off" } });
        if (connection === undefined) {
          bearer = await signIn(daemon.url, true);
          connection = await connect(daemon.url, bearer, folder);
        } else bearer = await signIn(daemon.url, false);
        const clients = Array.from({ length: CLIENTS }, (_, client) =>
          writeUntilCutOff(
            daemon.url,
            `${round}-${client}`,
            forge.token,
            bearer,
            connection ?? "",
            acknowledged,
          ),
        );
        // At a random moment after the first write.
        const before = acknowledged.files.size;
        while (acknowledged.files.size === before) await sleep(1);
        await sleep(Math.random() * KILL_WITHIN_MS);
        await daemon.end("SIGKILL");
        await Promise.all(clients);
      }
      expect(acknowledged.users.size).toBeGreaterThanOrEqual(ROUNDS);
      expect(acknowledged.files.size).toBeGreaterThanOrEqual(ROUNDS);
      checkDatabase(join(home, "croft.db"), acknowledged);

      // One more start: it must find everything, and remove the leftovers of the kills.
      await using daemon = await serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off" } });
      expect(await listUsers(daemon.url, forge.token)).toEqual(
        expect.arrayContaining([...acknowledged.users]),
      );
      expect(await readdir(folder)).toEqual(expect.arrayContaining([...acknowledged.files]));
      expect(await readdir(join(home, "tmp"))).toEqual([]);
      expect(await daemon.end("SIGTERM")).toBe(0);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
);

async function writeUntilCutOff(
  url: string,
  name: string,
  token: string,
  bearer: string,
  connection: string,
  acknowledged: Acknowledged,
): Promise<void> {
  for (let i = 0; ; i += 1) {
    try {
      const username = `u${name}-${i}`;
      const user = await fetch(`${url}/api/v1/admin/users`, {
        method: "POST",
        headers: { Authorization: `token ${token}`, "Content-Type": "application/json" },
        body: JSON.stringify({ username, email: `${username}@example.org`, password: PASSWORD }),
      });
      if (user.status === 201) acknowledged.users.add(username);
      const filename = `f${name}-${i}.txt`;
      const form = new FormData();
      form.append("filename", filename);
      form.append("file", new Blob([filename.repeat(100)]), filename);
      const upload = await fetch(`${url}/api/cloud/connections/${connection}/items/upload`, {
        method: "POST",
        headers: { Authorization: `Bearer ${bearer}` },
        body: form,
      });
      const answer = (await upload.json()) as { kind: string };
      if (answer.kind === "uploaded") acknowledged.files.add(filename);
    } catch {
      // The daemon was killed under this request: it was not acknowledged.
      return;
    }
  }
}

async function signIn(url: string, register: boolean): Promise<string> {
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  const account = { handle: "mira", email: "mira@example.org", password: PASSWORD };
  if (register) expect((await post("/api/auth/register", account)).status).toBe(201);
  const signedIn = await post("/api/auth/login", { email: account.email, password: PASSWORD });
  return ((await signedIn.json()) as { access_token: string }).access_token;
}

async function connect(url: string, bearer: string, root: string): Promise<string> {
  const made = await fetch(`${url}/api/cloud/connections`, {
    method: "POST",
    headers: { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" },
    body: JSON.stringify({
      provider: "local_folder",
      display_name: "Papers",
      settings: { root },
      credentials: {},
    }),
  });
  expect(made.status).toBe(201);
  return ((await made.json()) as { id: string }).id;
}

async function listUsers(url: string, token: string): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await fetch(`${url}/api/v1/admin/users?limit=50&page=${page}`, {
      headers: { Authorization: `token ${token}` },
    });
    const users = (await answer.json()) as { login: string; email: string }[];
    if (users.length === 0) return names;
    for (const user of users) {
      expect(user.email).toBe(
        user.login === "keeper" ? "keeper@example.org" : `${user.login}@example.org`,
      );
      names.push(user.login);
    }
  }
}

/** Checks facts that the API does not show: the file itself is intact, and each recorded item has its audit row. */
function checkDatabase(path: string, { files }: Acknowledged): void {
  const db = new Sqlite(path, { readonly: true });
  try {
    expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
    expect(db.pragma("foreign_key_check")).toEqual([]);
    const names = (sql: string) =>
      db
        .prepare<[], { name: string }>(sql)
        .all()
        .map((row) => row.name)
        .toSorted();
    const items = names("SELECT name FROM vault_items WHERE deleted_at IS NULL AND kind = 'file'");
    const audited = names(
      "SELECT json_extract(metadata, '$.filename') AS name FROM vault_audit WHERE event_type = 'cloud.file_uploaded'",
    );
    expect(items).toEqual(audited);
    expect(items).toEqual(expect.arrayContaining([...files]));
  } finally {
    db.close();
  }
}
