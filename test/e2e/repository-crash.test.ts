import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { createGitClient, type GitClient } from "../support/forge/git-client.ts";
import { countKills, limitOfKills } from "../support/kills.ts";

const ROUNDS = countKills(5);
const KILL_WITHIN_MS = 120;
const PUSH_ROUNDS = 4;
const limits = { timeout: limitOfKills(ROUNDS + PUSH_ROUNDS) };
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];

/** The changes that were confirmed to clients. The state of other names is unknown. */
interface Acknowledged {
  readonly made: Set<string>;
  readonly deleted: Set<string>;
  /** Branches of the repository that is pushed to. */
  readonly pushed: Set<string>;
}

test("repositories survive kills completely or not at all", limits, async () => {
  const home = await mkdtemp(join(tmpdir(), "croft-crash-"));
  await using git = await createGitClient();
  try {
    const { forge } = await croftJson<{ forge: { token: string } }>(
      command,
      ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
      { home },
      PASSWORD,
    );
    const acknowledged: Acknowledged = { made: new Set(), deleted: new Set(), pushed: new Set() };
    for (let round = 0; round < ROUNDS; round += 1) {
      await using daemon = await serve(home);
      const api = createApi(daemon.url, forge.token);
      if (round === 0) await prepare(api, git, daemon.url, forge.token);
      await git.in("work", "remote", "set-url", "origin", pushUrl(daemon.url, forge.token));
      const clients = [
        makeAndDelete(api, `a${round}`, acknowledged),
        makeAndDelete(api, `b${round}`, acknowledged),
        push(git, round, acknowledged),
      ];
      const before = acknowledged.made.size;
      while (acknowledged.made.size === before) await sleep(1);
      await sleep(Math.random() * KILL_WITHIN_MS);
      await daemon.end("SIGKILL");
      await Promise.all(clients);
    }

    // The narrowest moment: git has moved the ref, and the events are not published yet.
    const root = join(home, "repositories");
    for (let round = 0; round < PUSH_ROUNDS; round += 1) {
      await using daemon = await serve(home);
      await git.in("work", "remote", "set-url", "origin", pushUrl(daemon.url, forge.token));
      await git.in("work", "commit", "-q", "--allow-empty", "-m", `killed ${round}`);
      const pushed = git.in("work", "push", "-q", "origin", `HEAD:refs/heads/killed-${round}`);
      const ref = join(root, "keeper/pushed.git/refs/heads", `killed-${round}`);
      while (!existsSync(ref)) await setImmediate();
      await daemon.end("SIGKILL");
      await pushed;
    }

    await using daemon = await serve(home);
    await expect.poll(() => readdir(join(root, ".croft"))).toEqual([]);
    const rows = readRows(join(home, "croft.db"));
    const folders = (await readdir(join(root, "keeper"))).map((name) => name.replace(/\.git$/, ""));
    expect(folders.toSorted()).toEqual(rows.toSorted());
    for (const name of acknowledged.made)
      if (!acknowledged.deleted.has(name)) expect(rows).toContain(name);
    for (const name of acknowledged.deleted) expect(rows).not.toContain(name);
    for (const name of rows)
      expect(existsSync(join(root, "keeper", `${name}.git`, "HEAD"))).toBe(true);
    const heads = (await git.run("ls-remote", "--heads", pushUrl(daemon.url, forge.token))).output;
    for (const branch of acknowledged.pushed) expect(heads).toContain(`refs/heads/${branch}\n`);
    const moved = heads
      .trim()
      .split("\n")
      .map((line) => line.split("\t").toReversed().join(" "));
    expect(moved.length).toBeGreaterThan(PUSH_ROUNDS);
    await expect
      .poll(() => readTold(join(home, "croft.db")))
      .toEqual(expect.arrayContaining(moved));
    const pushed = join(root, "keeper", "pushed.git");
    const checked = await git.run(
      "-c",
      "safe.directory=*",
      "--git-dir",
      pushed,
      "fsck",
      "--strict",
    );
    expect(checked.exitCode).toBe(0);
    expect(await daemon.end("SIGTERM")).toBe(0);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

const serve = (home: string) =>
  serveCroft(command, { home, env: { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn" } });

const pushUrl = (url: string, token: string) =>
  `${url.replace("://", `://keeper:${token}@`)}/keeper/pushed.git`;

type Api = ReturnType<typeof createApi>;

function createApi(url: string, token: string) {
  return (method: string, path: string, json?: unknown) =>
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: { Authorization: `token ${token}`, "Content-Type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
}

async function prepare(api: Api, git: GitClient, url: string, token: string): Promise<void> {
  await api("POST", "/admin/users/keeper/repos", { name: "pushed" });
  await api("POST", "/admin/hooks", {
    type: "gitea",
    active: true,
    events: ["push"],
    config: { url: "http://127.0.0.1:9/", content_type: "json", is_system_webhook: "true" },
  });
  await git.run("init", "-q", "-b", "main", "work");
  await git.in("work", "remote", "add", "origin", pushUrl(url, token));
}

/** Creates repositories, renames some and deletes every other one, until the daemon is killed. */
async function makeAndDelete(api: Api, name: string, acknowledged: Acknowledged): Promise<void> {
  acknowledged.made.add("pushed");
  for (let index = 0; ; index += 1) {
    const repository = `${name}-${index}`;
    try {
      const fields = { name: repository, auto_init: index % 3 === 0 };
      const made = await api("POST", "/admin/users/keeper/repos", fields);
      if (made.status === 201) acknowledged.made.add(repository);
      if (index % 4 === 2) await renameOne(api, repository, acknowledged);
      if (index % 2 === 0) continue;
      const gone = await api("DELETE", `/repos/keeper/${repository}`);
      if (gone.status === 204) acknowledged.deleted.add(repository);
      else acknowledged.made.delete(repository);
    } catch {
      // The connection was cut: the last request may or may not have taken effect.
      if (index % 2 === 1) acknowledged.made.delete(repository);
      return;
    }
  }
}

async function renameOne(api: Api, name: string, { made }: Acknowledged): Promise<void> {
  // From here on it has either name.
  made.delete(name);
  const renamed = await api("PATCH", `/repos/keeper/${name}`, { name: `${name}-renamed` });
  if (renamed.status === 200) made.add(`${name}-renamed`);
}

async function push(git: GitClient, round: number, acknowledged: Acknowledged): Promise<void> {
  for (let index = 0; ; index += 1) {
    const branch = `r${round}-${index}`;
    await writeFile(join(git.folder, "work", "file"), `${branch}\n`.repeat(5_000));
    await git.in("work", "add", ".");
    await git.in("work", "commit", "-q", "-m", branch);
    const pushed = await git.in("work", "push", "-q", "origin", `HEAD:refs/heads/${branch}`);
    if (pushed.exitCode !== 0) return;
    acknowledged.pushed.add(branch);
  }
}

function readRows(path: string): string[] {
  const db = new Sqlite(path, { readonly: true });
  const rows = db.prepare("SELECT lower_name FROM forge_repositories ORDER BY id").all();
  db.close();
  return rows.map((row) => (row as { lower_name: string }).lower_name);
}

/** The refs and their targets of all pushes in delivered webhooks. */
function readTold(path: string): string[] {
  const db = new Sqlite(path, { readonly: true });
  const rows = db
    .prepare(
      `SELECT shared.payload FROM forge_hook_deliveries AS delivery
       JOIN forge_hook_payloads AS shared ON shared.id = delivery.payload_id WHERE delivery.event = 'push'`,
    )
    .all();
  db.close();
  return rows.map((row) => {
    const { ref, after } = JSON.parse((row as { payload: string }).payload);
    return `${ref} ${after}`;
  });
}
