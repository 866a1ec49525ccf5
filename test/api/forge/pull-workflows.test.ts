import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";
import { fetchTask, registerRunner } from "../../support/forge/runner-client.ts";

// Workflows of pull requests: events, filters, contexts, and what the code of a fork may do.

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const { create, addFile, open, headOf, addressOf } = createPullRepositories(
  () => daemon,
  people,
  () => git,
);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "otto", "nora"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** A workflow with one job. */
const on = (name: string, events: string, rest = "") =>
  `name: ${name}\non: ${events}\n${rest}\njobs:\n  a: { runs-on: ${name}, steps: [{ run: echo }] }\n`;

const addWorkflow = (path: string, branch: string, file: string, text: string) =>
  addFile(path, branch, `.gitea/workflows/${file}`, text);

interface ShownRun {
  readonly id: number;
  readonly event: string;
  readonly path: string;
  readonly status: string;
  readonly conclusion?: string;
  readonly [key: string]: unknown;
}

const runsOf = async (path: string, query = ""): Promise<readonly ShownRun[]> =>
  (await by("mira", "GET", `${path}/actions/runs?limit=50${query}`)).json.workflow_runs;

/** Waits for runs of one file. Returns them, the newest first. */
async function waitFor(path: string, file: string, count: number): Promise<readonly ShownRun[]> {
  return vi.waitUntil(
    async () => {
      const runs = (await runsOf(path)).filter((run) => run.path.startsWith(`${file}@`));
      return runs.length >= count && runs;
    },
    { timeout: 60_000, interval: 50 },
  );
}

/** Registers a runner of the repository for the jobs of a workflow. Returns a function that takes the next one. */
async function newRunner(path: string, label: string) {
  const { json } = await by("mira", "POST", `${path}/actions/runners/registration-token`);
  const runner = await registerRunner(daemon, json.token, { name: label, labels: [label] });
  return async () => {
    const { task } = await fetchTask(daemon, runner);
    if (task === undefined) return undefined;
    const context = task.context as Record<string, string> & { event: Record<string, unknown> };
    return { context, secrets: task.secrets, token: context["token"] ?? "" };
  };
}

/** Forks a repository, and adds a branch with files to the fork by git. */
async function forkWith(path: string, who: string, files: Readonly<Record<string, string>>) {
  const { json } = await by(who, "POST", `${path}/forks`, {});
  const fork = `/repos/${json.full_name}`;
  await pushTo(fork, who, files);
  return fork;
}

async function pushTo(fork: string, who: string, files: Readonly<Record<string, string>>) {
  const folder = fork.slice(1).replaceAll("/", "-");
  const cloned = await git.run("clone", "-q", addressOf(fork, who), folder);
  if (cloned.exitCode === 0) await git.in(folder, "checkout", "-q", "-b", "topic");
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(git.folder, folder, file)), { recursive: true });
    await writeFile(join(git.folder, folder, file), text);
  }
  await git.in(folder, "add", ".");
  await git.in(folder, "commit", "-q", "--allow-empty", "-m", "change");
  expect(await git.in(folder, "push", "-q", "origin", "topic")).toMatchObject({ exitCode: 0 });
  return folder;
}

const statusesOf = async (path: string, commit: string) =>
  (await by("mira", "GET", `${path}/commits/${commit}/status`)).json;

test("pull requests start workflows by types, branches and paths, with their contexts", async () => {
  const path = await create(["topic", "dev"]);
  const name = path.split("/")[3] ?? "";
  await addWorkflow(path, "topic", "usual.yml", on("usual", "pull_request"));
  const every = `[opened, edited, closed, reopened, synchronize, labeled, unlabeled, assigned,
      review_requested, ready_for_review, converted_to_draft]`;
  await addWorkflow(
    path,
    "topic",
    "every.yml",
    on("every", `{ pull_request: { types: ${every} } }`),
  );
  await addWorkflow(path, "topic", "dev.yml", on("dev", "{ pull_request: { branches: [dev] } }"));
  await addWorkflow(
    path,
    "topic",
    "docs.yml",
    on("docs", "{ pull_request: { paths: ['docs/**'] } }"),
  );
  await addWorkflow(
    path,
    "topic",
    "code.yml",
    on("code", "{ pull_request: { paths-ignore: ['docs/**'] } }"),
  );
  // Only the head has it, so the base has nothing to start.
  await addWorkflow(path, "topic", "target.yml", on("target", "pull_request_target"));
  const takeUsual = await newRunner(path, "usual");
  const made = await open(path, "topic");
  expect(made.status).toBe(201);
  const head = await headOf(path, "topic");
  const [first] = await waitFor(path, "usual.yml", 1);
  expect(first).toMatchObject({
    event: "pull_request",
    display_title: "Merge topic",
    head_sha: head,
    path: "usual.yml@refs/pull/1/head",
    pull_requests: [{ number: 1, head: { ref: "topic", sha: head }, base: { ref: "main" } }],
  });
  expect(first?.["head_branch"]).toBeUndefined();
  await waitFor(path, "code.yml", 1);
  await waitFor(path, "every.yml", 1);
  expect(await takeUsual()).toMatchObject({
    context: {
      event_name: "pull_request",
      ref: "refs/pull/1/head",
      ref_name: "1/head",
      ref_type: "branch",
      sha: head,
      head_ref: "topic",
      base_ref: "main",
      repository: `mira/${name}`,
      event: {
        action: "opened",
        number: 1,
        pull_request: { number: 1, head: { sha: head }, base: { ref: "main" } },
        sender: { login: "mira" },
      },
    },
  });
  // The statuses are those of the head.
  const combined = await statusesOf(path, head);
  expect(combined.statuses.map(({ context }: { context: string }) => context)).toContain(
    "usual / a (pull_request)",
  );
  // A push to the head.
  await addFile(path, "topic", "docs/a.md", "text\n");
  await waitFor(path, "usual.yml", 2);
  await waitFor(path, "docs.yml", 1);
  await waitFor(path, "every.yml", 2);
  // Everything else.
  const label = (await by("mira", "POST", `${path}/labels`, { name: "a", color: "ff0000" })).json;
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  const edit = (json: object) => by("mira", "PATCH", `${path}/pulls/1`, json);
  await by("mira", "POST", `${path}/issues/1/labels`, { labels: [label.id] });
  await by("mira", "DELETE", `${path}/issues/1/labels/${label.id}`);
  await edit({ title: "WIP: it" });
  await edit({ title: "It" });
  await edit({ assignees: ["otto"] });
  await by("mira", "POST", `${path}/pulls/1/requested_reviewers`, { reviewers: ["otto"] });
  await edit({ state: "closed" });
  await edit({ state: "open" });
  await edit({ base: "dev" });
  const actions = new Set<unknown>();
  const takeEvery = await newRunner(path, "every");
  await waitFor(path, "every.yml", 11);
  for (let task = await takeEvery(); task !== undefined; task = await takeEvery())
    actions.add(task.context.event["action"]);
  expect([...actions].toSorted()).toEqual([
    "assigned",
    "closed",
    "converted_to_draft",
    "edited",
    "label_cleared",
    "label_updated",
    "opened",
    "ready_for_review",
    "reopened",
    "review_requested",
    "synchronized",
  ]);
  const files = new Set((await runsOf(path, "&event=pull_request_target")).map((run) => run.path));
  expect(files).toEqual(new Set());
  // Reopened, and again when the base is dev: `usual` names no types.
  await waitFor(path, "usual.yml", 3);
  expect((await runsOf(path)).filter((run) => run.path.startsWith("dev.yml"))).toEqual([]);
});

test("a commit or a title with [skip ci] starts no workflow of pull_request", async () => {
  const path = await create(["one", "two", "three"]);
  for (const branch of ["one", "two", "three"])
    await addWorkflow(path, branch, "ci.yml", on("ci", "pull_request"));
  const skipped = await by("mira", "POST", `${path}/contents/x.txt`, {
    content: "",
    message: "x [skip ci]",
    branch: "one",
  });
  expect(skipped.status).toBe(201);
  await open(path, "one");
  await open(path, "two", { title: "Two [ci skip]" });
  await open(path, "three");
  const [run] = await waitFor(path, "ci.yml", 1);
  expect(run).toMatchObject({ path: "ci.yml@refs/pull/3/head" });
  expect(await runsOf(path)).toHaveLength(1);
});

test("the first run of a stranger's fork waits for approval, then has no secrets and reads alone", async () => {
  const path = await create([]);
  await by("mira", "PUT", `${path}/actions/secrets/KEY`, { data: "very-secret" });
  await addWorkflow(path, "main", "target.yml", on("target", "pull_request_target"));
  const fork = await forkWith(path, "otto", {
    ".gitea/workflows/ci.yml": on("ci", "pull_request", "permissions: write-all"),
    ".gitea/workflows/target.yml": on("target", "pull_request_target", "run-name: of the fork"),
  });
  const owner = fork.split("/")[2] ?? "";
  const made = await open(path, `${owner}:topic`, {}, "otto");
  expect(made.status).toBe(201);
  const head: string = made.json.head.sha;
  const [waiting] = await waitFor(path, "ci.yml", 1);
  expect(waiting).toMatchObject({ status: "waiting", needs_approval: true });
  expect(await statusesOf(path, head)).toMatchObject({ state: "pending" });
  const take = await newRunner(path, "ci");
  expect(await take()).toBeUndefined();
  // The target's run has the workflow of the base, its secrets and a token that may write.
  const [targeted] = await waitFor(path, "target.yml", 1);
  const base = await headOf(path, "main");
  expect(targeted).toMatchObject({ event: "pull_request_target", head_sha: base });
  expect(targeted?.["display_title"]).toBe("Merge otto:topic");
  const takeTarget = await newRunner(path, "target");
  const target = await takeTarget();
  expect(target).toMatchObject({
    secrets: { KEY: "very-secret" },
    context: { ref: "refs/heads/main", sha: base, head_ref: "topic", base_ref: "main" },
  });
  const combined = await statusesOf(path, head);
  expect(combined.statuses.map(({ context }: { context: string }) => context).toSorted()).toEqual([
    "ci / a (pull_request)",
    "target / a (pull_request_target)",
  ]);
  const approve = (who: string, id: number | undefined) =>
    by(who, "POST", `${path}/actions/runs/${id}/approve`);
  expect((await approve("otto", waiting?.id)).status).toBe(403);
  expect((await approve("mira", targeted?.id)).status).toBe(409);
  const approved = await approve("mira", waiting?.id);
  expect(approved).toMatchObject({ status: 200, json: { id: waiting?.id, status: "queued" } });
  expect(approved.json.needs_approval).toBeUndefined();
  expect((await approve("mira", waiting?.id)).status).toBe(200);
  const task = await take();
  expect(Object.keys(task?.secrets ?? {}).toSorted()).toEqual(["GITEA_TOKEN", "GITHUB_TOKEN"]);
  expect(task?.context).toMatchObject({
    ref: "refs/pull/1/head",
    sha: head,
    head_ref: "topic",
    event: { pull_request: { head: { repo: { full_name: fork.replace("/repos/", "") } } } },
  });
  const asJob = (method: string, rest: string, json?: object) =>
    people.api(method, `${path}${rest}`, json, task?.token);
  expect((await asJob("GET", "/pulls/1")).status).toBe(200);
  expect((await asJob("POST", "/issues/1/comments", { body: "hi" })).status).toBe(403);
  expect((await asJob("POST", `/statuses/${head}`, { state: "success" })).status).toBe(403);
  expect((await asJob("POST", `/actions/runs/${waiting?.id}/approve`)).status).toBe(403);
  // git serves the head of the fork to the job.
  const origin = daemon.url.replace("://", `://x:${task?.token}@`);
  const fetched = await git.run(
    "ls-remote",
    `${origin}${path.replace("/repos", "")}.git`,
    "refs/pull/1/head",
  );
  expect(fetched.output).toContain(head);
  // The next run of the same person needs no approval, until somebody else starts one.
  await pushTo(fork, "otto", { "a.txt": "more" });
  const [second] = await waitFor(path, "ci.yml", 2);
  expect(second).toMatchObject({ status: "queued" });
});

test("a new head and the close of a pull request cancel runs that wait for approval", async () => {
  const path = await create([]);
  const fork = await forkWith(path, "otto", {
    ".gitea/workflows/ci.yml": on("ci", "pull_request"),
  });
  await open(path, `${fork.split("/")[2]}:topic`, {}, "otto");
  const [first] = await waitFor(path, "ci.yml", 1);
  await pushTo(fork, "otto", { "a.txt": "more" });
  const [second] = await waitFor(path, "ci.yml", 2);
  expect(await stateOf(path, first?.id)).toMatchObject({ conclusion: "cancelled" });
  expect(await stateOf(path, second?.id)).toMatchObject({
    status: "waiting",
    needs_approval: true,
  });
  // The pull request closes with its fork.
  expect((await by("otto", "DELETE", fork)).status).toBe(204);
  expect(await stateOf(path, second?.id)).toMatchObject({ conclusion: "cancelled" });
  const late = await by("mira", "POST", `${path}/actions/runs/${second?.id}/approve`);
  expect(late.status).toBe(409);
});

test("reviews and comments of a pull request start workflows", async () => {
  const path = await create(["topic"]);
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  const reviews = "{ pull_request_review: { types: [submitted, dismissed] } }";
  await addWorkflow(path, "topic", "reviews.yml", on("reviews", reviews));
  await addWorkflow(path, "topic", "lines.yml", on("lines", "pull_request_review_comment"));
  await addWorkflow(path, "main", "comments.yml", on("comments", "pull_request_comment"));
  await addWorkflow(path, "main", "both.yml", on("both", "issue_comment"));
  await addWorkflow(path, "main", "issues.yml", on("issues", "issues"));
  await open(path, "topic");
  const review = await by("otto", "POST", `${path}/pulls/1/reviews`, {
    event: "REQUEST_CHANGES",
    body: "Please not",
    comments: [{ path: "topic.txt", body: "This line", new_position: 1 }],
  });
  expect(review.status).toBe(200);
  await waitFor(path, "reviews.yml", 1);
  await waitFor(path, "lines.yml", 1);
  const take = await newRunner(path, "reviews");
  expect((await take())?.context.event).toMatchObject({
    action: "submitted",
    review: { state: "changes_requested", body: "Please not", user: { login: "otto" } },
    pull_request: { number: 1 },
  });
  const takeLine = await newRunner(path, "lines");
  expect((await takeLine())?.context.event).toMatchObject({
    action: "created",
    comment: { path: "topic.txt", body: "This line" },
  });
  await by("mira", "POST", `${path}/pulls/1/reviews/${review.json.id}/dismissals`, {
    message: "x",
  });
  await waitFor(path, "reviews.yml", 2);
  await by("mira", "POST", `${path}/issues/1/comments`, { body: "hello" });
  await waitFor(path, "comments.yml", 1);
  const [both] = await waitFor(path, "both.yml", 1);
  expect(both).toMatchObject({ event: "issue_comment", head_branch: "main" });
  // A pull request is no issue to `on: issues`.
  expect((await runsOf(path, "&event=issues")).length).toBe(0);
});

const stateOf = async (path: string, id: number | undefined) =>
  (await by("mira", "GET", `${path}/actions/runs/${id}`)).json;

test("a push to the head cancels by concurrency, and a fork's group is apart from that of the repository", async () => {
  const path = await create(["mine"]);
  const deploy = "concurrency: { group: deploy, cancel-in-progress: true }";
  await addWorkflow(path, "main", "deploy.yml", on("deploy", "push", deploy));
  const [deployment] = await waitFor(path, "deploy.yml", 1);
  const own = "concurrency: { group: '${{ github.ref }}', cancel-in-progress: true }";
  await addWorkflow(path, "mine", "own.yml", on("own", "pull_request", own));
  await open(path, "mine");
  const [first] = await waitFor(path, "own.yml", 1);
  await addFile(path, "mine", "more.txt", "more\n");
  const [second] = await waitFor(path, "own.yml", 2);
  expect(await stateOf(path, first?.id)).toMatchObject({ conclusion: "cancelled" });
  expect(await stateOf(path, second?.id)).toMatchObject({ status: "queued" });
  const fork = await forkWith(path, "nora", {
    ".gitea/workflows/own.yml": on("own", "pull_request", deploy),
  });
  await open(path, `${fork.split("/")[2]}:topic`, {}, "nora");
  const [third] = await waitFor(path, "own.yml", 3);
  expect((await by("mira", "POST", `${path}/actions/runs/${third?.id}/approve`)).status).toBe(200);
  expect(await stateOf(path, third?.id)).toMatchObject({ status: "queued" });
  expect(await stateOf(path, deployment?.id)).toMatchObject({ status: "queued" });
  // A job with a group of its own has that of its pull request as well.
  await pushTo(fork, "nora", {
    ".gitea/workflows/own.yml": on("own", "pull_request").replace(
      "runs-on",
      "concurrency: { group: deploy, cancel-in-progress: true }, runs-on",
    ),
  });
  const [fourth] = await waitFor(path, "own.yml", 4);
  expect(fourth).toMatchObject({ status: "queued" });
  expect(await stateOf(path, deployment?.id)).toMatchObject({ status: "queued" });
});

test("a pull request without a branch is that of a stranger, and its run is approved on its page", async () => {
  const path = await create([]);
  const home = path.replace("/repos", "");
  const folder = "agit-clone";
  await git.run("clone", "-q", addressOf(path, "nora"), folder);
  await mkdir(join(git.folder, folder, ".gitea/workflows"), { recursive: true });
  await writeFile(join(git.folder, folder, ".gitea/workflows/ci.yml"), on("ci", "pull_request"));
  await git.in(folder, "add", ".");
  await git.in(folder, "commit", "-q", "-m", "A workflow");
  const pushed = await git.in(folder, "push", "origin", "HEAD:refs/for/main", "-o", "topic=ci");
  expect(pushed).toMatchObject({ exitCode: 0 });
  const [run] = await waitFor(path, "ci.yml", 1);
  expect(run).toMatchObject({ status: "waiting", needs_approval: true });
  const page = `${home}/actions/runs/${run?.id}`;
  expect((await daemon.request(page)).text).not.toContain("Approve and run");
  const body = new URLSearchParams({ user_name: "mira", password: "user-password" });
  const signedIn = await fetch(`${daemon.url}/user/login`, {
    method: "POST",
    body,
    redirect: "manual",
    headers: { origin: daemon.url },
  });
  const cookie = (signedIn.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
  const { text } = await daemon.request(page, { headers: { cookie } });
  expect(text).toContain("Approve and run");
  const token = /name="form_token"[^>]*value="([^"]+)"/.exec(text)?.[1] ?? "";
  const approve = (fields: Record<string, string>) =>
    fetch(`${daemon.url}${page}/approve`, {
      method: "POST",
      body: new URLSearchParams(fields),
      redirect: "manual",
      headers: { cookie, origin: daemon.url },
    });
  expect((await approve({ form_token: "x" })).status).toBe(403);
  expect(await stateOf(path, run?.id)).toMatchObject({ needs_approval: true });
  expect((await approve({ form_token: token })).status).toBe(303);
  expect(await stateOf(path, run?.id)).toMatchObject({ status: "queued" });
  expect((await daemon.request(`${home}/actions`)).text).toContain("#1");
});

test("a merge starts workflows of the merge commit, and what a job does starts none", async () => {
  const path = await create(["topic"]);
  const types = "{ pull_request: { types: [closed, synchronize] } }";
  await addWorkflow(path, "topic", "closed.yml", on("closed", types));
  const push = "permissions: write-all";
  await addWorkflow(
    path,
    "topic",
    "job.yml",
    on("job", "{ pull_request: { types: [opened] } }", push),
  );
  await open(path, "topic");
  await waitFor(path, "job.yml", 1);
  const take = await newRunner(path, "job");
  const task = await take();
  const origin = daemon.url.replace("://", `://x:${task?.token}@`);
  await git.run("clone", "-q", "-b", "topic", `${origin}${path.replace("/repos", "")}.git`, "job");
  await git.in("job", "commit", "-q", "--allow-empty", "-m", "by the job");
  expect(await git.in("job", "push", "-q", "origin", "topic")).toMatchObject({ exitCode: 0 });
  const head = await headOf(path, "topic");
  await vi.waitUntil(
    async () => {
      const pull = (await by("mira", "GET", `${path}/pulls/1`)).json;
      return pull.head.sha === head && pull.mergeable === true;
    },
    { timeout: 60_000, interval: 50 },
  );
  expect((await by("mira", "POST", `${path}/pulls/1/merge`, { do: "merge" })).status).toBe(200);
  const [run] = await waitFor(path, "closed.yml", 1);
  const { merge_commit_sha: merged } = (await by("mira", "GET", `${path}/pulls/1`)).json;
  expect(run).toMatchObject({ head_sha: merged, head_branch: "main" });
  expect(await waitFor(path, "closed.yml", 1)).toHaveLength(1);
  const { statuses } = await statusesOf(path, head);
  expect(statuses.map(({ context }: { context: string }) => context)).toContain(
    "closed / a (pull_request)",
  );
});
