import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { newUser, by, api } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** Creates a repository with commits of these authors; returns their ids, the oldest first. */
async function newRepository(owner: string, authors: readonly string[], fields: object = {}) {
  const name = await people.newRepository(owner, fields);
  await git.run("init", "-q", "-b", "main", name);
  const ids: string[] = [];
  for (const author of authors) {
    const email = `${author}@example.org`;
    const as = ["-c", "user.name=x", "-c", `user.email=${email}`];
    const who = `${author} <${email}>`;
    await git.in(name, ...as, "commit", "-q", "--allow-empty", "-m", "x", `--author=${who}`);
    ids.push((await git.in(name, "rev-parse", "HEAD")).output.trim());
  }
  const url = daemon.url.replace("://", `://${owner}:${people.tokenOf(owner)}@`);
  const pushed = await git.in(name, "push", "-q", `${url}/${owner}/${name}.git`, "main");
  expect(pushed).toMatchObject({ exitCode: 0 });
  return { path: `/repos/${owner}/${name}`, ids };
}

/** Returns the commits of a user's unread threads and marks these as read. */
async function newsOf(user: string): Promise<string[]> {
  const path = "/notifications?subject-type=commit&status-types=unread";
  const titles = (await by(user, "GET", path)).json.map(
    ({ subject }: { subject: { title: string } }) => subject.title,
  );
  await by(user, "PUT", "/notifications");
  return titles;
}

describe("a commit status", () => {
  test("a commit status is created, listed and combined", async () => {
    const mira = await newUser();
    const { path, ids } = await newRepository(mira, [mira]);
    const [sha = ""] = ids;
    const report = (json: object) => by(mira, "POST", `${path}/statuses/${sha}`, json);
    const none = await by(mira, "GET", `${path}/commits/main/status`);
    expect(none.json).toMatchObject({ state: "pending", sha, total_count: 0, statuses: [] });
    const made = await report({
      state: "pending",
      context: "build",
      description: "it runs",
      target_url: "https://ci.example/1",
    });
    expect(made.status).toBe(201);
    expectWireShape("CommitStatus", made.json);
    expect(made.json).toMatchObject({
      status: "pending",
      context: "build",
      creator: { login: mira },
      url: expect.stringContaining(`${path}/statuses/${sha}`),
    });
    expect((await report({ state: "success" })).json.context).toBe("default");
    const combine = async (ref: string) =>
      (await by(mira, "GET", `${path}/commits/${ref}/status`)).json;
    expect((await combine("main")).state).toBe("pending");
    await report({ state: "warning", context: "build" });
    expect(await combine(sha.slice(0, 8))).toMatchObject({
      state: "success",
      total_count: 2,
      statuses: [
        { context: "build", status: "warning" },
        { context: "default", status: "success" },
      ],
      repository: { full_name: path.slice("/repos/".length) },
    });
    await report({ state: "error", context: "lint" });
    expect((await combine("main")).state).toBe("failure");
    const listed = await by(mira, "GET", `${path}/statuses/${sha}`);
    const words = ({ json }: TestAnswer) => json.map(({ status }: { status: string }) => status);
    expect(words(listed)).toEqual(["error", "warning", "success", "pending"]);
    expect(listed.headers.get("x-total-count")).toBe("4");
    expect(
      words(await by(mira, "GET", `${path}/commits/main/statuses?sort=oldest&limit=2`)),
    ).toEqual(["pending", "success"]);
    expect(words(await by(mira, "GET", `${path}/statuses/${sha}?state=error`))).toEqual(["error"]);
  });

  test("a commit status needs write access and an existing commit", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const { path, ids } = await newRepository(mira, [mira]);
    const hidden = await newRepository(mira, [mira], { private: true });
    const [sha = ""] = ids;
    const json = { state: "success" };
    expect((await api("POST", `${path}/statuses/${sha}`, json, "")).status).toBe(401);
    expect((await by(nora, "POST", `${path}/statuses/${sha}`, json)).status).toBe(403);
    expect((await by(nora, "POST", `${hidden.path}/statuses/${hidden.ids[0]}`, json)).status).toBe(
      404,
    );
    expect((await api("GET", `${hidden.path}/commits/main/status`, undefined, "")).status).toBe(
      404,
    );
    expect((await api("GET", `${path}/commits/main/status`, undefined, "")).status).toBe(200);
    for (const odd of ["0".repeat(40), "--all", "HEAD~1", "main..main", "a b", "x^{}", "@", "-n1"])
      for (const rest of [
        `/statuses/${encodeURIComponent(odd)}`,
        `/commits/${encodeURIComponent(odd)}/status`,
      ])
        expect([odd, (await by(mira, "GET", path + rest)).status]).toEqual([odd, 404]);
    expect((await by(mira, "POST", `${path}/statuses/${"f".repeat(40)}`, json)).status).toBe(404);
    for (const wrong of [
      {},
      { state: "great" },
      { state: "success", target_url: "javascript:x" },
      { state: "success", context: "x".repeat(256) },
      { state: "success", description: "a\u0000" },
    ])
      expect((await by(mira, "POST", `${path}/statuses/${sha}`, wrong)).status).toBe(422);
    const empty = await newRepository(mira, [mira]);
    expect((await by(mira, "GET", `${empty.path}/commits/none/status`)).status).toBe(404);
  });
});

test("a commit status is published to webhooks", async () => {
  await using receiver = await startReceiver();
  const mira = await newUser();
  const { path, ids } = await newRepository(mira, [mira]);
  const [sha = ""] = ids;
  for (const type of ["gitea", "discord"])
    await by(mira, "POST", `${path}/hooks`, {
      type,
      config: { url: `${receiver.url}/${type}`, content_type: "json" },
      events: ["status"],
      active: true,
    });
  await by(mira, "POST", `${path}/statuses/${sha}`, { state: "failure", context: "build" });
  const [plain] = await receiver.waitFor(1, (each) => each.path === "/gitea");
  expect(plain?.headers["x-gitea-event"]).toBe("status");
  expect(JSON.parse(plain?.body ?? "")).toMatchObject({
    sha,
    state: "failure",
    context: "build",
    commit: { id: sha, author: { username: mira } },
    repository: { full_name: path.slice("/repos/".length) },
    sender: { login: mira },
  });
  const [chat] = await receiver.waitFor(1, (each) => each.path === "/discord");
  expect(chat?.body).toContain(`build of ${sha.slice(0, 7)}: failure`);
});

describe("a failed or recovered run", () => {
  test("a failed commit status notifies the author of the commit only", async () => {
    const [mira, nora, stranger] = [await newUser(), await newUser(), await newUser()];
    const { path, ids } = await newRepository(mira, [nora, nora, mira, "nobody-here"]);
    await newsOf(mira);
    const [first = "", second = "", third = "", fourth = ""] = ids;
    const report = (sha: string, state: string, context = "build") =>
      by(mira, "POST", `${path}/statuses/${sha}`, { state, context });
    await report(first, "pending");
    await report(first, "success");
    expect(await newsOf(nora)).toEqual([]);
    await report(first, "failure");
    expect(await newsOf(nora)).toEqual([first]);
    await report(first, "error");
    await report(first, "success", "lint");
    await report(second, "pending");
    await report(second, "skipped");
    expect(await newsOf(nora)).toEqual([]);
    await report(second, "failure");
    expect(await newsOf(nora)).toEqual([second]);
    await report(third, "success");
    await report(fourth, "failure");
    expect([await newsOf(nora), await newsOf(mira), await newsOf(stranger)]).toEqual([[], [], []]);
    await report(second, "success");
    expect(await newsOf(nora)).toEqual([second]);
    await report(second, "success");
    expect(await newsOf(nora)).toEqual([]);
  });

  test("a failed commit status does not notify an author who cannot see the repository", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const { path, ids } = await newRepository(mira, [nora], { private: true });
    await by(mira, "POST", `${path}/statuses/${ids[0]}`, { state: "failure" });
    expect(await newsOf(nora)).toEqual([]);
  });
});
