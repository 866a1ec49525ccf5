import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";
import { withDatabaseFile } from "../../support/skip.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const pulls = createPullRepositories(
  () => daemon,
  people,
  () => git,
);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "otto", "rosa"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** Opens a pull request from each branch, waits until it may be merged, and returns its number. */
async function open(path: string, head: string, more: object = {}, who = "mira"): Promise<number> {
  const { number } = (await pulls.open(path, head, more, who)).json;
  await pulls.expectPull(path, number, { mergeable: true });
  return number;
}

const merge = (path: string, number: number, body: object = {}, who = "mira") =>
  by(who, "POST", `${path}/pulls/${number}/merge`, { do: "merge", ...body });
const get = async (path: string) => (await by("mira", "GET", path)).json;
const headCommit = (path: string, branch = "main") => get(`${path}/commits?sha=${branch}&limit=1`);
const give = (path: string, who: string, permission: string) =>
  by("mira", "PUT", `${path}/collaborators/${who}`, { permission });
/** The kinds of the entries, without the commits that name the pull request. */
const timelineOf = async (path: string, number: number) =>
  ((await get(`${path}/issues/${number}/timeline`)) as { type: string }[])
    .map(({ type }) => type)
    .filter((type) => type !== "commit_ref");
const status = (path: string, sha: string, context: string, state: string) =>
  by("mira", "POST", `${path}/statuses/${sha}`, { context, state });

describe("styles", () => {
  test("a merge makes a merge commit, closes the pull request and leaves its head and merge base", async () => {
    const path = await pulls.create(["one"]);
    const number = await open(path, "one");
    const before = await get(`${path}/pulls/${number}`);
    expect((await by("mira", "GET", `${path}/pulls/${number}/merge`)).status).toBe(404);
    const merged = await merge(path, number, { MergeMessageField: "\nWhy\n" });
    expect([merged.status, merged.text]).toEqual([200, ""]);
    expect((await by("rosa", "GET", `${path}/pulls/${number}/merge`)).status).toBe(204);
    const [tip] = await headCommit(path);
    expect(tip.commit.message).toBe(
      `Merge pull request 'Merge one' (#${number}) from one into main\n\nWhy\n`,
    );
    expect(tip.parents.map(({ sha }: { sha: string }) => sha)).toEqual([
      before.base.sha,
      before.head.sha,
    ]);
    const after = await get(`${path}/pulls/${number}`);
    expect(after).toMatchObject({
      state: "closed",
      merged: true,
      merge_commit_sha: tip.sha,
      merge_base: before.merge_base,
      merged_by: { login: "mira" },
      head: { ref: "one", sha: before.head.sha },
    });
    expect(await timelineOf(path, number)).toEqual(["merge_pull"]);
    expect(await get(path)).toMatchObject({ open_pr_counter: 0 });
    expect((await by("mira", "GET", `${path}/commits/${tip.sha}/pull`)).json.number).toBe(number);
    const again = await merge(path, number);
    expect([again.status, again.json.message]).toEqual([405, "The PR is already merged"]);
    const reopened = await by("mira", "PATCH", `${path}/pulls/${number}`, { state: "open" });
    expect(reopened.status).toBe(412);
  });

  test("a squash has the author of the pull request, and names them when another person merges", async () => {
    const path = await pulls.create(["one"]);
    await give(path, "otto", "write");
    const number = await open(path, "one", {}, "otto");
    expect((await merge(path, number, { Do: "squash", do: undefined })).status).toBe(200);
    const [tip] = await headCommit(path);
    expect(tip.parents).toHaveLength(1);
    expect(tip).toMatchObject({ author: { login: "otto" }, committer: { login: "mira" } });
    const { name, email } = tip.commit.author;
    expect(tip.commit.message).toBe(
      `Merge one (#${number})\n\nCo-authored-by: ${name} <${email}>\n`,
    );
  });

  test("a rebase applies the commits again on top, and a rebase with a merge adds a merge commit", async () => {
    for (const style of ["rebase", "rebase-merge"]) {
      const path = await pulls.create(["one"]);
      await pulls.addFile(path, "one", "second.txt", "second\n");
      const number = await open(path, "one");
      await pulls.addFile(path, "main", "base.txt", "base\n");
      const base = await pulls.headOf(path, "main");
      await pulls.expectPull(path, number, { mergeable: true, base: { sha: base } });
      const body = { do: style, merge_title_field: "Title" };
      expect((await merge(path, number, body)).status).toBe(200);
      const list = (await get(`${path}/commits`)) as {
        commit: { message: string };
        parents: object[];
      }[];
      const messages = list.map(({ commit }) => commit.message.trim());
      const applied = ["Add second.txt", "Add one.txt", "Add base.txt", "Initial commit"];
      // Commits of the same second beside a merge come in any order.
      if (style === "rebase") expect(messages).toEqual(applied);
      else expect(messages.toSorted()).toEqual([...applied, "Title"].toSorted());
      expect(list[0]?.parents).toHaveLength(style === "rebase" ? 1 : 2);
    }
  });

  test("a fast-forward moves the base to the head, and a diverged base is refused with 409", async () => {
    const path = await pulls.create(["one", "two"]);
    const one = await open(path, "one");
    const two = await open(path, "two");
    const head = await pulls.headOf(path, "one");
    expect((await merge(path, one, { do: "fast-forward-only" })).status).toBe(200);
    expect(await pulls.headOf(path, "main")).toBe(head);
    await pulls.expectPull(path, two, { mergeable: true });
    expect((await merge(path, two, { do: "fast-forward-only" })).status).toBe(409);
    expect(await pulls.headOf(path, "main")).toBe(head);
    expect(await get(`${path}/pulls/${two}`)).toMatchObject({ state: "open", merged: false });
  });

  test("a merge by hand needs a commit of the base, and adds none", async () => {
    const path = await pulls.create(["one"]);
    const number = await open(path, "one");
    const main = await pulls.headOf(path, "main");
    const byHand = (id: string) =>
      merge(path, number, { do: "manually-merged", merge_commit_id: id });
    expect((await byHand(main)).json.message).toBe(
      "manually-merged is not allowed an allowed merge style for this repository",
    );
    await by("mira", "PATCH", path, { allow_manual_merge: true });
    for (const wrong of ["", "main", main.slice(0, 8), await pulls.headOf(path, "one")])
      expect((await byHand(wrong)).json.message).toBe("Wrong commit ID");
    expect((await byHand(main)).status).toBe(200);
    expect(await pulls.headOf(path, "main")).toBe(main);
    expect(await get(`${path}/pulls/${number}`)).toMatchObject({
      merged: true,
      merge_commit_sha: main,
    });
  });

  test("a push by git that merges the head marks the pull request where the repository wishes that", async () => {
    const path = await pulls.create(["one", "two"]);
    const one = await open(path, "one");
    const two = await open(path, "two");
    const folder = path.split("/").at(-1) ?? "";
    await pulls.clone(path, folder, "main");
    await git.in(folder, "merge", "-q", "--no-ff", "--no-edit", "origin/one");
    await git.in(folder, "push", "-q", "origin", "main");
    await pulls.expectPull(path, one, { base: { sha: await pulls.headOf(path, "main") } });
    expect(await get(`${path}/pulls/${one}`)).toMatchObject({ merged: false, state: "open" });
    await by("mira", "PATCH", path, { autodetect_manual_merge: true });
    await git.in(folder, "merge", "-q", "--no-ff", "--no-edit", "origin/two");
    await git.in(folder, "push", "-q", "origin", "main");
    const tip = await pulls.headOf(path, "main");
    await pulls.expectPull(path, two, { merged: true, merge_commit_sha: tip });
    expect(await get(`${path}/pulls/${one}`)).toMatchObject({ merged: false, state: "open" });
  });

  test("the template of a style on the default branch gives the default title", async () => {
    const path = await pulls.create(["one"]);
    await pulls.addFile(
      path,
      "main",
      ".gitea/default_merge_message/SQUASH_TEMPLATE.md",
      "${PullRequestTitle}: ${HeadBranch} ${PullRequestReference} ${ClosingIssues}\n\nbody\n",
    );
    const issue = (await by("mira", "POST", `${path}/issues`, { title: "Late" })).json.number;
    const number = await open(path, "one", { body: `Fixes #${issue}` });
    expect((await merge(path, number, { do: "squash" })).status).toBe(200);
    const [tip] = await headCommit(path);
    expect(tip.commit.message).toBe(`Merge one: one #${number} close #${issue}\n`);
  });
});

describe("refusals", () => {
  test("a merge is refused in the order of the reference", async () => {
    const path = await pulls.create(["one"]);
    await give(path, "otto", "read");
    const number = await open(path, "one");
    const refused = async (body: object, who = "mira") => {
      const { status: code, json } = await merge(path, number, body, who);
      return [code, json.message];
    };
    expect((await merge(path, 99)).status).toBe(404);
    expect(await refused({ do: "" })).toEqual([422, "[Do]: Required"]);
    expect(await refused({ do: "octopus" })).toEqual([422, "[Do]: In"]);
    expect(await refused({}, "otto")).toEqual([405, "User not allowed to merge PR"]);
    expect(
      (await people.api("POST", `${path}/pulls/${number}/merge`, { do: "merge" }, "")).status,
    ).toBe(401);
    await by("mira", "PATCH", `${path}/pulls/${number}`, { title: "WIP: one" });
    expect(await refused({})).toEqual([405, "Work in progress PRs cannot be merged"]);
    await by("mira", "PATCH", `${path}/pulls/${number}`, { title: "one" });
    await by("mira", "PATCH", path, { allow_squash_merge: false });
    expect(await refused({ do: "squash" })).toEqual([
      405,
      "squash is not allowed an allowed merge style for this repository",
    ]);
    expect(await refused({ head_commit_id: "0".repeat(40) })).toEqual([409, "head out of date"]);
    await pulls.addFile(path, "main", "one.txt", "another\n");
    const base = await pulls.headOf(path, "main");
    await pulls.expectPull(path, number, { mergeable: false, base: { sha: base } });
    expect(await refused({ force_merge: true })).toEqual([405, "Please try again later"]);
    // Nor when the conflict is known, which no time ends.
    await expect
      .poll(async () => (await merge(path, number)).headers.get("retry-after"), { interval: 20 })
      .toBe(null);
    const conflict = await merge(path, number, { merge_when_checks_succeed: true });
    expect([conflict.status, conflict.headers.get("retry-after")]).toEqual([405, null]);
    await by("mira", "PATCH", `${path}/pulls/${number}`, { state: "closed" });
    expect((await merge(path, number)).status).toBe(404);
    await by("mira", "PATCH", path, { archived: true });
    expect((await merge(path, number)).status).toBe(423);
  });

  withDatabaseFile(
    "a merge is refused with a time while the branches are compared, and one for when its checks succeed is scheduled",
    async () => {
      const path = await pulls.create(["one"]);
      const number = await open(path, "one");
      const forget = `
        const database = new (require("node:sqlite").DatabaseSync)(process.argv[1], { timeout: 10_000 });
        database.prepare("UPDATE forge_pulls SET state = 'checking' WHERE head_commit = ?").run(process.argv[2]);
        database.close();
      `;
      const { head } = await get(`${path}/pulls/${number}`);
      // From another process: locks are those of processes.
      const files = [join(daemon.home, "croft.db"), head.sha];
      await promisify(execFile)(process.execPath, ["-e", forget, ...files]);
      // The daemon may still read what it wrote itself.
      await pulls.expectPull(path, number, { mergeable: false });
      const refused = await merge(path, number);
      expect([refused.status, refused.json.message]).toEqual([405, "Please try again later"]);
      expect(refused.headers.get("retry-after")).toBe("1");
      const scheduled = await merge(path, number, { merge_when_checks_succeed: true });
      expect(scheduled.status).toBe(201);
      expect(await get(`${path}/pulls/${number}`)).toMatchObject({ merged: false });
      // A push to the base compares them.
      await pulls.addFile(path, "main", "other.txt", "other\n");
      await pulls.expectPull(path, number, { merged: true });
    },
    60_000,
  );

  test("a pull request that depends on an open issue waits for it", async () => {
    const path = await pulls.create(["one"]);
    const issue = (await by("mira", "POST", `${path}/issues`, { title: "First" })).json.number;
    const number = await open(path, "one");
    await by("mira", "POST", `${path}/issues/${number}/dependencies`, { index: issue });
    expect((await merge(path, number)).status).toBe(405);
    await by("mira", "PATCH", `${path}/issues/${issue}`, { state: "closed" });
    expect((await merge(path, number)).status).toBe(200);
  });

  test("of simultaneous merges of one pull request exactly one succeeds", async () => {
    const path = await pulls.create(["one", "two"]);
    const one = await open(path, "one");
    const two = await open(path, "two");
    const all = await Promise.all([
      ...Array.from({ length: 6 }, () => merge(path, one)),
      merge(path, two),
    ]);
    const codes = all.slice(0, 6).map((response) => response.status);
    expect(codes.toSorted()).toEqual([200, 405, 405, 405, 405, 405]);
    expect([200, 409]).toContain(all[6]?.status);
    expect(await get(`${path}/pulls/${one}`)).toMatchObject({ merged: true });
    const list = (await get(`${path}/commits`)) as { parents: object[] }[];
    expect(list.filter(({ parents }) => parents.length === 2)).toHaveLength(
      all.filter((response) => response.status === 200).length,
    );
  });
});

describe("protected branches", () => {
  const protect = (path: string, body: object) =>
    by("mira", "POST", `${path}/branch_protections`, { rule_name: "main", ...body });
  const edit = (path: string, body: object) =>
    by("mira", "PATCH", `${path}/branch_protections/main`, body);

  test("a rule with defaults refuses pushes and lets pull requests through", async () => {
    const path = await pulls.create(["one"]);
    await protect(path, {});
    const number = await open(path, "one");
    const file = await by("mira", "POST", `${path}/contents/a`, { content: "" });
    expect(file.status).toBe(403);
    expect((await merge(path, number)).status).toBe(200);
  });

  test("the list for merging binds the owner and lets a reader merge", async () => {
    const path = await pulls.create(["one"]);
    await give(path, "otto", "read");
    await protect(path, { enable_merge_whitelist: true, merge_whitelist_usernames: ["otto"] });
    const number = await open(path, "one");
    const refused = await merge(path, number, { force_merge: true });
    expect([refused.status, refused.json.message]).toEqual([405, "User not allowed to merge PR"]);
    expect((await merge(path, number, {}, "otto")).status).toBe(200);
  });

  test("required checks, approvals, an outdated head and protected files refuse a merge until they are met or overridden", async () => {
    const path = await pulls.create(["one", "two"]);
    await give(path, "otto", "write");
    await protect(path, {
      enable_status_check: true,
      status_check_contexts: ["ci/*"],
      required_approvals: 1,
      block_on_outdated_branch: true,
      protected_file_patterns: "one.txt",
    });
    const number = await open(path, "one");
    const head = await pulls.headOf(path, "one");
    const refusal = async (body: object = {}, who = "otto") =>
      (await merge(path, number, body, who)).json.message;
    expect(await refusal()).toBe("Not all required status checks successful");
    await status(path, head, "ci/a", "failure");
    expect(await refusal()).toBe("Not all required status checks successful");
    await status(path, head, "ci/a", "success");
    expect(await refusal()).toBe("Does not have enough approvals");
    expect(await refusal({ force_merge: true })).toBe("Does not have enough approvals");
    await edit(path, { required_approvals: 0 });
    expect(await refusal()).toBe("Changed protected files");
    await edit(path, { protected_file_patterns: "" });
    await edit(path, { enable_push: true });
    await pulls.addFile(path, "main", "base.txt", "base\n");
    await edit(path, { enable_push: false });
    const base = await pulls.headOf(path, "main");
    await pulls.expectPull(path, number, { mergeable: true, base: { sha: base } });
    expect(await refusal()).toBe("The head branch is behind the base branch");
    await edit(path, { block_admin_merge_override: true });
    expect(await refusal({ force_merge: true }, "mira")).toBe(
      "The head branch is behind the base branch",
    );
    await edit(path, { enable_bypass_allowlist: true, bypass_allowlist_usernames: ["otto"] });
    expect(await refusal()).toBe("The head branch is behind the base branch");
    expect((await merge(path, number, { force_merge: true }, "otto")).status).toBe(200);
  });
});

describe("after the merge", () => {
  test("the branch is deleted on request or by default, and kept where others need it", async () => {
    const path = await pulls.create(["one", "two", "three", "four"]);
    const exists = async (branch: string) =>
      (await by("mira", "GET", `${path}/branches/${branch}`)).status === 200;
    const one = await open(path, "one");
    await merge(path, one, { delete_branch_after_merge: true });
    expect(await exists("one")).toBe(false);
    expect(await timelineOf(path, one)).toEqual(["merge_pull", "delete_branch"]);
    expect(await get(`${path}/pulls/${one}`)).toMatchObject({
      merged: true,
      head: { ref: `refs/pull/${one}/head`, label: "one" },
    });
    await by("mira", "PATCH", path, { default_delete_branch_after_merge: true });
    const two = await open(path, "two");
    await merge(path, two);
    expect(await exists("two")).toBe(false);
    const three = await open(path, "three");
    await merge(path, three, { delete_branch_after_merge: false });
    expect(await exists("three")).toBe(true);
    const four = await open(path, "four");
    await by("mira", "POST", `${path}/branch_protections`, { rule_name: "four" });
    expect((await merge(path, four)).status).toBe(200);
    expect(await exists("four")).toBe(true);
  });

  test("words of title, description and comments close issues, by the rights of those who decide", async () => {
    const path = await pulls.create(["one"]);
    const other = await pulls.create([]);
    await give(path, "otto", "read");
    const newIssue = async (where: string) =>
      (await by("mira", "POST", `${where}/issues`, { title: "Late" })).json.number as number;
    const [title, text, comment, foreign, mine] = [
      await newIssue(path),
      await newIssue(path),
      await newIssue(path),
      await newIssue(other),
      await newIssue(path),
    ];
    const name = other.replace("/repos/", "");
    const number = await open(path, "one", { title: `Fix #${title}`, body: "Nothing yet" }, "otto");
    const body = `Closes: #${text}\n\n\`closes #${comment}\` and resolves ${name}#${foreign}`;
    await by("otto", "PATCH", `${path}/pulls/${number}`, { body });
    await by("otto", "POST", `${path}/issues/${number}/comments`, { body: `closes #${comment}` });
    await by("mira", "POST", `${path}/issues/${number}/comments`, { body: `closes #${mine}` });
    expect((await merge(path, number)).status).toBe(200);
    const stateOf = async (where: string, index: number) =>
      (await get(`${where}/issues/${index}`)).state as string;
    expect(await stateOf(path, title)).toBe("closed");
    expect(await stateOf(path, text)).toBe("closed");
    expect(await stateOf(path, comment)).toBe("open");
    expect(await stateOf(path, mine)).toBe("closed");
    expect(await stateOf(other, foreign)).toBe("open");
    const [tip] = await headCommit(path);
    const timeline = await get(`${path}/issues/${text}/timeline`);
    expect(timeline).toMatchObject([
      { type: "pull_ref", ref_action: "closes", ref_issue: { number } },
      { type: "close", ref_commit_sha: tip.sha },
    ]);
  });
});

describe("scheduled merges", () => {
  test("a scheduled merge happens when its checks succeed, with its style and message", async () => {
    const path = await pulls.create(["one"]);
    await give(path, "otto", "write");
    await by("mira", "POST", `${path}/branch_protections`, {
      rule_name: "main",
      enable_status_check: true,
      status_check_contexts: ["ci"],
    });
    const number = await open(path, "one");
    const schedule = (who = "otto") =>
      merge(
        path,
        number,
        {
          do: "squash",
          merge_title_field: "Later",
          merge_when_checks_succeed: true,
          delete_branch_after_merge: true,
        },
        who,
      );
    const remove = (who: string) => by(who, "DELETE", `${path}/pulls/${number}/merge`);
    expect((await remove("otto")).status).toBe(404);
    expect((await schedule()).status).toBe(201);
    expect((await schedule("mira")).status).toBe(409);
    await give(path, "rosa", "write");
    expect((await remove("rosa")).status).toBe(403);
    expect((await remove("mira")).status).toBe(204);
    expect((await schedule()).status).toBe(201);
    const old = await pulls.headOf(path, "one");
    await pulls.addFile(path, "one", "second.txt", "second\n");
    const head = await pulls.headOf(path, "one");
    await pulls.expectPull(path, number, { mergeable: true, head: { sha: head } });
    await status(path, old, "ci", "success");
    await status(path, head, "ci", "pending");
    expect(await get(`${path}/pulls/${number}`)).toMatchObject({ merged: false });
    await status(path, head, "ci", "success");
    await pulls.expectPull(path, number, { merged: true, merged_by: { login: "otto" } });
    expect((await headCommit(path))[0].commit.message).toMatch(/^Later\n/);
    await expect
      .poll(async () => (await by("mira", "GET", `${path}/branches/one`)).status)
      .toBe(404);
    await expect
      .poll(() => timelineOf(path, number))
      .toEqual([
        "pull_scheduled_merge",
        "pull_cancel_scheduled_merge",
        "pull_scheduled_merge",
        "pull_push",
        "merge_pull",
        "delete_branch",
      ]);
  });

  test("a scheduled merge with nothing missing happens at once, and closing cancels one", async () => {
    const path = await pulls.create(["one", "two"]);
    const wish = { merge_when_checks_succeed: true };
    const one = await open(path, "one");
    expect((await merge(path, one, wish)).status).toBe(201);
    expect(await get(`${path}/pulls/${one}`)).toMatchObject({ merged: true });
    await by("mira", "POST", `${path}/branch_protections`, {
      rule_name: "main",
      required_approvals: 1,
    });
    const two = await open(path, "two");
    expect((await merge(path, two, wish)).status).toBe(201);
    await by("mira", "PATCH", `${path}/pulls/${two}`, { state: "closed" });
    await by("mira", "PATCH", `${path}/pulls/${two}`, { state: "open" });
    expect((await by("mira", "DELETE", `${path}/pulls/${two}/merge`)).status).toBe(404);
  });
});
