import { execFileSync } from "node:child_process";
import { readdir, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { withOneDaemon } from "../../support/skip.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
  await people.newUser("otto");
  await people.newUser("rosa");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** A repository of mira's that otto may write to, with a clone of otto's. */
async function newRepository(): Promise<{ path: string; name: string }> {
  const name = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${name}`;
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  const address = `${daemon.url.replace("://", `://otto:${people.tokenOf("otto")}@`)}/mira/${name}.git`;
  expect(await git.run("clone", "-q", address, name)).toMatchObject({ exitCode: 0 });
  return { path, name };
}

const protect = (path: string, body: object) =>
  by("mira", "POST", `${path}/branch_protections`, { enable_push: false, ...body });

async function commit(name: string, message: string): Promise<void> {
  await git.in(name, "commit", "-q", "--allow-empty", "-m", message);
}

const upper = (text: string) => text.toUpperCase();
const pktLine = (text: string) =>
  `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, "0")}${text}`;
const shallowLines = () => pktLine(`shallow ${"1".repeat(40)}`).repeat(350_000);

test("patterns of files hold on pushes and on the API: protected ones for everybody, unprotected ones lift the rule", async () => {
  const { path, name } = await newRepository();
  await protect(path, {
    rule_name: "main",
    enable_push: true,
    enable_push_whitelist: true,
    push_whitelist_usernames: ["mira"],
    protected_file_patterns: "*.lock",
    unprotected_file_patterns: "docs/**;*.txt",
  });
  const write = async (who: string, file: string) =>
    (await by(who, "POST", `${path}/contents/${file}`, { content: "", branch: "main" })).json
      .message ?? "written";
  expect(await write("mira", "a.md")).toBe("written");
  expect(await write("mira", "a.lock")).toBe(
    "path is protected and can not be changed [path: a.lock]",
  );
  expect(await write("otto", "docs/deep/a.md")).toBe("written");
  expect(await write("otto", "b.md")).toBe("user cannot commit to repo [user: otto]");
  const push = async (...files: readonly string[]) => {
    await git.in(name, "fetch", "-q");
    await git.in(name, "reset", "-q", "--hard", "origin/main");
    for (const file of files) {
      await writeFile(join(git.folder, name, file), "text");
      await git.in(name, "add", file);
    }
    await git.in(name, "commit", "-q", "-m", "Push");
    return (await git.in(name, "push", "origin", "HEAD:main")).errors;
  };
  expect(await push("one.txt", "two.txt")).not.toContain("rejected");
  expect(await push("three.txt", "three.md")).toContain(
    "not allowed to push to protected branch main",
  );
  await by("mira", "PATCH", `${path}/branch_protections/main`, {
    push_whitelist_usernames: ["mira", "otto"],
  });
  expect(await push("three.md")).not.toContain("rejected");
  expect(await push("four.md", "four.lock")).toContain(
    "branch main is protected from changing file four.lock",
  );
});

describe("rules", () => {
  test("a branch protection is created, shown, changed and removed", async () => {
    const { path } = await newRepository();
    const made = await protect(path, {
      rule_name: "release/*",
      enable_push: true,
      enable_push_whitelist: true,
      push_whitelist_usernames: ["otto"],
      required_approvals: 2,
    });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      branch_name: "",
      rule_name: "release/*",
      priority: 1,
      enable_push: true,
      push_whitelist_usernames: ["otto"],
      push_whitelist_teams: [],
      required_approvals: 2,
      enable_force_push: false,
    });
    const rule = `${path}/branch_protections/release/*`;
    const edited = await by("mira", "PATCH", rule, { enable_force_push: true });
    expect(edited.json).toMatchObject({ enable_force_push: true, required_approvals: 2 });
    expect((await protect(path, { rule_name: "release/*" })).status).toBe(403);
    expect((await protect(path, {})).status).toBe(400);
    const unknown = { rule_name: "x", push_whitelist_usernames: ["nobody-here"] };
    expect((await protect(path, unknown)).status).toBe(422);
    expect((await by("mira", "GET", `${path}/branch_protections`)).json).toHaveLength(1);
    expect((await by("otto", "GET", `${path}/branch_protections`)).status).toBe(403);
    expect((await by("mira", "DELETE", rule)).status).toBe(204);
    expect((await by("mira", "GET", rule)).status).toBe(404);
  });

  test("the requirements of pull requests are stored and shown, and a branch shows who may merge", async () => {
    const { path } = await newRepository();
    const requirements = {
      enable_merge_whitelist: true,
      merge_whitelist_usernames: ["otto"],
      enable_status_check: true,
      status_check_contexts: ["ci/*", "lint"],
      required_approvals: 2,
      enable_approvals_whitelist: true,
      approvals_whitelist_username: ["mira"],
      block_on_rejected_reviews: true,
      block_on_official_review_requests: true,
      block_on_outdated_branch: true,
      dismiss_stale_approvals: true,
      ignore_stale_approvals: true,
      protected_file_patterns: "*.lock;docs/**",
      block_admin_merge_override: true,
      enable_bypass_allowlist: true,
      bypass_allowlist_usernames: ["mira"],
      priority: 7,
    };
    const made = await protect(path, { rule_name: "main", ...requirements });
    expect(made.json).toMatchObject(requirements);
    const branchFor = async (name: string) => (await by(name, "GET", `${path}/branches/main`)).json;
    expect(await branchFor("otto")).toMatchObject({
      user_can_push: false,
      user_can_merge: true,
      required_approvals: 2,
      enable_status_check: true,
      status_check_contexts: ["ci/*", "lint"],
    });
    // The list binds the owner, too.
    expect(await branchFor("mira")).toMatchObject({ user_can_push: false, user_can_merge: false });
    await by("mira", "PATCH", `${path}/branch_protections/main`, { enable_merge_whitelist: false });
    expect(await branchFor("mira")).toMatchObject({ user_can_push: false, user_can_merge: true });
    expect(await branchFor("rosa")).toMatchObject({ user_can_merge: false });
  });

  test.each([
    [{ require_signed_commits: true }, "does not verify signatures of commits"],
    [{ required_approvals: -1 }, "required_approvals must not be negative"],
    [{ status_check_contexts: ["ci/["] }, "invalid pattern: ci/["],
    [{ protected_file_patterns: "a;{b" }, "invalid pattern: {b"],
    [{ status_check_contexts: Array.from({ length: 101 }, (_, at) => `c${at}`) }, "at most 100"],
  ])("a rule that could not be enforced is refused in words: %j", async (fields, text) => {
    const { path } = await newRepository();
    const made = await protect(path, { rule_name: "main", ...fields });
    expect(made.status).toBe(422);
    expect(made.json.message).toContain(text);
    await protect(path, { rule_name: "main" });
    const edited = await by("mira", "PATCH", `${path}/branch_protections/main`, fields);
    expect(edited.status).toBe(422);
  });

  test("a branch shows whether it is protected, and the name of the rule to administrators only", async () => {
    const { path } = await newRepository();
    await protect(path, { rule_name: "ma*" });
    expect((await by("mira", "GET", `${path}/branches/main`)).json).toMatchObject({
      protected: true,
      user_can_push: false,
      effective_branch_protection_name: "ma*",
    });
    const branchForOtto = (await by("otto", "GET", `${path}/branches/main`)).json;
    expect(branchForOtto.effective_branch_protection_name).toBe("");
  });
});

describe("pushes by git", () => {
  test("a rule without settings refuses every push; one with pushes refuses deletion and forced pushes", async () => {
    const { path, name } = await newRepository();
    const made = await by("mira", "POST", `${path}/branch_protections`, { rule_name: "main" });
    expect(made.json).toMatchObject({ enable_push: false, enable_force_push: false });
    await commit(name, "one");
    const refused = await git.in(name, "push", "origin", "main");
    expect(refused.errors).toContain("not allowed to push to protected branch main");
    await by("mira", "PATCH", `${path}/branch_protections/main`, { enable_push: true });
    expect(await git.in(name, "push", "origin", "main")).toMatchObject({ exitCode: 0 });
    await git.in(name, "reset", "-q", "--hard", "HEAD~1");
    await commit(name, "another");
    for (const words of [
      ["--force", "origin", "main"],
      ["origin", "--delete", "main"],
    ])
      expect((await git.in(name, "push", ...words)).exitCode).not.toBe(0);
  });

  test("a branch that allows no pushes refuses those of its owner and its deletion", async () => {
    const { path, name } = await newRepository();
    await protect(path, { rule_name: "main" });
    await commit(name, "not allowed");
    const pushed = await git.in(name, "push", "origin", "main");
    expect(pushed.exitCode).not.toBe(0);
    expect(pushed.errors).toContain("not allowed to push to protected branch main");
    const gone = await git.in(name, "push", "origin", "--delete", "main");
    expect(gone.errors).toContain("branch main is protected from deletion");
    expect((await by("mira", "GET", `${path}/commits`)).headers.get("x-total")).toBe("1");
    expect(await git.in(name, "push", "origin", "main:other")).toMatchObject({ exitCode: 0 });
  });

  test("a branch stays protected when another name of the push has a Unicode line separator", async () => {
    const { path, name } = await newRepository();
    await protect(path, { rule_name: "main" });
    await commit(name, "not allowed");
    const pushed = await git.in(name, "push", "origin", "main", "main:refs/heads/a\u2028b");
    expect(pushed.errors).toContain("not allowed to push to protected branch main");
    expect((await by("mira", "GET", `${path}/commits`)).headers.get("x-total")).toBe("1");
    expect(await git.in(name, "push", "origin", "main:refs/heads/a\u2028b")).toMatchObject({
      exitCode: 0,
    });
  });

  test.each([
    [
      "a signed list",
      (command: string) => [
        pktLine("push-cert\0report-status"),
        pktLine("certificate version 0.1\n"),
        pktLine("\n"),
        pktLine(`${command.split("\0")[0]}\n`),
        // Git refuses a list without a signature by itself, but accepts one that does not verify.
        pktLine("-----BEGIN PGP SIGNATURE-----\n"),
        pktLine("-----END PGP SIGNATURE-----\n"),
        pktLine("push-cert-end\n"),
      ],
    ],
    [
      "ids in capitals",
      (command: string) => [pktLine(command.replace(/\b[0-9a-f]{40}\b/g, upper))],
    ],
    ["more than 16 MiB", (command: string) => [shallowLines(), pktLine(command)]],
  ])("a push whose commands cannot be checked moves nothing: %s", async (_, toLines) => {
    const { path, name } = await newRepository();
    expect(await git.in(name, "push", "origin", "main:kept")).toMatchObject({ exitCode: 0 });
    await protect(path, { rule_name: "kept" });
    const head = (await git.in(name, "rev-parse", "HEAD")).output.trim();
    const command = `${head} ${"0".repeat(40)} refs/heads/kept\0report-status`;
    const response = await fetch(
      `${daemon.url}/mira/${path.split("/").at(-1)}.git/git-receive-pack`,
      {
        method: "POST",
        headers: {
          Authorization: `Basic ${Buffer.from(`otto:${people.tokenOf("otto")}`).toString("base64")}`,
          "Content-Type": "application/x-git-receive-pack-request",
        },
        body: `${toLines(command).join("")}0000`,
      },
    );
    expect(await response.text()).toBe(
      pktLine(
        "ERR croft: the list of refs is too long or cannot be read; push fewer refs at a time, without --signed\n",
      ),
    );
    expect((await by("mira", "GET", `${path}/branches/kept`)).status).toBe(200);
  });

  test("only users on the list may push to a protected branch", async () => {
    const { path, name } = await newRepository();
    const rule = { rule_name: "main", enable_push: true, enable_push_whitelist: true };
    await protect(path, { ...rule, push_whitelist_usernames: ["mira"] });
    await commit(name, "one");
    expect((await git.in(name, "push", "origin", "main")).exitCode).not.toBe(0);
    await by("mira", "PATCH", `${path}/branch_protections/main`, {
      push_whitelist_usernames: ["otto"],
    });
    expect(await git.in(name, "push", "origin", "main")).toMatchObject({ exitCode: 0 });
  });

  test("a protected branch refuses a forced push, and an unprotected one accepts it", async () => {
    const { path, name } = await newRepository();
    await protect(path, { rule_name: "main", enable_push: true });
    await commit(name, "one");
    expect(await git.in(name, "push", "-q", "origin", "main", "main:free")).toMatchObject({
      exitCode: 0,
    });
    await git.in(name, "reset", "-q", "--hard", "HEAD~1");
    await commit(name, "another");
    const forced = await git.in(name, "push", "--force", "origin", "main");
    expect(forced.exitCode).not.toBe(0);
    expect(forced.errors).toContain("branch main is protected from force push");
    expect(await git.in(name, "push", "--force", "origin", "main:free")).toMatchObject({
      exitCode: 0,
    });
    await by("mira", "PATCH", `${path}/branch_protections/main`, { enable_force_push: true });
    expect(await git.in(name, "push", "--force", "origin", "main")).toMatchObject({ exitCode: 0 });
  });
});

describe("pushes that are written by hand", () => {
  const zero = "0".repeat(40);

  /** Starts a push of otto's; each write is a chunk. */
  function startPush(path: string) {
    const request = httpRequest(
      `${daemon.url}/mira/${path.split("/").at(-1)}.git/git-receive-pack`,
      {
        method: "POST",
        auth: `otto:${people.tokenOf("otto")}`,
        headers: { "Content-Type": "application/x-git-receive-pack-request" },
      },
    );
    const answer = new Promise<string>((resolve, reject) => {
      request.on("response", (response) => text(response).then(resolve, () => resolve("")));
      request.on("error", reject);
    });
    return { request, answer };
  }

  const push = (path: string, body: string | Buffer): Promise<string> => {
    const { request, answer } = startPush(path);
    request.end(body);
    return answer;
  };
  const headOf = async (path: string, branch = "main") =>
    (await by("mira", "GET", `${path}/branches/${branch}`)).json.commit.id as string;

  test("the capabilities of a line that git reads none from do not let a deletion pass", async () => {
    const { path } = await newRepository();
    const head = await headOf(path);
    await by("mira", "POST", `${path}/branches`, { new_branch_name: "kept" });
    await protect(path, { rule_name: "kept" });
    const command = pktLine(`${head} ${zero} refs/heads/kept\0report-status`);
    const odd = pktLine(`shallow ${head}\0push-options`);
    expect(await push(path, `${odd}${command}0000`)).toContain("cannot be read");
    // An incomplete list reaches git as little as an unreadable one.
    await push(path, `${command}`);
    expect(await push(path, `${command}0000`)).toContain("protected from deletion");
    expect(await headOf(path, "kept")).toBe(head);
  });

  test("a branch whose name is not UTF-8 cannot be pushed to past a pattern that protects it", async () => {
    const { path, name } = await newRepository();
    const head = await headOf(path);
    const folder = join(daemon.home, "repositories", `${path.replace("/repos/", "")}.git`);
    await commit(name, "one");
    expect(await git.in(name, "push", "-q", "origin", "main")).toMatchObject({ exitCode: 0 });
    const second = await headOf(path);
    await writeFile(
      join(folder, "packed-refs"),
      Buffer.from(`${second} refs/heads/kept-\xe9\n`, "latin1"),
    );
    await protect(path, { rule_name: "kept-*", enable_push: true });
    const forced = Buffer.from(
      `0000${second} ${head} refs/heads/kept-\xe9\0report-status`,
      "latin1",
    );
    forced.write(forced.byteLength.toString(16).padStart(4, "0"));
    const refused = await push(path, Buffer.concat([forced, Buffer.from("0000")]));
    expect(refused).toContain("the name of a ref is not UTF-8");
  });

  // The second of several daemons has a folder of hooks of its own.
  for (const [what, run] of [
    ["a new rule", test],
    ["a lost hook", withOneDaemon],
  ] as const)
    run(`${what} between the list of a push and its objects refuses it`, async () => {
      const { path, name } = await newRepository();
      const head = await headOf(path);
      await commit(name, "one");
      const next = (await git.in(name, "rev-parse", "HEAD")).output.trim();
      const pack = execFileSync("git", ["pack-objects", "--revs", "--stdout", "-q"], {
        cwd: join(git.folder, name),
        input: `${next}\n^${head}\n`,
      });
      const objects = join(
        daemon.home,
        "repositories",
        `${path.replace("/repos/", "")}.git/objects`,
      );
      const { request, answer } = startPush(path);
      request.write(`${pktLine(`${head} ${next} refs/heads/main\0report-status`)}0000`);
      request.write(pack.subarray(0, 20));
      // Git has the list and the beginning of the pack.
      await expect
        .poll(() => readdir(objects), { interval: 5 })
        .toContainEqual(expect.stringMatching(/incoming/));
      if (what === "a new rule") await protect(path, { rule_name: "main" });
      else await rm(join(daemon.home, "tmp/git-hooks"), { recursive: true });
      request.end(pack.subarray(20));
      expect(await answer).toContain("ng refs/heads/main");
      expect(await headOf(path)).toBe(head);
      // The hook is written again.
      expect(await git.in(name, "push", "-q", "origin", "main:other")).toMatchObject({
        exitCode: 0,
      });
    });

  test("a symbolic ref of an adopted repository is no way to another branch", async () => {
    const { path, name } = await newRepository();
    const head = await headOf(path);
    await protect(path, { rule_name: "main" });
    const folder = join(daemon.home, "repositories", `${path.replace("/repos/", "")}.git`);
    await writeFile(join(folder, "refs/heads/alias"), "ref: refs/heads/main\n");
    await commit(name, "one");
    const pushed = await git.in(name, "push", "origin", "main:alias");
    expect(pushed.errors).toContain("refs/heads/alias is a symbolic ref");
    const file = await by("otto", "POST", `${path}/contents/a`, { branch: "alias", content: "" });
    expect(file.status).toBe(403);
    expect(await headOf(path)).toBe(head);
  });
});

describe("writes through the API", () => {
  test("writes and deletions through the API obey the branch protection", async () => {
    const { path } = await newRepository();
    const first = (await by("mira", "GET", `${path}/branches/main`)).json.commit.id;
    const file = (name: string) => by("otto", "POST", `${path}/contents/${name}`, { content: "" });
    expect((await file("a")).status).toBe(201);
    await protect(path, { rule_name: "main", enable_push: true });
    await protect(path, { rule_name: "kept/*" });
    expect((await file("b")).status).toBe(201);
    const back = { new_commit_id: first, force: true };
    expect((await by("otto", "PUT", `${path}/branches/main`, back)).status).toBe(403);
    expect((await by("mira", "PATCH", `${path}/branches/main`, { name: "x" })).status).toBe(403);
    expect((await by("mira", "GET", path)).json.default_branch).toBe("main");
    const made = { new_branch_name: "kept/one" };
    expect((await by("otto", "POST", `${path}/branches`, made)).status).toBe(403);
    await by("mira", "PATCH", `${path}/branch_protections/main`, { enable_push: false });
    const refused = await file("c");
    expect([refused.status, refused.json.message]).toEqual([
      403,
      "user cannot commit to repo [user: otto]",
    ]);
  });
});

test("rules are ordered by their ids, and the first that matches counts", async () => {
  const { path } = await newRepository();
  const rules = [];
  for (const rule_name of ["priority", "m*", "main"])
    rules.push((await protect(path, { rule_name, enable_push: rule_name === "main" })).json);
  const order = (ids: readonly number[], who = "mira") =>
    by(who, "POST", `${path}/branch_protections/priority`, { ids });
  const names = async () =>
    (await by("mira", "GET", `${path}/branch_protections`)).json.map(
      (rule: { rule_name: string }) => rule.rule_name,
    );
  const [own, pattern, main] = rules.map(({ id }) => id);
  expect((await order([main, own, pattern])).status).toBe(204);
  expect(await names()).toEqual(["main", "priority", "m*"]);
  expect((await by("mira", "GET", `${path}/branch_protections/main`)).json).toMatchObject({
    id: main,
    priority: 1,
  });
  for (const ids of [[main, main], [main, 999_999], [-1]])
    expect((await order(ids)).status).toBe(422);
  expect((await order([pattern], "otto")).status).toBe(403);
  expect(await names()).toEqual(["main", "priority", "m*"]);
  // A rule may have the name of the address.
  for (const method of ["GET", "DELETE"])
    expect((await by("mira", method, `${path}/branch_protections/priority`)).status).toBeLessThan(
      300,
    );
  const foreign = await newRepository();
  const other = (await protect(foreign.path, { rule_name: "main" })).json;
  const largest = { rule_name: "last", priority: Number.MAX_SAFE_INTEGER };
  for (const rule of [largest, { rule_name: "behind" }])
    expect((await protect(foreign.path, rule)).json.priority).toBe(Number.MAX_SAFE_INTEGER);
  expect((await order([other.id])).status).toBe(422);
});
