import Database from "better-sqlite3";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createGitClient } from "../../support/forge/git-client.ts";

// Recovery after a kill: the tests create by hand the state at every point where the daemon can be killed.

let home: string;
let admin: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-killed-"));
  const daemon = await startTestDaemon({ home });
  admin = daemon.first?.forge.token ?? "";
  await post(daemon, "/admin/users", {
    username: "mira",
    email: "mira@example.org",
    password: "user-password",
    must_change_password: false,
  });
  await post(daemon, "/admin/users/mira/repos", { name: "Kept", auto_init: true });
  await daemon[Symbol.asyncDispose]();
});
afterEach(() => rm(home, { recursive: true, force: true }));

const post = (daemon: TestDaemon, path: string, json: unknown) =>
  daemon.request(`/api/v1${path}`, { token: admin, json });
const folderOf = (path: string) => join(home, "repositories", path);
const get = (daemon: TestDaemon, name: string) =>
  daemon.request(`/api/v1/repos/${name}`, { token: admin });
const refsOf = async (daemon: TestDaemon, name: string) =>
  (
    await daemon.request(`/${name}.git/info/refs?service=git-upload-pack`, {
      basic: `x:${admin}`,
    })
  ).text;

function change(...statements: readonly string[]): void {
  const db = new Database(join(home, "croft.db"));
  for (const statement of statements) db.exec(statement);
  db.close();
}

async function restarted(check: (daemon: TestDaemon) => Promise<void>): Promise<void> {
  const daemon = await startTestDaemon({ home });
  await check(daemon);
  await daemon[Symbol.asyncDispose]();
  // A second start finds nothing left to do.
  const again = await startTestDaemon({ home });
  await check(again);
  await again[Symbol.asyncDispose]();
  expect(await readdir(folderOf(".croft"))).toEqual([]);
}

test("a crash while files are created leaves no repository", async () => {
  await mkdir(folderOf(".croft/new-half"));
  await restarted(async () => expect(await readdir(folderOf(".croft"))).toEqual([]));
});

test("a crash between the row and the move is completed by moving the files", async () => {
  await rename(folderOf("mira/kept.git"), folderOf(".croft/new-1"));
  change("UPDATE forge_repositories SET path = '.croft/new-1', needs_move = 1");
  await restarted(async (daemon) => {
    expect(existsSync(folderOf("mira/kept.git/HEAD"))).toBe(true);
    expect(await refsOf(daemon, "mira/kept")).toContain("refs/heads/main");
  });
});

test("a crash between the move and its record keeps the files found", async () => {
  change("UPDATE forge_repositories SET path = '.croft/new-1', needs_move = 1");
  await restarted(async (daemon) => {
    expect((await get(daemon, "mira/kept")).status).toBe(200);
    expect(await refsOf(daemon, "mira/kept")).toContain("refs/heads/main");
  });
});

test("a crash after a recorded deletion is completed by deleting the files", async () => {
  change(
    "DELETE FROM forge_repositories",
    "INSERT INTO forge_repository_chores (kind, path) VALUES ('remove', 'mira/kept.git')",
  );
  await restarted(async (daemon) => {
    await expect.poll(() => existsSync(folderOf("mira/kept.git")), { interval: 10 }).toBe(false);
    await expect.poll(() => readdir(folderOf(".croft")), { interval: 10 }).toEqual([]);
    expect((await get(daemon, "mira/kept")).status).toBe(404);
    const listed = await daemon.request("/api/v1/admin/unadopted", { token: admin });
    expect(listed.json).toEqual([]);
  });
});

test("a crash while files are deleted is completed by deleting the rest", async () => {
  await cp(folderOf("mira/kept.git"), folderOf(".croft/gone-1"), { recursive: true });
  await restarted(async () => {
    await expect.poll(() => readdir(folderOf(".croft")), { interval: 10 }).toEqual([]);
  });
});

test("a crash after the rename of an owner is completed by moving the files", async () => {
  change(
    "UPDATE forge_users SET name = 'vera', lower_name = 'vera' WHERE lower_name = 'mira'",
    "UPDATE forge_repositories SET needs_move = 1",
    "INSERT INTO forge_repository_chores (kind, path, target) VALUES ('follow', 'mira', 'vera')",
  );
  await cp(folderOf("mira/kept.git"), folderOf("mira/stray.git"), { recursive: true });
  await restarted(async (daemon) => {
    expect(await refsOf(daemon, "vera/kept")).toContain("refs/heads/main");
    await expect.poll(() => existsSync(folderOf("vera/stray.git")), { interval: 10 }).toBe(true);
    await expect.poll(() => existsSync(folderOf("mira")), { interval: 10 }).toBe(false);
  });
});

test("a crash after the rename of a repository is completed by moving the files, and the former name redirects", async () => {
  change(
    "UPDATE forge_repositories SET name = 'Renamed', lower_name = 'renamed', needs_move = 1",
    "INSERT INTO forge_repository_redirects SELECT owner_id, 'kept', id FROM forge_repositories",
  );
  await restarted(async (daemon) => {
    expect(existsSync(folderOf("mira/kept.git"))).toBe(false);
    expect(await refsOf(daemon, "mira/renamed")).toContain("refs/heads/main");
    expect((await get(daemon, "mira/kept")).headers.get("location")).toBe(
      "/api/v1/repos/mira/Renamed",
    );
  });
});

test("a crash before HEAD was updated is completed by updating it", async () => {
  change(
    "UPDATE forge_repositories SET default_branch = 'trunk'",
    "INSERT INTO forge_repository_chores (kind, path) VALUES ('head', '.head/1'), ('head', '.head/999')",
  );
  await restarted(async (daemon) => {
    expect((await get(daemon, "mira/kept")).json.default_branch).toBe("trunk");
    expect(await readFile(folderOf("mira/kept.git/HEAD"), "utf8")).toBe("ref: refs/heads/trunk\n");
  });
});

test("a crash after the deletion of an owner is completed by deleting the folder", async () => {
  change(
    "DELETE FROM forge_repositories",
    "DELETE FROM forge_user_search WHERE user_id = 2",
    "DELETE FROM forge_users WHERE id = 2",
    "INSERT INTO forge_repository_chores (kind, path) VALUES ('remove', 'mira/kept.git'), ('remove', 'mira')",
  );
  await restarted(async () => {
    await expect.poll(() => existsSync(folderOf("mira")), { interval: 10 }).toBe(false);
    await expect.poll(() => readdir(folderOf(".croft")), { interval: 10 }).toEqual([]);
  });
});

test("files that block an interrupted move are kept, and the repository is served", async () => {
  await rename(folderOf("mira/kept.git"), folderOf(".croft/new-1"));
  await mkdir(folderOf("mira/kept.git"));
  change("UPDATE forge_repositories SET path = '.croft/new-1', needs_move = 1");
  const daemon = await startTestDaemon({ home });
  expect(await refsOf(daemon, "mira/kept")).toContain("refs/heads/main");
  expect(existsSync(folderOf("mira/kept.git"))).toBe(true);
  expect(existsSync(folderOf(".croft/new-1"))).toBe(true);
  await daemon[Symbol.asyncDispose]();
});

describe("killed while git carried out a push", () => {
  const hook = {
    type: "gitea",
    active: true,
    events: ["push", "create", "delete"],
    config: { url: "http://127.0.0.1:9/", content_type: "json", is_system_webhook: "true" },
  };

  /** Returns every delivered event with its ref and target, once there are `count`. */
  async function told(daemon: TestDaemon, count: number): Promise<string[]> {
    const [{ id }] = (await daemon.request("/api/v1/admin/hooks", { token: admin })).json;
    const list = () => daemon.request(`/api/v1/admin/hooks/${id}/deliveries`, { token: admin });
    await expect.poll(async () => (await list()).json.length, { interval: 10 }).toBe(count);
    const bodies = await Promise.all(
      (await list()).json.map(async (each: { id: number; event: string }) => {
        const path = `/api/v1/admin/hooks/${id}/deliveries/${each.id}`;
        const { body } = (await daemon.request(path, { token: admin })).json.request;
        const { ref, after } = JSON.parse(body);
        return `${each.event} ${ref} ${after ?? ""}`;
      }),
    );
    return bodies.toSorted();
  }

  async function prepared(): Promise<string> {
    const daemon = await startTestDaemon({ home });
    await post(daemon, "/admin/hooks", hook);
    await daemon[Symbol.asyncDispose]();
    return (await gitIn("rev-parse", "refs/heads/main")).trim();
  }

  async function gitIn(...args: readonly string[]): Promise<string> {
    await using git = await createGitClient();
    return (await git.run("--git-dir", folderOf("mira/kept.git"), ...args)).output;
  }

  const note = (changes: unknown, leasedUntil = Date.now() + 60_000) =>
    `INSERT INTO forge_pushes (repository_id, pusher_id, changes, created_at, leased_until)
     VALUES (1, 2, '${JSON.stringify(changes)}', 1, ${leasedUntil})`;

  function notes(): unknown[] {
    const db = new Database(join(home, "croft.db"), { readonly: true });
    const rows = db.prepare("SELECT id FROM forge_pushes").all();
    db.close();
    return rows;
  }

  test("recovery publishes refs that git has moved, also below a later push, and updates the repository", async () => {
    const first = await prepared();
    const tree = await gitIn("commit-tree", "-p", first, "-m", "second", `${first}^{tree}`);
    const second = tree.trim();
    await gitIn("update-ref", "refs/heads/main", second);
    change(
      note([{ ref: "refs/heads/main", after: first }]),
      note([
        { ref: "refs/heads/main", before: first, after: second },
        { ref: "refs/heads/gone", before: first },
        { ref: "refs/heads/refused", after: second },
      ]),
      "UPDATE forge_repositories SET is_empty = 1, branch_count = 0",
    );
    const daemon = await startTestDaemon({ home });
    expect(await told(daemon, 4)).toEqual(
      [
        "create main ",
        "delete gone ",
        `push refs/heads/main ${first}`,
        `push refs/heads/main ${second}`,
      ].toSorted(),
    );
    expect((await get(daemon, "mira/kept")).json).toMatchObject({ empty: false, branch_count: 1 });
    await expect.poll(notes, { interval: 10 }).toEqual([]);
    await daemon[Symbol.asyncDispose]();

    // Each push is in the feed exactly once, also after another start, which runs unfinished jobs.
    const again = await startTestDaemon({ home });
    const path = "/api/v1/repos/mira/kept/activities/feeds";
    const recorded = async () =>
      (await again.request(path, { token: admin })).json.map(
        (each: { op_type: string; ref_name: string; content: string }) =>
          each.content === ""
            ? `${each.op_type} ${each.ref_name}`
            : `${each.op_type} ${each.ref_name} ${JSON.parse(each.content).HeadCommit?.Sha1}`,
      );
    await expect
      .poll(async () => (await recorded()).toSorted(), { interval: 10 })
      .toEqual(
        [
          "create_repo ",
          "delete_branch refs/heads/gone",
          `commit_repo refs/heads/main ${first}`,
          `commit_repo refs/heads/main ${second}`,
        ].toSorted(),
      );
    await again[Symbol.asyncDispose]();
  });

  test("recovery publishes nothing for refs that git has not moved, and drops the push when git cannot be running", async () => {
    const head = await prepared();
    const asked = [{ ref: "refs/heads/other", after: head }];
    change(note(asked));
    const soon = await startTestDaemon({ home });
    await soon[Symbol.asyncDispose]();
    expect(notes()).toHaveLength(1);
    const later = await startTestDaemon({ home, clock: () => Date.now() + 3_600_000 });
    await expect.poll(notes, { interval: 10 }).toEqual([]);
    expect(await told(later, 0)).toEqual([]);
    await later[Symbol.asyncDispose]();
  });

  test("recovery of pushes continues despite a repository with missing files", async () => {
    const head = await prepared();
    const daemon = await startTestDaemon({ home });
    await post(daemon, "/admin/users/mira/repos", { name: "lost" });
    await daemon[Symbol.asyncDispose]();
    await rm(folderOf("mira/lost.git"), { recursive: true });
    change(
      `INSERT INTO forge_pushes (repository_id, pusher_id, changes, created_at, leased_until)
       VALUES (2, 2, '${JSON.stringify([{ ref: "refs/heads/main", after: head }])}', 1, 1)`,
      note([{ ref: "refs/heads/main", after: head }]),
    );
    const again = await startTestDaemon({ home });
    expect(await told(again, 2)).toEqual(["create main ", `push refs/heads/main ${head}`]);
    expect(notes()).toHaveLength(1);
    await again[Symbol.asyncDispose]();
  });

  test("recovery waits for a git process that outlived the daemon", async () => {
    const head = await prepared();
    change(note([{ ref: "refs/heads/late", after: head }]));
    const daemon = await startTestDaemon({ home });
    await writeFile(folderOf("mira/kept.git/refs/heads/late"), `${head}\n`);
    expect(await told(daemon, 2)).toEqual(["create late ", `push refs/heads/late ${head}`]);
    await daemon[Symbol.asyncDispose]();
  });
});
