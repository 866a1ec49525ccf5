import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { createGitClient } from "../support/forge/git-client.ts";
import { createPageVisitor } from "../support/forge/page-visitor.ts";
import { callRunner, fetchTask, registerRunner } from "../support/forge/runner-client.ts";
import { sendRequest } from "../support/send-request.ts";
import { skipUnless } from "../support/skip.ts";
import { createDavToken } from "../support/vault/dav-account.ts";
import { connectFolder } from "../support/vault/local-folders.ts";
import { createPerson, type VaultPerson } from "../support/vault/vault-person.ts";

// Two daemons on one database, one bucket and one folder of repositories: what one of them has acknowledged holds at the other
// from then on. Each step goes to a daemon by name. CROFT_TEST_DAEMONS=2 runs all tests of the APIs on two daemons.

const onServer = skipUnless(
  process.env["CROFT_TEST_POSTGRES_URL"],
  "CROFT_TEST_POSTGRES_URL names no PostgreSQL server",
);
const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

onServer.describe("two daemons on one database", () => {
  let daemon: TestDaemon;
  /** Each daemon alone, past the proxy. */
  let one: TestDaemon;
  let two: TestDaemon;
  let mira: VaultPerson;
  const people = createForgePeople(() => daemon);

  beforeAll(async () => {
    daemon = await startTestDaemon({ daemons: 2 });
    const only = (url = ""): TestDaemon => ({
      ...daemon,
      url,
      request: (path, init) => sendRequest(url, path, init),
    });
    one = only(daemon.urls[0]);
    two = only(daemon.urls[1]);
    await people.newUser("mira");
    await people.api("POST", "/admin/users/mira/repos", { name: "kiln", auto_init: true });
    mira = createPerson(one, "mira", "192.0.2.1");
    await mira.register();
    await mira.signIn();
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  const forge = (at: TestDaemon, method: string, path: string, json?: unknown, user = "mira") =>
    at.request(`/api/v1${path}`, {
      method,
      token: people.tokenOf(user),
      ...(json === undefined ? {} : { json }),
    });
  /** The person of the vault at the other daemon, with the same session. */
  const miraAt = (at: TestDaemon): VaultPerson =>
    Object.assign(createPerson(at, "mira", "192.0.2.1"), {
      accessToken: mira.accessToken,
      refreshToken: mira.refreshToken,
    });

  test("a token of the forge that one daemon deletes ends at the other at once", async () => {
    const name = await people.newUser();
    const token = await people.newToken(name, ["all"], "short");
    const get = (at: TestDaemon) => at.request("/api/v1/user", { token });
    expect([(await get(one)).status, (await get(two)).status]).toEqual([200, 200]);
    const basic = `${name}:user-password`;
    const path = `/api/v1/users/${name}/tokens/short`;
    expect((await one.request(path, { method: "DELETE", basic })).status).toBe(204);
    expect((await get(two)).status).toBe(401);
  });

  test("an account that one daemon locks is refused by the other at once", async () => {
    const name = await people.newUser();
    const get = (at: TestDaemon) => forge(at, "GET", "/user", undefined, name);
    expect([(await get(one)).status, (await get(two)).status]).toEqual([200, 200]);
    const edit = { login_name: name, source_id: 0, prohibit_login: true };
    const token = people.admin;
    const edited = await one.request(`/api/v1/admin/users/${name}`, {
      method: "PATCH",
      token,
      json: edit,
    });
    expect(edited.status).toBe(200);
    expect((await get(two)).status).toBe(403);
  });

  test("a session of the vault is refreshed by either daemon, and ends at both", async () => {
    const person = createPerson(one, "sela", "192.0.2.9");
    await person.register();
    await person.signIn();
    const other = createPerson(two, "sela", "192.0.2.9");
    Object.assign(other, { accessToken: person.accessToken, refreshToken: person.refreshToken });
    expect((await other.request("/api/auth/me")).status).toBe(200);
    expect((await other.refresh()).status).toBe(200);
    Object.assign(person, { accessToken: other.accessToken, refreshToken: other.refreshToken });
    expect((await person.request("/api/auth/me")).status).toBe(200);
    expect((await person.request("/api/auth/logout", { method: "POST" })).status).toBe(200);
    expect((await other.request("/api/auth/me")).status).toBe(401);
    expect((await other.refresh()).status).toBe(401);
  });

  test("a person who signs in at a page of one daemon is signed in at the other", async () => {
    const name = await people.newUser();
    const visitor = await createPageVisitor(() => one)(name, "user-password");
    expect((await visitor.get("/user/settings")).status).toBe(200);
    const onOther = await createPageVisitor(() => daemon)(name, "user-password");
    for (let visit = 0; visit < 4; visit += 1)
      expect((await onOther.get("/user/settings")).status).toBe(200);
  });

  test("both daemons count the attempts to sign in together", async () => {
    /** How many attempts are answered before the first that is refused for their number. */
    const countAllowed = async (email: string, address: string, places: readonly TestDaemon[]) => {
      for (let tries = 0; tries < 40; tries += 1) {
        const answer = await places[tries % places.length]?.request("/api/auth/login", {
          json: { email, password: "wrong" },
          headers: { "X-Forwarded-For": address },
        });
        if (answer?.status === 429) return tries;
      }
      return undefined;
    };
    const allowed = await countAllowed("nobody@example.org", "192.0.2.77", [one, two]);
    expect(allowed).toBeGreaterThan(0);
    expect(await countAllowed("somebody@example.org", "192.0.2.78", [one])).toBe(allowed);
  });

  test("of parallel sign-ins at both daemons all right ones succeed, and ten wrong ones are checked", async () => {
    const name = await people.newUser();
    /** The statuses of sign-ins at both daemons at once. */
    const signIn = async (
      count: number,
      toPassword: (index: number) => string,
      address: string,
    ) => {
      const answers = await Promise.all(
        Array.from({ length: count }, (_, index) =>
          (index % 2 === 0 ? one : two).request("/api/v1/user", {
            basic: `${name}:${toPassword(index)}`,
            headers: { "X-Forwarded-For": address },
          }),
        ),
      );
      const statuses = Object.groupBy(answers, ({ status }) => status);
      return Object.fromEntries(
        Object.entries(statuses).map(([status, all]) => [status, all?.length]),
      );
    };
    const right = () => "user-password";
    for (let round = 0; round < 3; round += 1)
      expect(await signIn(60, right, "192.0.2.70")).toEqual({ 200: 60 });
    const wrong = await signIn(60, (index) => `wrong-${index}`, "192.0.2.71");
    expect(wrong).toEqual({ 401: 10, 429: 50 });
    expect(await signIn(4, right, "192.0.2.71")).toEqual({ 429: 4 });
    expect(await signIn(4, right, "192.0.2.70")).toEqual({ 200: 4 });
  });

  test("a push to one daemon is read, cloned and searched at the other at once", async () => {
    await using git = await createGitClient();
    const address = (at: TestDaemon) =>
      at.url.replace("://", `://mira:${people.tokenOf("mira")}@`) + "/mira/kiln.git";
    await git.run("clone", "-q", address(one), "work");
    for (let round = 0; round < 3; round += 1) {
      await writeFile(join(git.folder, "work", "glaze.txt"), `round ${round}`);
      await git.in("work", "add", ".");
      await git.in("work", "commit", "-q", "-m", `round ${round}`);
      const pushed = await git.in("work", "push", "-q", address(one), "HEAD:main");
      expect(pushed).toMatchObject({ exitCode: 0 });
      const raw = await forge(two, "GET", "/repos/mira/kiln/raw/glaze.txt");
      expect(raw.text).toBe(`round ${round}`);
      const commits = await forge(two, "GET", "/repos/mira/kiln/commits?limit=1");
      expect(commits.json[0].commit.message.trim()).toBe(`round ${round}`);
      const heads = await git.run("ls-remote", address(two), "refs/heads/main");
      expect(heads.output).toContain(commits.json[0].sha);
    }
  });

  test("of two changes of a file at the same commit, one at each daemon, one is refused", async () => {
    const path = "/repos/mira/kiln/contents/race.txt";
    const made = await forge(one, "POST", path, { content: "MQ==" });
    const { sha } = made.json.content;
    const change = (at: TestDaemon, content: string) =>
      forge(at, "PUT", path, { content, sha, branch: "main" });
    const answers = await Promise.all([change(one, "Mg=="), change(two, "Mw==")]);
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses[0]).toBe(200);
    expect([409, 422]).toContain(statuses[1]);
    const won = answers.findIndex(({ status }) => status === 200);
    const read = await forge(one, "GET", "/repos/mira/kiln/raw/race.txt");
    expect(read.text).toBe(["2", "3"][won]);
  });

  test("a repository that one daemon renames has its new name and folder at the other", async () => {
    const name = await people.newRepository("mira", { auto_init: true });
    expect((await forge(two, "GET", `/repos/mira/${name}`)).status).toBe(200);
    const renamed = await forge(one, "PATCH", `/repos/mira/${name}`, { name: `${name}-new` });
    expect(renamed.status).toBe(200);
    expect((await forge(two, "GET", `/repos/mira/${name}`)).status).toBe(307);
    expect((await forge(two, "GET", `/repos/mira/${name}-new/contents`)).status).toBe(200);
    expect((await forge(two, "DELETE", `/repos/mira/${name}-new`)).status).toBe(204);
    expect((await forge(one, "GET", `/repos/mira/${name}-new`)).status).toBe(404);
  });

  test("a folder without a row is adopted at one daemon or deleted at the other", async () => {
    await using git = await createGitClient();
    for (let round = 0; round < 4; round += 1) {
      const folder = join(daemon.home, "repositories", "mira", `found-${round}.git`);
      await git.run("clone", "-q", "--bare", folder.replace(`found-${round}`, "kiln"), folder);
      const ask = (at: TestDaemon, method: string) =>
        at.request(`/api/v1/admin/unadopted/mira/found-${round}`, { method, token: people.admin });
      const [adopted, deleted] = await Promise.all([ask(one, "POST"), ask(two, "DELETE")]);
      expect([adopted.status, deleted.status].toSorted()).toEqual([204, 404]);
      const branches = await forge(two, "GET", `/repos/mira/found-${round}/branches`);
      expect(branches.status).toBe(adopted.status === 204 ? 200 : 404);
    }
  });

  test("numbers of issues that both daemons give at once are different", async () => {
    const create = (at: TestDaemon, title: string) =>
      forge(at, "POST", "/repos/mira/kiln/issues", { title });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => create(at % 2 === 0 ? one : two, `Shelf ${at}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(new Set(answers.map(({ json }) => json.number)).size).toBe(answers.length);
  });

  test("a run that a push to one daemon starts is fetched, logged and read at any", async () => {
    const name = await people.newRepository("mira", { auto_init: true });
    await forge(one, "PATCH", `/repos/mira/${name}`, { has_actions: true });
    const workflow = "on: push\njobs:\n  one:\n    runs-on: apart\n    steps:\n      - run: true\n";
    const made = await forge(one, "POST", `/repos/mira/${name}/contents/.gitea/workflows/w.yml`, {
      content: Buffer.from(workflow).toString("base64"),
    });
    expect(made.status).toBe(201);
    const token = await people.api("POST", "/admin/actions/runners/registration-token");
    const runner = await registerRunner(two, token.json.token, {
      name: "apart",
      labels: ["apart"],
    });
    let task: Awaited<ReturnType<typeof fetchTask>>["task"];
    await expect.poll(async () => (task ??= (await fetchTask(two, runner)).task)).toBeDefined();
    const id = String(task?.id);
    const rows = [{ time: "2026-01-01T00:00:00Z", content: "fired at 1,200 degrees" }];
    await callRunner(one, "UpdateLog", { taskId: id, index: 0, rows, noMore: true }, runner);
    await callRunner(two, "UpdateTask", { state: { id, result: "RESULT_SUCCESS" } }, runner);
    const actions = `/repos/mira/${name}/actions`;
    const runs = await forge(one, "GET", `${actions}/runs`);
    expect(runs.json.workflow_runs).toMatchObject([{ status: "completed", conclusion: "success" }]);
    const jobs = await forge(two, "GET", `${actions}/runs/${runs.json.workflow_runs[0].id}/jobs`);
    const log = await forge(two, "GET", `${actions}/jobs/${jobs.json.jobs[0].id}/logs`);
    expect(log.text).toContain("fired at 1,200 degrees");
  });

  test("an event at one daemon reaches a stream of the other", async () => {
    const name = await people.newUser();
    const response = await fetch(`${two.url}/api/v1/notifications/stream`, {
      headers: { Authorization: `token ${people.tokenOf(name)}` },
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const untilSeen = async (part: string) => {
      while (!text.includes(part)) {
        const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
        if (done) throw new Error(`the stream ended after ${text}`);
        text += value ?? "";
      }
    };
    await untilSeen("event: count");
    const token = people.admin;
    const json = { name: "told", auto_init: false };
    const path = `/api/v1/admin/users/${name}/repos`;
    expect((await one.request(path, { method: "POST", token, json })).status).toBe(201);
    await untilSeen("event: thread");
    await reader?.cancel();
  });

  test("a link made at one daemon opens at the other, and is gone at both when it is revoked", async () => {
    const body = new FormData();
    body.set("file", new File(["Plan of the kiln"], "plan.txt", { type: "text/plain" }));
    const uploaded = await mira.request("/api/documents/upload", { method: "POST", body });
    expect(uploaded.status).toBe(201);
    const made = await mira.request("/api/links", {
      json: { kind: "download", document_id: uploaded.json.id },
    });
    const { pathname } = new URL(made.json.url);
    const content = await two.request(`${pathname}/download`);
    expect([content.status, content.text]).toEqual([200, "Plan of the kiln"]);
    const revoked = await miraAt(two).request(`/api/links/${made.json.id}`, { method: "DELETE" });
    expect(revoked.status).toBe(204);
    expect((await one.request(pathname)).status).toBe(404);
  });

  test("a file whose parts go to both daemons is whole", async () => {
    const { base } = await connectFolder({ files: join(daemon.home, "files") }, mira, "parts");
    const bytes = Buffer.from("0123456789".repeat(1_000));
    const begun = await mira.request(`${base}/uploads`, {
      json: { name: "parts.bin", size: bytes.length, fingerprint: "one" },
    });
    expect(begun.status).toBe(201);
    const path = `${base}/uploads/${begun.json.upload_id}`;
    for (let at = 0; at < 4; at += 1) {
      const offset = at * 2_500;
      const part = await miraAt(at % 2 === 0 ? two : one).request(path, {
        method: "PATCH",
        body: bytes.subarray(offset, offset + 2_500),
        headers: { "Content-Type": "application/octet-stream", "Upload-Offset": String(offset) },
      });
      expect(part.json).toMatchObject({ offset: offset + 2_500 });
    }
    const done = await miraAt(two).request(`${path}/complete`, { json: { sha256: hashOf(bytes) } });
    expect(done.json).toMatchObject({ kind: "uploaded", size: bytes.length });
  });

  test("a document whose parts go to both daemons is whole, and both serve it", async () => {
    const bytes = Buffer.from("A plan of the kiln. ".repeat(500));
    const begun = await mira.request("/api/documents/upload-sessions", {
      json: { filename: "parts.txt", size: bytes.length, fingerprint: "one" },
    });
    expect(begun.status).toBe(201);
    const path = `/api/documents/upload-sessions/${begun.json.upload_id}`;
    for (const [at, offset] of [
      [two, 0],
      [one, 5_000],
    ] as const) {
      const part = await miraAt(at).request(path, {
        method: "PATCH",
        body: bytes.subarray(offset, offset + 5_000),
        headers: { "Content-Type": "application/octet-stream", "Upload-Offset": String(offset) },
      });
      expect(part.status).toBe(200);
    }
    const done = await miraAt(two).request(`${path}/complete`, { json: { sha256: hashOf(bytes) } });
    expect(done.status).toBe(201);
    for (const at of [one, two]) {
      const read = await miraAt(at).request(`/api/documents/${done.json.id}/content`);
      expect(read.text).toBe(bytes.toString());
    }
  });

  test("a lock of WebDAV that one daemon gives binds the other, which has the files of Finder, too", async () => {
    await mkdir(join(daemon.home, "files", "mira", "dav"), { recursive: true });
    await connectFolder({ files: join(daemon.home, "files") }, mira, "dav");
    const basic = `${mira.email}:${await createDavToken(mira, "write")}`;
    const dav = (at: TestDaemon, method: string, name: string, init: object = {}) =>
      at.request(`/dav/dav/${name}`, { method, basic, ...init });
    expect((await dav(one, "PUT", "plan.txt", { body: "first" })).status).toBe(201);
    expect((await dav(two, "GET", "plan.txt")).text).toBe("first");
    const locked = await dav(one, "LOCK", "plan.txt", {
      body: '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>',
      headers: { "Content-Type": "application/xml" },
    });
    expect(locked.status).toBe(200);
    expect((await dav(two, "PUT", "plan.txt", { body: "second" })).status).toBe(423);
    const lock = locked.headers.get("lock-token") ?? "";
    const unlocked = await dav(two, "UNLOCK", "plan.txt", { headers: { "Lock-Token": lock } });
    expect(unlocked.status).toBe(204);
    expect((await dav(one, "PUT", "plan.txt", { body: "second" })).status).toBe(204);
    expect((await dav(two, "GET", "plan.txt")).text).toBe("second");
    // What Finder writes beside a file to one daemon is read at the other, and deleted there.
    expect((await dav(one, "PUT", "._plan.txt", { body: "finder" })).status).toBe(201);
    expect((await dav(two, "GET", "._plan.txt")).text).toBe("finder");
    expect((await dav(two, "DELETE", "._plan.txt")).status).toBe(204);
    expect((await dav(one, "GET", "._plan.txt")).status).toBe(404);
  });
});
