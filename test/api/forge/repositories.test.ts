import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape, omittedOfRepository } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

const omitted = [...omittedOfRepository, "repo_transfer"];

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { api } = people;
let mira: string;
let nora: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  mira = people.tokenOf(await people.newUser("mira"));
  nora = people.tokenOf(await people.newUser("Nora"));
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const create = (json: object, owner = "mira") => api("POST", `/admin/users/${owner}/repos`, json);
const folderOf = (path: string) => join(daemon.home, "repositories", path);

describe("creating", () => {
  test("an empty repository has the documented shape and a folder", async () => {
    const answer = await create({ name: "Empty", description: "Nothing yet" });
    expect(answer.status).toBe(201);
    expectWireShape("Repository", answer.json, omitted);
    expect(answer.json).toMatchObject({
      name: "Empty",
      full_name: "mira/Empty",
      description: "Nothing yet",
      empty: true,
      private: false,
      branch_count: 0,
      default_branch: "main",
      object_format_name: "sha1",
      watchers_count: 1,
      clone_url: `${daemon.url}/mira/Empty.git`,
      ssh_url: expect.stringMatching(/^ssh:\/\/git@127\.0\.0\.1:\d+\/mira\/Empty\.git$/),
      url: `${daemon.url}/api/v1/repos/mira/Empty`,
      permissions: { admin: true, push: true, pull: true },
      owner: { login: "mira", email: "mira@example.org", active: false, is_admin: false },
      archived_at: "1970-01-01T00:00:00Z",
      licenses: [],
    });
    expect(existsSync(folderOf("mira/empty.git/HEAD"))).toBe(true);
    expect(existsSync(folderOf("mira/empty.git/hooks"))).toBe(false);
    expect(await readdir(folderOf(".croft"))).toEqual([]);
  });

  test("auto_init writes one commit with the requested files, by the administrator", async () => {
    const answer = await create({
      name: "full",
      description: "All of it",
      auto_init: true,
      gitignores: "Node, Go",
      license: "MIT",
      default_branch: "trunk",
      object_format_name: "sha256",
      issue_labels: "Default",
      private: true,
      template: true,
    });
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({
      empty: false,
      private: true,
      template: true,
      has_actions: false,
      branch_count: 1,
      size: expect.toSatisfy((kib: number) => kib > 0, "what the first commit takes"),
      default_branch: "trunk",
      object_format_name: "sha256",
      licenses: ["MIT"],
    });
    const show = async (...args: string[]) => {
      const directory = `--git-dir=${folderOf("mira/full.git")}`;
      return (await git.run("-c", "safe.directory=*", directory, ...args)).output;
    };
    expect(await show("log", "--all", "--format=%an|%ae|%s|%D")).toBe(
      "keeper|keeper@croft.localhost|Initial commit|HEAD -> trunk\n",
    );
    expect(await show("show", "trunk:README.md")).toBe("# full\n\nAll of it");
    const ignored = await show("show", "trunk:.gitignore");
    expect(ignored).toMatch(/^# ---> Node\n[^]+\n\n# ---> Go\n/);
    expect(await show("show", "trunk:LICENSE")).toMatch(/Copyright \(c\) \d{4} mira/);
  });

  test.each([
    [{ name: "Empty" }, 409, "The repository with the same name already exists."],
    [{ name: "eMPTY" }, 409, "The repository with the same name already exists."],
    [{}, 422, "[Name]: Required"],
    [{ name: "a b" }, 422, "[Name]: AlphaDashDot"],
    [{ name: "../x" }, 422, "[Name]: AlphaDashDot"],
    [{ name: "a".repeat(101) }, 422, "[Name]: MaxSize"],
    [
      { name: "a..b" },
      422,
      "name is invalid [a..b]: must be valid alpha or numeric or dash(-_) or dot characters",
    ],
    [{ name: ".." }, 422, "name is reserved [name: ..]"],
    [{ name: "-" }, 422, "name is reserved [name: -]"],
    [{ name: "X.Git" }, 422, "name pattern is not allowed [pattern: *.git]"],
    [{ name: "ok", default_branch: "a..b" }, 422, "[DefaultBranch]: GitRefName"],
    [{ name: "ok", default_branch: "--help" }, 422, "[DefaultBranch]: GitRefName"],
    [{ name: "ok", description: "x".repeat(2049) }, 422, "[Description]: MaxSize"],
    [{ name: "ok", object_format_name: "md5" }, 422, 'unknown object format "md5": sha1 or sha256'],
    [
      { name: "ok", issue_labels: "nope" },
      422,
      'failed to load label template file "nope": label template "nope" not found',
    ],
    [
      { name: "ok", auto_init: true, readme: "Fancy" },
      400,
      "readme template does not exist, available templates: [Default]",
    ],
    [
      { name: "ok", auto_init: true, gitignores: "Nope" },
      422,
      'gitignore template "Nope" not found',
    ],
    [
      { name: "ok", auto_init: true, license: "../MIT" },
      422,
      'license template "../MIT" not found',
    ],
  ])("creating a repository with %j is %i and leaves no files", async (json, status, message) => {
    expect(await create(json)).toMatchObject({ status, json: { message } });
    expect(existsSync(folderOf("mira/ok.git"))).toBe(false);
    expect(await readdir(folderOf(".croft"))).toEqual([]);
  });

  test("a repository can have a name that resembles a reserved one", async () => {
    for (const name of ["-1_.", ".profile"]) expect((await create({ name })).status).toBe(201);
  });

  test("of many concurrent creations of a repository exactly one succeeds", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => create({ name: index % 2 ? "Race" : "race" })),
    );
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, ...Array(7).fill(409)]);
    expect(await readdir(folderOf(".croft"))).toEqual([]);
  });

  test("all team members of an organization watch its new repositories", async () => {
    await api("POST", "/admin/users/mira/orgs", { username: "watchful" });
    const made = await api("POST", "/admin/users/watchful/repos", { name: "watched" });
    expect(made.json.watchers_count).toBe(2);
    const watching = await daemon.request("/api/v1/repos/watchful/watched/subscription", {
      token: mira,
    });
    expect(watching.json).toMatchObject({ subscribed: true });
  });

  test("an organization can own a repository, and an unknown account cannot", async () => {
    expect((await create({ name: "x" }, "nobody")).status).toBe(404);
    await api("POST", "/admin/users/mira/orgs", { username: "team" });
    const made = await create({ name: "x" }, "team");
    expect(made.json).toMatchObject({ full_name: "team/x", owner: { login: "team", email: "" } });
    const publicView = await api("GET", "/repos/team/x", undefined, "");
    expect(publicView.json.owner.email).toBe("");
  });

  test("only site administrators create repositories for others", async () => {
    const answer = await api("POST", "/admin/users/mira/repos", { name: "own" }, mira);
    expect(answer.status).toBe(403);
  });
});

describe("seeing", () => {
  beforeAll(async () => {
    await create({ name: "open" });
    await create({ name: "secret", private: true });
    await people.newUser("limited", { visibility: "limited" });
    await create({ name: "seen" }, "limited");
  });

  test("an anonymous caller sees public repositories, without e-mail addresses", async () => {
    const answer = await daemon.request("/api/v1/repos/MIRA/Open");
    expect(answer.json).toMatchObject({
      full_name: "mira/open",
      permissions: { admin: false, push: false, pull: true },
    });
    expect(answer.json.owner.email).toMatch(/@noreply\./);
  });

  test.each(["mira/secret", "mira/none", "nobody/open", "limited/seen"])(
    "%s is 404 to an anonymous caller",
    async (name) => {
      const answer = await daemon.request(`/api/v1/repos/${name}`);
      expect(answer).toMatchObject({ status: 404, json: { message: "not found" } });
    },
  );

  test("a private repository is 404 to others, and to its owner's public-only token", async () => {
    expect((await api("GET", "/repos/mira/secret", undefined, nora)).status).toBe(404);
    expect((await api("GET", "/repos/mira/secret", undefined, mira)).status).toBe(200);
    expect((await api("GET", "/repos/limited/seen", undefined, nora)).status).toBe(200);
    const narrow = await daemon.request("/api/v1/users/mira/tokens", {
      basic: "mira:user-password",
      json: { name: "narrow", scopes: ["public-only", "read:repository"] },
    });
    const answer = await api("GET", "/repos/mira/secret", undefined, narrow.json.sha1);
    expect(answer.status).toBe(404);
    const own = await api("GET", "/user/repos?limit=50", undefined, narrow.json.sha1);
    expect(own.json.every((each: { private: boolean }) => !each.private)).toBe(true);
    expect((await api("DELETE", "/repos/mira/open", undefined, narrow.json.sha1)).status).toBe(403);
  });

  test.each(["%2e%2e/open", "mira/..%2fopen", "mira/%2e%2e", "mira/open.git", "mira/open%00"])(
    "the path %s finds no repository",
    async (path) => {
      const answer = await daemon.request(`/api/v1/repos/${path}`, { token: people.admin });
      expect([400, 404]).toContain(answer.status);
    },
  );

  test("a user's repositories are listed by name with those of their organizations", async () => {
    const answer = await api("GET", "/user/repos?limit=50", undefined, mira);
    expectWireShape("Repository", answer.json, omitted);
    const names = answer.json.map((each: { full_name: string }) => each.full_name);
    expect(names).toContain("team/x");
    expect(names).toContain("mira/secret");
    expect(names).not.toContain("limited/seen");
    expect(answer.headers.get("x-total-count")).toBe(String(names.length));
    const page = await api("GET", "/user/repos?limit=2&page=2", undefined, mira);
    expect(page.json.map((each: { full_name: string }) => each.full_name)).toEqual(
      names.slice(2, 4),
    );
    expect(page.headers.get("link")).toContain('rel="next"');
  });
});

describe("deleting", () => {
  test("only the owner deletes a repository, and its name is free at once", async () => {
    await create({ name: "gone", auto_init: true });
    expect((await api("DELETE", "/repos/mira/gone", undefined, nora)).status).toBe(403);
    expect((await daemon.request("/api/v1/repos/mira/gone", { method: "DELETE" })).status).toBe(
      401,
    );
    const { json: before } = await api("GET", "/repos/mira/gone");
    expect((await api("DELETE", "/repos/mira/gone", undefined, mira)).status).toBe(204);
    expect(existsSync(folderOf("mira/gone.git"))).toBe(false);
    expect((await api("GET", "/repos/mira/gone")).status).toBe(404);
    const again = await create({ name: "gone" });
    expect(again).toMatchObject({ status: 201, json: { empty: true } });
    expect(again.json.id).toBeGreaterThan(before.id);
    expect((await api("DELETE", "/repos/mira/none", undefined, mira)).status).toBe(404);
  });

  test("creating a repository does not touch files without a row at its path", async () => {
    await git.run("init", "--bare", "-q", folderOf("mira/taken.git"));
    expect(await create({ name: "Taken" })).toMatchObject({
      status: 409,
      json: { message: "repository files already exist [uname: mira, name: Taken]" },
    });
    expect(existsSync(folderOf("mira/taken.git/HEAD"))).toBe(true);
  });
});

describe("with their owner", () => {
  const settled = async (check: () => boolean) => {
    await expect.poll(check, { interval: 20 }).toBe(true);
  };

  test("a user who owns repositories is deleted only by a purge", async () => {
    await people.newUser("leaver");
    await create({ name: "left", auto_init: true }, "leaver");
    expect(await api("DELETE", "/admin/users/leaver")).toMatchObject({
      status: 422,
      json: { message: expect.stringContaining("user still has ownership of repositories [uid: ") },
    });
    await git.run("init", "--bare", "-q", folderOf("leaver/stray.git"));
    expect((await api("DELETE", "/admin/users/leaver?purge=true")).status).toBe(204);
    await settled(() => !existsSync(folderOf("leaver")));
    await people.newUser("leaver", { email: "again@example.org" });
    expect((await create({ name: "left" }, "leaver")).status).toBe(201);
    expect(existsSync(folderOf("leaver/left.git/HEAD"))).toBe(true);
  });

  test("a renamed user keeps repositories, also those without a row, and former addresses redirect", async () => {
    await people.newUser("before");
    await create({ name: "kept", auto_init: true }, "before");
    await git.run("init", "--bare", "-q", folderOf("before/stray.git"));
    const renamed = await api("POST", "/admin/users/before/rename", { new_username: "After" });
    expect(renamed.status).toBe(204);
    // Served at once, wherever the files are on the way to.
    const cloned = await git.run("clone", "-q", `${daemon.url}/After/kept.git`, "kept-1");
    expect(cloned).toMatchObject({ exitCode: 0 });
    await settled(() => existsSync(folderOf("after/kept.git")));
    await settled(() => !existsSync(folderOf("before")));
    expect(existsSync(folderOf("after/stray.git"))).toBe(true);
    const old = await daemon.request("/api/v1/repos/before/kept");
    expect(old.status).toBe(307);
    expect(old.headers.get("location")).toBe("/api/v1/repos/After/kept");
    expect((await git.run("clone", "-q", `${daemon.url}/before/kept.git`, "kept-2")).exitCode).toBe(
      0,
    );
  });

  test("a user name that passes to another account does not mix their repositories", async () => {
    await people.newUser("first");
    await create({ name: "same", description: "of the first" }, "first");
    await api("POST", "/admin/users/first/rename", { new_username: "second" });
    await people.newUser("first", { email: "other@example.org" });
    const made = await create({ name: "same", description: "of the new" }, "first");
    expect(made.status).toBe(201);
    await settled(() => existsSync(folderOf("second/same.git")));
    expect(existsSync(folderOf("first/same.git"))).toBe(true);
    expect((await api("GET", "/repos/second/same")).json.description).toBe("of the first");
  });
});
