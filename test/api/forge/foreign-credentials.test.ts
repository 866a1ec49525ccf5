import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, type TestRequest } from "../../support/daemon.ts";
import { takeArtifactJob } from "../../support/forge/artifact-job.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createSshClient, type SshClient } from "../../support/forge/ssh-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";

// Valid credentials of one kind at places that belong to another kind or to another repository: tokens of jobs, runners,
// deploy keys.

let daemon: TestDaemon;
let git: GitClient;
let client: SshClient;
const people = createForgePeople(() => daemon);

/** The token of a running job of `mira/open-job`, which has every permission there is. */
let jobToken: string;
let runtimeToken: string;
let runner: { readonly uuid: string; readonly token: string };
let foreignRun: number;

const SECRET_PLACES = ["mira/locked", "theo/locked"] as const;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  client = await createSshClient(() => daemon.sshPort ?? 0);
  await people.newUser("mira");
  await people.newUser("theo", { visibility: "private" });
  for (const owner of ["mira", "theo"]) {
    const fields = { name: "locked", private: true, auto_init: true };
    expect((await people.by(owner, "POST", "/user/repos", fields)).status).toBe(201);
    const secret = { data: "value" };
    const put = await people.by(owner, "PUT", `/repos/${owner}/locked/actions/secrets/KEY`, secret);
    expect(put.status).toBe(201);
    const pack = { method: "PUT", token: people.tokenOf(owner), body: "bytes" };
    const stored = await daemon.request(`/api/packages/${owner}/generic/pack/1/file`, pack);
    expect(stored.status).toBe(201);
  }
  const start = async (name: string) => {
    const repository = createWorkflowRepository({ daemon, people, git }, "mira", name);
    await repository.create();
    const job = `{ runs-on: ${name}, steps: [{ run: echo }] }`;
    await repository.push({ "ci.yml": `on: push\npermissions: write-all\njobs: { a: ${job} }\n` });
    return { repository, run: await repository.waitForRuns(1) };
  };
  const foreign = await start("other-job");
  await people.by("mira", "PATCH", "/repos/mira/other-job", { private: true });
  const other = await takeArtifactJob(daemon, foreign.repository);
  await other.upload("result", "content");
  foreignRun = foreign.run.id;
  const own = await start("open-job");
  const taken = await own.repository.take();
  runner = taken.runner;
  const context = taken.task?.context as { token: string; gitea_runtime_token: string };
  jobToken = context.token;
  runtimeToken = context.gitea_runtime_token;
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const status = async (path: string, init: TestRequest) => (await daemon.request(path, init)).status;
const toBasic = (token: string) => ({ basic: `job:${token}` });

describe("the token of a job", () => {
  test("the token of a job reads its own repository", async () => {
    expect(await status("/api/v1/repos/mira/open-job", { token: jobToken })).toBe(200);
  });

  test.each(SECRET_PLACES)("the token of a job neither reads nor changes %s", async (place) => {
    const requests = {
      "GET ": undefined,
      "PATCH ": { description: "changed" },
      "DELETE ": undefined,
      "GET /contents/README.md": undefined,
      "POST /contents/new.txt": { content: "eA==", message: "new" },
      "GET /raw/README.md": undefined,
      "GET /archive/main.zip": undefined,
      "GET /commits": undefined,
      "GET /issues": undefined,
      "POST /issues": { title: "new" },
      "GET /keys": undefined,
      "GET /hooks": undefined,
      "GET /collaborators": undefined,
      "PUT /collaborators/mira": { permission: "admin" },
      "GET /actions/secrets": undefined,
      "PUT /actions/secrets/KEY": { data: "changed" },
      "DELETE /actions/secrets/KEY": undefined,
      "GET /actions/variables": undefined,
      "GET /actions/runs": undefined,
      "GET /actions/artifacts": undefined,
      "POST /actions/runners/registration-token": undefined,
    };
    for (const [line, json] of Object.entries(requests)) {
      const [method = "", rest = ""] = line.split(" ");
      for (const credentials of [{ token: jobToken }, toBasic(jobToken)]) {
        const init = { method, ...credentials, ...(json === undefined ? {} : { json }) };
        const found = await status(`/api/v1/repos/${place}${rest}`, init);
        expect([line, found]).toEqual([line, expect.toBeOneOf([401, 403, 404])]);
      }
    }
    const [owner = ""] = place.split("/");
    const secrets = await people.by(owner, "GET", `/repos/${place}/actions/secrets`);
    expect(secrets.json.map(({ name }: { name: string }) => name)).toEqual(["KEY"]);
  });

  test.each(SECRET_PLACES)(
    "the token of a job neither fetches from %s nor pushes to it",
    async (place) => {
      for (const service of ["git-upload-pack", "git-receive-pack"]) {
        const path = `/${place}.git/info/refs?service=${service}`;
        expect(await status(path, toBasic(jobToken))).toBe(404);
      }
      const init = {
        ...toBasic(jobToken),
        body: "0000",
        headers: { "Content-Type": "application/x-git-receive-pack-request" },
      };
      // The same for a repository that does not exist, so the answer does not reveal this one.
      for (const name of [place, "mira/none"])
        expect(await status(`/${name}.git/git-receive-pack`, init)).toBe(403);
    },
  );

  test("the token of a job neither reads nor changes packages of a private account", async () => {
    const path = "/api/packages/theo/generic/pack/1/file";
    expect(await status(path, { token: jobToken })).toBe(404);
    expect(await status(path, { token: jobToken, method: "DELETE" })).toBe(404);
    const put = { token: jobToken, method: "PUT", body: "bytes" };
    expect(await status(path.replace("/1/", "/2/"), put)).toBe(404);
    expect(await status("/api/v1/packages/theo", { token: jobToken })).toBe(403);
    const valid = { token: people.tokenOf("theo") };
    expect(await status(path, valid)).toBe(200);
    expect(await status(path.replace("/1/", "/2/"), valid)).toBe(404);
  });

  test("the token of a job finds no artifacts of another repository's run", async () => {
    const path = `/api/v1/repos/mira/other-job/actions/runs/${foreignRun}/artifacts`;
    expect(await status(path, { token: people.tokenOf("mira") })).toBe(200);
    expect(await status(path, { token: jobToken })).toBe(404);
    const through = path.replace("other-job", "open-job");
    const answer = await daemon.request(through, { token: jobToken });
    expect(answer.status === 404 || answer.json.total_count === 0).toBe(true);
  });

  test("the token of a job does not act as the account that started the run", async () => {
    const requests = {
      "GET /user/emails": undefined,
      "GET /user/keys": undefined,
      "GET /user/actions/variables": undefined,
      "PUT /user/actions/secrets/KEY": { data: "changed" },
      "POST /user/repos": { name: "made" },
      "POST /user/keys": { title: "key", key: "ssh-ed25519 AAAA" },
      "POST /users/mira/tokens": { name: "more", scopes: ["all"] },
      "GET /users/mira/tokens": undefined,
      "POST /orgs": { username: "made" },
      "GET /notifications": undefined,
      "GET /admin/users": undefined,
    };
    for (const [line, json] of Object.entries(requests)) {
      const [method = "", path = ""] = line.split(" ");
      for (const credentials of [{ token: jobToken }, toBasic(jobToken)]) {
        const init = { method, ...credentials, ...(json === undefined ? {} : { json }) };
        const found = await status(`/api/v1${path}`, init);
        expect([line, found]).toEqual([line, expect.toBeOneOf([401, 403, 404])]);
      }
    }
  });
});

test("the token of a job is on no list of people of a branch protection, nor its user's stopwatch", async () => {
  const path = "/repos/mira/open-job";
  const url = (user: string, token: string) =>
    `${daemon.url.replace("://", `://${user}:${token}@`)}/mira/open-job.git`;
  const rule = { rule_name: "guarded", enable_push: true, enable_push_whitelist: true };
  const made = await people.by("mira", "POST", `${path}/branch_protections`, {
    ...rule,
    push_whitelist_usernames: ["mira"],
  });
  expect(made.status).toBe(201);
  await git.run("clone", "-q", url("mira", people.tokenOf("mira")), "guarded");
  const refused = await git.in("guarded", "push", url("job", jobToken), "HEAD:guarded");
  expect(refused.errors).toContain("not allowed to push to protected branch guarded");
  expect(await git.in("guarded", "push", url("job", jobToken), "HEAD:free")).toMatchObject({
    exitCode: 0,
  });
  expect(await git.in("guarded", "push", "origin", "HEAD:guarded")).toMatchObject({ exitCode: 0 });
  await people.by("mira", "POST", `${path}/issues`, { title: "Timed" });
  const start = { method: "POST", token: jobToken };
  expect(await status(`/api/v1${path}/issues/1/stopwatch/start`, start)).toBe(403);
});

describe("credentials of actions", () => {
  test("credentials of a runner and runtime tokens of a job do not authenticate elsewhere", async () => {
    for (const secret of [runner.token, runtimeToken])
      for (const credentials of [
        { token: secret },
        { bearer: secret },
        { basic: `mira:${secret}` },
        { basic: `${secret}:x-oauth-basic` },
      ]) {
        expect(await status("/api/v1/user", credentials)).toBe(401);
        expect(await status("/api/v1/repos/mira/locked", credentials)).toBe(401);
        expect(await status("/api/packages/theo/generic/pack/1/file", credentials)).toBe(401);
        const refs = "/mira/locked.git/info/refs?service=git-upload-pack";
        expect(await status(refs, credentials)).toBe(401);
        expect(await status("/api/auth/me", credentials)).toBe(401);
      }
  });

  test("credentials of a runner in the headers of its protocol do not authenticate for the API", async () => {
    const headers = { "x-runner-uuid": runner.uuid, "x-runner-token": runner.token };
    expect(await status("/api/v1/user", { headers })).toBe(401);
    expect(await status("/api/v1/repos/mira/locked", { headers })).toBe(404);
    expect(await status("/api/v1/repos/mira/locked/actions/secrets", { headers })).toBe(404);
  });
});

test("a deploy key gets no credentials for other repositories over SSH", async () => {
  const key = await client.newKey("deploy");
  const fields = { title: "deploy", key, read_only: false };
  expect((await people.by("mira", "POST", "/repos/mira/locked/keys", fields)).status).toBe(201);
  for (const line of [
    "git-lfs-authenticate theo/locked.git download",
    "git-upload-pack 'theo/locked.git'",
    "git-receive-pack 'mira/other-job.git'",
    "git-upload-archive 'theo/locked.git'",
  ]) {
    const ended = await client.ssh("deploy", ["git@127.0.0.1", line]);
    expect({ line, ...ended }).toMatchObject({ line, exitCode: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^croft: (?:Only git's|repository not found)/m);
  }
  const valid = await client.git(
    "deploy",
    "ls-remote",
    `ssh://git@127.0.0.1:${daemon.sshPort}/mira/locked.git`,
  );
  expect(valid.exitCode).toBe(0);
  // The public half is known to everyone: it is no password either.
  const [, blob = ""] = key.split(" ");
  expect(await status("/api/v1/user", { token: blob })).toBe(401);
});
