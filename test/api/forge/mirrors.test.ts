import { randomBytes } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { type Received, type Receiver, startReceiver } from "../../support/receiver.ts";
import { withOneDaemon } from "../../support/skip.ts";

// Two daemons: repositories of `there` are imported, followed and pushed to by `here`.
let there: TestDaemon;
let here: TestDaemon;
let git: GitClient;
let receiver: Receiver;
const far = createForgePeople(() => there);
const near = createForgePeople(() => here);
const { by, newUser } = near;
let mira = "";
let olga = "";
let names = 0;
/** The source of imports that are refused. */
let shared = "";

const urlOf = (daemon: TestDaemon, path: string, credentials = "") =>
  `${daemon.url.replace("//", `//${credentials === "" ? "" : `${credentials}@`}`)}/${path}.git`;
const farUrl = (path: string) => urlOf(there, path, `olga:${far.tokenOf("olga")}`);
const nearUrl = (path: string) => urlOf(here, path, `mira:${near.tokenOf("mira")}`);
/** A private repository of olga with a commit, a branch and a tag. */
async function newSource(): Promise<string> {
  const path = `olga/${await far.newRepository("olga", { auto_init: true, private: true, default_branch: "trunk" })}`;
  await far.by(olga, "POST", `/repos/${path}/branches`, { new_branch_name: "feature/next" });
  await far.by(olga, "POST", `/repos/${path}/tags`, { tag_name: "v1", message: "first" });
  return path;
}
const migrate = (path: string, fields: object = {}) =>
  by(mira, "POST", "/repos/migrate", {
    clone_addr: urlOf(there, path),
    auth_username: "olga",
    auth_password: far.tokenOf("olga"),
    repo_name: `copy${(names += 1)}`,
    ...fields,
  });
const refsOf = async (url: string) => (await git.run("ls-remote", url)).output;
const commit = (daemon: typeof far, user: string, path: string, name: string, branch = "trunk") =>
  daemon.by(user, "POST", `/repos/${path}/contents/${name}`, {
    content: Buffer.from(name).toString("base64"),
    branch,
    message: `Add ${name}`,
  });
const unfinished = async () => readdir(join(here.home, "repositories", ".croft"));

beforeAll(async () => {
  [there, here] = await Promise.all([
    startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } }),
    startTestDaemon({
      env: {
        CROFT_RATE_LIMITS: "off",
        CROFT_MIN_MIRROR_INTERVAL_SECONDS: "1",
        CROFT_MAX_IMPORT_BYTES: "1MiB",
      },
    }),
  ]);
  git = await createGitClient();
  receiver = await startReceiver((_request, response) => response.writeHead(200).end("thanks"));
  mira = await newUser("mira");
  olga = await far.newUser("olga");
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await here[Symbol.asyncDispose]();
  await there[Symbol.asyncDispose]();
});

describe("an import of code", () => {
  test("a copy has branches, tags and the default branch of its source, names it without credentials and takes pushes", async () => {
    const path = await newSource();
    const made = await migrate(path, {
      clone_addr: farUrl(path),
      auth_username: "",
      auth_password: "",
      description: "Copied",
    });
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({
      default_branch: "trunk",
      mirror: false,
      empty: false,
      branch_count: 2,
      description: "Copied",
      original_url: urlOf(there, path),
      mirror_interval: "",
    });
    expect(made.text).not.toContain(far.tokenOf("olga"));
    const copy = made.json.full_name;
    expect(await refsOf(nearUrl(copy))).toBe(await refsOf(farUrl(path)));
    expect((await commit(near, mira, copy, "mine")).status).toBe(201);
    expect((await by(mira, "POST", `/repos/${copy}/mirror-sync`)).json).toMatchObject({
      message: "Repository is not a mirror",
    });
    expect((await by(mira, "GET", `/repos/${copy}/import`)).status).toBe(404);
  });

  test("an empty repository, and one for an organization, can be imported", async () => {
    const empty = `olga/${await far.newRepository("olga")}`;
    expect((await migrate(empty)).json).toMatchObject({ empty: true, branch_count: 0 });
    await by(mira, "POST", "/orgs", { username: "guild" });
    const made = await migrate(await newSource(), { repo_owner: "guild" });
    expect(made.json.owner.login).toBe("guild");
    const nora = await newUser("nora");
    const refused = await by(nora, "POST", "/repos/migrate", {
      clone_addr: urlOf(there, empty),
      repo_name: "x",
      repo_owner: "guild",
    });
    expect(refused.status).toBe(403);
    const other = await by(nora, "POST", "/repos/migrate", {
      clone_addr: urlOf(there, empty),
      repo_name: "x",
      repo_owner: "mira",
    });
    expect(other.status).toBe(403);
  });

  test.each([
    ["a missing name", { repo_name: "" }, 422],
    ["a bad name", { repo_name: "no spaces" }, 422],
    ["a path of this machine", { clone_addr: "/etc" }, 422],
    ["a file address", { clone_addr: "file:///etc" }, 422],
    ["a program", { clone_addr: "ext::sh -c id" }, 422],
    ["an SSH address", { clone_addr: "ssh://git@example.org/a.git" }, 422],
    ["a short SSH address", { clone_addr: "git@example.org:a.git" }, 422],
    ["the git protocol", { clone_addr: "git://example.org/a.git" }, 422],
    ["an option of git", { clone_addr: "--upload-pack=id" }, 422],
    ["a metadata service", { clone_addr: "http://169.254.169.254/a.git" }, 422],
    ["a port where nothing listens", { clone_addr: "http://127.0.0.1:1/a.git" }, 422],
    ["an unknown service", { service: "onedev" }, 422],
    ["a service with the name of a member of objects", { service: "constructor" }, 422],
    ["an interval that is none", { mirror: true, mirror_interval: "soon" }, 422],
    ["wrong credentials", { auth_password: "wrong" }, 422],
    ["missing credentials", { auth_username: "", auth_password: "" }, 422],
  ])("an import refuses %s and leaves nothing", async (_case, fields, status) => {
    const path = (shared ||= await newSource());
    const before = (await by(mira, "GET", "/user/repos?limit=50")).headers.get("x-total-count");
    const refused = await migrate(path, fields);
    expect(refused.status, refused.text).toBe(status);
    expect(refused.text).not.toContain(far.tokenOf("olga"));
    const after = (await by(mira, "GET", "/user/repos?limit=50")).headers.get("x-total-count");
    expect(after).toBe(before);
    expect(await unfinished()).toEqual([]);
  });

  withOneDaemon("an import refuses the daemon itself", async () => {
    const path = await newSource();
    const own = await migrate(path, { clone_addr: `${here.url}/mira/x.git` });
    expect(own).toMatchObject({ status: 422 });
    expect(own.json.message).toContain("it is the daemon itself");
  });

  test("an import refuses a taken name and a server that is no git", async () => {
    const path = await newSource();
    const first = await migrate(path, { repo_name: "taken" });
    expect(first.status).toBe(201);
    expect((await migrate(path, { repo_name: "Taken" })).status).toBe(409);
    const noGit = await migrate(path, { clone_addr: receiver.url });
    expect(noGit.json.message).toContain("it is no git repository");
  });

  test("an import ends when the source sends more than is allowed, and nothing remains", async () => {
    const path = await newSource();
    await git.run("clone", "-q", farUrl(path), "noisy");
    await writeFile(join(git.folder, "noisy/more.bin"), randomBytes(2 * 1024 * 1024));
    await git.in("noisy", "add", ".");
    await git.in("noisy", "commit", "-q", "-m", "More");
    expect((await git.in("noisy", "push", "-q")).exitCode).toBe(0);
    const refused = await migrate(path);
    expect(refused.status).toBe(422);
    expect(refused.json.message).toContain("more than is allowed");
    expect(await unfinished()).toEqual([]);
  });
});

describe("a pull mirror", () => {
  test("a mirror follows its source by pushes with events, refuses other changes, and becomes a normal repository", async () => {
    const path = await newSource();
    const made = await migrate(path, { mirror: true, mirror_interval: "10m" });
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({ mirror: true, mirror_interval: "10m0s" });
    expect(made.json.mirror_updated).not.toBe("0001-01-01T00:00:00Z");
    const copy = made.json.full_name;
    await by(mira, "POST", `/repos/${copy}/hooks`, {
      type: "gitea",
      config: { url: `${receiver.url}/mirrored`, content_type: "json" },
      events: ["push", "create", "delete"],
      active: true,
    });
    // Nobody else changes it: by git, by the API, by a tag.
    const written = await commit(near, mira, copy, "mine");
    expect(written.status, written.text).toBe(403);
    const tagged = await by(mira, "POST", `/repos/${copy}/tags`, { tag_name: "v2" });
    expect(tagged.status, tagged.text).toBe(403);
    const branched = await by(mira, "DELETE", `/repos/${copy}/branches/feature%2Fnext`);
    expect(branched.status, branched.text).toBe(403);
    await git.run("clone", "-q", nearUrl(copy), "follower");
    await git.in("follower", "commit", "-q", "--allow-empty", "-m", "Mine");
    const pushed = await git.in("follower", "push");
    expect(pushed.exitCode).not.toBe(0);
    expect(pushed.errors).toContain("403");
    // The source moves on: a commit, a forced branch, a new and a deleted one.
    await commit(far, olga, path, "theirs");
    await git.run("clone", "-q", farUrl(path), "leader");
    await git.in("leader", "checkout", "-q", "--orphan", "fresh");
    await git.in("leader", "commit", "-q", "-m", "Fresh");
    await git.in("leader", "push", "-q", "-f", "origin", "fresh:feature/other", ":feature/next");
    expect((await by(mira, "POST", `/repos/${copy}/mirror-sync`)).status).toBe(200);
    await vi.waitFor(
      async () => expect(await refsOf(nearUrl(copy))).toBe(await refsOf(farUrl(path))),
      { timeout: 60_000, interval: 100 },
    );
    const isMirrored = (kind: string, text: string) => (request: Received) =>
      request.path === "/mirrored" &&
      request.headers["x-gitea-event"] === kind &&
      request.body.includes(text);
    await receiver.waitFor(1, isMirrored("create", "feature/other"));
    await receiver.waitFor(1, isMirrored("delete", "feature/next"));
    const [push] = await receiver.waitFor(1, isMirrored("push", '"refs/heads/trunk"'));
    expect(JSON.parse(push?.body ?? "{}")).toMatchObject({
      pusher: { login: "mira" },
      commits: [{ message: "Add theirs\n" }],
    });
    // A failure is shown, and ends with the next success.
    expect((await far.by(olga, "PATCH", `/repos/${path}`, { name: "moved-on" })).status).toBe(200);
    await far.by(olga, "DELETE", "/repos/olga/moved-on");
    await by(mira, "POST", `/repos/${copy}/mirror-sync`);
    const state = () => by(mira, "GET", `/repos/${copy}/mirror`);
    await vi.waitFor(async () => expect((await state()).json.failures).toBe(1), {
      timeout: 60_000,
      interval: 100,
    });
    expect((await state()).json).toMatchObject({
      remote_address: urlOf(there, path),
      last_error: expect.stringContaining("status 404"),
    });
    // The page shows it to the owner; the form of the page imports, too.
    const body = new URLSearchParams({ user_name: "mira", password: "user-password" });
    const headers = { origin: here.url };
    const login = `${here.url}/user/login`;
    const signedIn = await fetch(login, { method: "POST", body, redirect: "manual", headers });
    const cookie = (signedIn.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
    const page = async (to: string) => (await here.request(to, { headers: { cookie } })).text;
    expect(await page(`/${copy}`)).toContain("mirror of");
    expect(await page(`/${copy}/import`)).toContain("status 404");
    const form = await page("/repo/migrate");
    const send = (fields: Readonly<Record<string, string>>) =>
      fetch(`${here.url}/repo/migrate`, {
        method: "POST",
        body: new URLSearchParams({
          form_token: /name="form_token"[^>]*value="([^"]+)"/.exec(form)?.[1] ?? "",
          auth_username: "olga",
          auth_password: far.tokenOf("olga"),
          ...fields,
        }),
        redirect: "manual",
        headers: { cookie, ...headers },
      });
    const refused = await send({ clone_addr: "/etc", repo_name: "formed" });
    expect(refused.status).toBe(422);
    const shown = await refused.text();
    expect(shown).toContain("paths on this server cannot be imported");
    expect(shown).not.toContain(far.tokenOf("olga"));
    const other = await newSource();
    const sent = await send({
      clone_addr: urlOf(there, other),
      repo_name: "formed",
      private: "yes",
    });
    expect([sent.status, sent.headers.get("location")]).toEqual([303, "/mira/formed"]);
    expect((await by(mira, "GET", "/repos/mira/formed")).json).toMatchObject({ private: true });
    const patched = await by(mira, "PATCH", `/repos/${copy}`, { mirror_interval: "24h0m0s" });
    expect(patched.json.mirror_interval).toBe("24h0m0s");
    for (const bad of ["1ms", "never"])
      expect((await by(mira, "PATCH", `/repos/${copy}`, { mirror_interval: bad })).status).toBe(
        422,
      );
    expect((await by(mira, "GET", `/repos/search?mode=mirror&q=copy`)).json.data).toEqual(
      expect.arrayContaining([expect.objectContaining({ full_name: copy })]),
    );
    expect((await by(mira, "DELETE", `/repos/${copy}/mirror`)).status).toBe(204);
    expect((await state()).status).toBe(400);
    expect((await commit(near, mira, copy, "mine")).status).toBe(201);
    expect((await by(mira, "PATCH", `/repos/${copy}`, { mirror_interval: "8h" })).status).toBe(422);
  });

  test("the scheduled task compares the mirrors that are due", async () => {
    const path = await newSource();
    const copy = (await migrate(path, { mirror: true, mirror_interval: "1s" })).json.full_name;
    await commit(far, olga, path, "later");
    await vi.waitFor(
      async () => {
        await near.api("POST", "/admin/cron/update_mirrors");
        expect(await refsOf(nearUrl(copy))).toBe(await refsOf(farUrl(path)));
      },
      { timeout: 100_000, interval: 1_000 },
    );
  });
});

describe("a push mirror", () => {
  test("a push mirror gets branches and tags, each push at once, and shows its errors without its password", async () => {
    const copy = (await migrate(await newSource())).json.full_name;
    const target = `olga/${await far.newRepository("olga")}`;
    const add = (fields: object = {}) =>
      by(mira, "POST", `/repos/${copy}/push_mirrors`, {
        remote_address: urlOf(there, target),
        remote_username: "olga",
        remote_password: far.tokenOf("olga"),
        interval: "8h0m0s",
        sync_on_commit: true,
        ...fields,
      });
    const made = await add();
    expect(made.status, made.text).toBe(200);
    expect(made.json).toMatchObject({
      remote_address: urlOf(there, target),
      interval: "8h0m0s",
      sync_on_commit: true,
      last_error: "",
    });
    expect(made.text).not.toContain(far.tokenOf("olga"));
    const equal = () =>
      vi.waitFor(
        async () => expect(await refsOf(farUrl(target))).toBe(await refsOf(nearUrl(copy))),
        { timeout: 60_000, interval: 100 },
      );
    await equal();
    await commit(near, mira, copy, "pushed-on");
    await by(mira, "DELETE", `/repos/${copy}/branches/feature%2Fnext`);
    await equal();
    const listed = await by(mira, "GET", `/repos/${copy}/push_mirrors`);
    expect(listed.json).toMatchObject([{ remote_name: made.json.remote_name }]);
    const name = made.json.remote_name;
    expect((await by(mira, "DELETE", `/repos/${copy}/push_mirrors/${name}`)).status).toBe(204);
    expect((await by(mira, "GET", `/repos/${copy}/push_mirrors/${name}`)).status).toBe(404);
    // One with wrong credentials.
    const wrong = await add({ remote_password: "wrong", sync_on_commit: false });
    const one = `/repos/${copy}/push_mirrors/${wrong.json.remote_name}`;
    await vi.waitFor(
      async () => expect((await by(mira, "GET", one)).json.last_error).toContain("credentials"),
      { timeout: 60_000, interval: 100 },
    );
    expect((await by(mira, "POST", `/repos/${copy}/push_mirrors-sync`)).status).toBe(200);
    for (const fields of [{ interval: "x" }, { interval: "1ms" }])
      expect((await add(fields)).status, JSON.stringify(fields)).toBe(400);
    expect((await add({ remote_address: "/etc" })).status).toBe(400);
    const nora = await newUser();
    expect((await by(nora, "GET", `/repos/${copy}/push_mirrors`)).status).toBe(403);
  });
});
