import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { type FakeAnswer, fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const program = [
  process.execPath,
  join(import.meta.dirname, "..", "..", "..", "..", "bin", "croft.js"),
] as const;

const runFile = promisify(execFile);

test("the lines of pr read their flags", async () => {
  expect(await optionsOf("pr view", ["mira/notes#7", "--comments"])).toEqual({
    pull: { owner: "mira", repo: "notes", index: "7" },
    comments: true,
  });
  expect(await refusalOf("pr view", ["mira/notes"])).toContain("OWNER/NAME#NUMBER");
  expect(await optionsOf("pr create", ["mira/notes", "-r", "otto,acme/core", "--no-push"])).toEqual(
    {
      repository: { owner: "mira", repo: "notes" },
      reviewer: ["otto", "acme/core"],
      push: false,
      maintainerEdit: true,
    },
  );
});

describe("a merge of a pull request whose branches are still compared", () => {
  const later: FakeAnswer = {
    status: 405,
    headers: { "retry-after": "1" },
    body: { message: "Please try again later" },
  };
  const merge = async (answers: readonly FakeAnswer[], ...flags: readonly string[]) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/v1/repos/mira/notes/pulls/7/merge": answers,
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
    const line = ["pr", "merge", "mira/notes#7", "--json", ...flags];
    let now = 0;
    const ran = await runCli(line, { home: home.path, hurried: true, now: () => (now += 30_000) });
    return { ...ran, count: daemon.requests.length };
  };

  test("the command waits, with a progress, and merges", async () => {
    const ran = await merge([later, later, later, { status: 200 }], "--progress", "json");
    expect(ran.json()).toEqual({ merged: true, scheduled: false, number: "7" });
    expect(ran.count).toBe(4);
    expect(ran.err).toContain('"item":"the comparison of mira/notes#7 with its base"');
    expect((await merge([later, { status: 201 }], "--auto")).json()).toMatchObject({
      scheduled: true,
    });
  });

  test("the command does not wait for a conflict, and ends with the refusal that follows the comparison", async () => {
    const { headers: _, ...conflict } = later;
    const refused = await merge([conflict]);
    expect([refused.count, refused.error()]).toEqual([
      1,
      expect.objectContaining({ http_status: 405, message: "Please try again later" }),
    ]);
    const after = await merge([later, conflict]);
    expect([after.count, after.error()]).toEqual([
      2,
      expect.objectContaining({ http_status: 405 }),
    ]);
  });

  test("the command ends when the comparison has not ended after ten minutes", async () => {
    expect((await merge([later])).error()).toMatchObject({ code: "not_finished" });
  });
});

test("a branch has the pull request of its own repository, not that of a fork with the same branch", async () => {
  await using home = await temporaryHome();
  const pull = (number: number, repository: string) => ({
    number,
    head: { label: "main", ref: "main", repo: { full_name: repository } },
  });
  const list = "GET /api/v1/repos/mira/notes/pulls";
  const pulls = { [list]: { body: [pull(9, "eve/notes")] } };
  const close = { "PATCH /api/v1/repos/mira/notes/pulls/9": { body: pull(9, "eve/notes") } };
  await using daemon = await fakeDaemon({ ...pulls, ...close });
  await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
  const remote = `${daemon.url}/mira/notes.git`;
  await runFile("git", ["init", "--quiet", "-b", "main", home.path]);
  await runFile("git", ["-C", home.path, "remote", "add", "origin", remote]);
  const env = { PATH: process.env["PATH"] };
  const ran = await runCli(["pr", "close", "--json"], { home: home.path, env });
  expect(ran.error()).toMatchObject({ code: "not_found" });
  expect(daemon.requests.map(({ method }) => method)).not.toContain("PATCH");
});

test("a pull request goes its way from inside a clone", { timeout: 120_000 }, async () => {
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  await using other = await temporaryHome();
  const people = createForgePeople(() => daemon);
  for (const name of ["mira", "otto"]) await people.newUser(name);
  await signIn(home.path, { url: daemon.url, forgeToken: people.tokenOf("mira") });
  await signIn(other.path, { url: daemon.url, forgeToken: people.tokenOf("otto") });
  await people.by("mira", "POST", "/user/repos", { name: "notes", auto_init: true });
  const access = { permission: "write" };
  await people.by("mira", "PUT", "/repos/mira/notes/collaborators/otto", access);

  const actor = (path: string) => {
    const env = {
      PATH: process.env["PATH"],
      HOME: path,
      GIT_TERMINAL_PROMPT: "0",
      GIT_AUTHOR_NAME: "Mira",
      GIT_AUTHOR_EMAIL: "mira@example.org",
      GIT_COMMITTER_NAME: "Mira",
      GIT_COMMITTER_EMAIL: "mira@example.org",
      CROFT_HOME: path,
      CROFT_CREDENTIAL_STORE: "file",
    };
    const work = join(path, "work");
    const inFolder = (folder: string) => ({
      git: (...words: readonly string[]) =>
        runFile("git", [...words], { cwd: join(work, folder), env }),
      croft: (...line: readonly string[]) =>
        runCli(["--json", "--quiet", ...line], {
          home: path,
          workingDirectory: join(work, folder),
          env,
          program,
        }),
    });
    return { work, inFolder };
  };
  const mira = actor(home.path);
  const otto = actor(other.path);
  for (const { work, inFolder } of [mira, otto]) {
    await mkdir(work);
    expect((await inFolder("").croft("repo", "clone", "mira/notes")).code).toBe(0);
  }
  const { git, croft } = mira.inFolder("notes");
  await git("switch", "--quiet", "-c", "feature/add-tea");
  await writeFile(join(mira.work, "notes", "tea.txt"), "tea\n");
  await git("add", ".");
  await git("commit", "--quiet", "-m", "Add tea\n\nIt is green.");

  expect((await croft("pr", "view")).error()).toMatchObject({ code: "not_found" });
  const made = await croft("pr", "create", "--draft", "--reviewer", "otto");
  expect(made.json()).toMatchObject({
    number: 1,
    title: "WIP: Add tea",
    body: "It is green.",
    draft: true,
    base: { ref: "main" },
    head: { ref: "feature/add-tea" },
    requested_reviewers: [{ login: "otto" }],
  });
  expect((await croft("pr", "create")).error()).toMatchObject({ code: "conflict" });
  expect((await croft("pr", "ready")).json()).toMatchObject({ title: "Add tea", draft: false });
  expect((await croft("pr", "list")).json()).toMatchObject([{ number: 1 }]);
  expect((await croft("pr", "status")).json()).toMatchObject([{ relation: "created" }]);

  const reviewer = otto.inFolder("notes");
  expect((await reviewer.croft("pr", "status")).json()).toMatchObject([{ relation: "review" }]);
  expect((await reviewer.croft("pr", "checkout", "1")).json()).toMatchObject({
    branch: "feature/add-tea",
    number: 1,
  });
  expect(await readFile(join(otto.work, "notes", "tea.txt"), "utf8")).toBe("tea\n");
  expect((await reviewer.croft("pr", "checkout", "1")).code).toBe(0);
  expect((await reviewer.croft("pr", "review")).error()).toMatchObject({ code: "usage" });
  const approved = await reviewer.croft("pr", "review", "--approve");
  expect(approved.json()).toMatchObject({ state: "APPROVED", official: true });
  expect((await reviewer.croft("pr", "comment", "--body", "Good")).code).toBe(0);

  const suggestion = {
    event: "COMMENT",
    body: "Or:",
    comments: [{ path: "tea.txt", new_position: 1, body: "```suggestion\ngreen tea\n```" }],
  };
  await people.by("otto", "POST", "/repos/mira/notes/pulls/1/reviews", suggestion);
  const { line_list: onLines } = (await croft("pr", "view", "--comments")).json() as {
    line_list: { id: number; suggestion: string[] }[];
  };
  expect(onLines).toMatchObject([{ path: "tea.txt", suggestion: ["green tea"], line: 1 }]);
  const id = String(onLines[0]?.id);
  expect((await croft("pr", "apply", "1", "tea")).error()).toMatchObject({ code: "usage" });
  const applied = await croft("pr", "apply", "1", id, "--message", "Green tea");
  expect(applied.json()).toMatchObject({ sha: expect.stringMatching(/^[0-9a-f]{40}$/) });

  const viewed = await croft("pr", "view", "--comments");
  expect(viewed.json()).toMatchObject({
    comment_list: [{ body: "Good" }],
    review_list: [{ state: "APPROVED" }, { state: "COMMENT" }],
  });
  const sha = (viewed.json() as { head: { sha: string } }).head.sha;
  const status = { context: "build", state: "success" };
  await people.by("mira", "POST", `/repos/mira/notes/statuses/${sha}`, status);
  expect((await croft("pr", "checks")).json()).toMatchObject([
    { context: "build", status: "success" },
  ]);
  // More than a page of both.
  for (let count = 0; count < 30; count += 1) {
    const more = { context: `build ${count}`, state: "success" };
    await people.by("mira", "POST", `/repos/mira/notes/statuses/${sha}`, more);
    const comment = { event: "COMMENT", body: `${count}` };
    await people.by("otto", "POST", "/repos/mira/notes/pulls/1/reviews", comment);
  }
  expect((await croft("pr", "checks")).json()).toHaveLength(31);
  const all = (await croft("pr", "view", "--comments")).json() as { review_list: object[] };
  expect(all.review_list).toHaveLength(32);
  await people.by("mira", "POST", "/repos/mira/notes/labels", { name: "drink", color: "00ff00" });
  const edited = await croft("pr", "edit", "1", "--title", "Add green tea", "--add-label", "drink");
  expect(edited.json()).toMatchObject({ title: "Add green tea", labels: [{ name: "drink" }] });
  expect((await croft("pr", "edit", "1")).error()).toMatchObject({ code: "missing_input" });
  expect((await croft("pr", "close", "1", "--comment", "Later")).json()).toMatchObject({
    state: "closed",
    comments: 34,
  });
  expect((await croft("pr", "reopen", "1")).json()).toMatchObject({ state: "open" });

  const diff = await runCli(["pr", "diff", "mira/notes#1"], { home: home.path });
  expect(diff.out).toContain("+green tea");
  const files = await croft("pr", "diff", "--name-only");
  expect(files.json()).toMatchObject([{ filename: "tea.txt", status: "added" }]);
  expect(await refusalOf("pr merge", ["mira/notes#1", "--squash", "--rebase"])).toContain(
    "exclude",
  );
  const topped = { content: "bWlsawo=", message: "Add milk" };
  await people.by("mira", "POST", "/repos/mira/notes/contents/milk.txt", topped);
  expect((await croft("pr", "update", "1")).json()).toEqual({ updated: true, number: "1" });
  const merge = () => croft("pr", "merge", "--squash", "--delete-branch", "--subject", "Tea");
  // The daemon computes in the background whether the branches conflict.
  await expect
    .poll(async () => (await croft("pr", "view", "1")).json(), { timeout: 60_000 })
    .toMatchObject({ mergeable: true });
  expect((await merge()).json()).toEqual({ merged: true, scheduled: false, number: "1" });
  expect((await croft("pr", "view", "1")).json()).toMatchObject({ merged: true });
  await git("fetch", "--quiet", await addressOf());
  const { stdout } = await git("log", "-1", "--format=%s", "FETCH_HEAD");
  expect(stdout).toBe("Tea\n");

  const title = "Über-Tee: the cup is hot!";
  await people.by("mira", "POST", "/repos/mira/notes/issues", { title });
  const developed = await croft("issue", "develop", "mira/notes#2");
  const branch = "2-uber-tee-the-cup-is-hot";
  expect(developed.json()).toEqual({ branch, checked_out: true, issue: 2 });
  expect((await git("branch", "--show-current")).stdout.trim()).toBe(branch);
  expect((await croft("issue", "develop", "mira/notes#2")).error()).toMatchObject({
    code: "conflict",
  });
  const cool = ["issue", "develop", "mira/notes#2", "--name", "cool", "--no-checkout"] as const;
  expect((await croft(...cool)).json()).toMatchObject({ branch: "cool", checked_out: false });
  await git("commit", "--quiet", "--allow-empty", "-m", "Cool the cup");
  // An editor of the line is opened without a terminal as well.
  const editor = "sed -i -e '1s/cup/mug/' -e '$aFixes #2.'";
  expect((await croft("pr", "create", "--editor", editor)).json()).toMatchObject({
    title: "2 uber tee the mug is hot",
    body: expect.stringMatching(/- Cool the cup\nFixes #2\.$/),
    head: { ref: branch },
  });
  // A text that could not be sent is kept.
  const { hint } = (await croft("pr", "create", "--editor", editor)).error();
  const kept = /^your version is kept in (.*)$/.exec(String(hint))?.[1] ?? "";
  expect(await readFile(kept, "utf8")).toContain("mug is hot");
  await rm(dirname(kept), { recursive: true });

  async function addressOf(): Promise<string> {
    return (await git("remote", "get-url", "origin")).stdout
      .trim()
      .replace("://", `://mira:${people.tokenOf("mira")}@`);
  }
  const reverted = await croft("pr", "revert", "1", "--branch", "no-tea", "--body", "Too hot.");
  expect(reverted.json()).toMatchObject({
    body: "Too hot.",
    head: { ref: "no-tea" },
    base: { ref: "main" },
    changed_files: expect.any(Number),
  });
});
