import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../daemon/contract/all.ts";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { DEPLOY_KEYS, QUERIES, toBody } from "../support/forge/route-requests.ts";

// The part of the authorization matrix about the levels of permission on a repository: each route below a repository is
// called by everyone, and must refuse callers without the permission that its contract declares.

/** The permissions of a caller on a repository, or on one unit of it. */
const levels = ["none", "read", "write", "admin", "owner"] as const;
type Level = (typeof levels)[number];
/** The part of a repository whose permission counts. `any`: one on any part will do. */
type Unit =
  | "code"
  | "issues"
  | "pulls"
  | "issues_or_pulls"
  | "releases"
  | "wiki"
  | "actions"
  | "any";
const reaches = (level: Level, needed: Level) => levels.indexOf(level) >= levels.indexOf(needed);

/** Routes that check their permission themselves: git asks for credentials where the API would refuse. */
const undeclared: Readonly<Record<string, readonly [Unit, Level]>> = {
  "forge.git.refs": ["code", "read"],
  "forge.git.fetch": ["code", "read"],
};

/** Changes by callers who may only read, and why. */
const readersMay: Readonly<Record<string, string>> = {
  "forge.repos.generate": "changes another repository",
  "forge.repos.forks.create": "changes another repository",
  "forge.repos.transfer.accept": "by the recipient of an offer",
  "forge.repos.transfer.reject": "by the recipient of an offer",
  "forge.repos.files.read": "reads",
  "forge.repos.notifications.mark": "one's own notifications",
  "forge.repos.watch.add": "one's own list",
  "forge.repos.watch.remove": "one's own list",
  "forge.issues.subscriptions.add": "one's own list",
  "forge.issues.subscriptions.remove": "one's own list",
  "forge.issues.create": "every reader writes issues",
  "forge.issues.comments.create": "every reader comments",
  "forge.issues.reactions.add": "every reader reacts",
  "forge.issues.reactions.remove": "every reader reacts",
  "forge.issues.comments.reactions.add": "every reader reacts",
  "forge.issues.comments.reactions.remove": "every reader reacts",
  "forge.repos.pulls.create": "every reader proposes",
  "forge.repos.pulls.update": "the service asks for the permission on the head",
  "forge.repos.pulls.revert": "the service asks for the permission to push",
  "forge.repos.pulls.merge.create": "the service asks for the permission to merge",
  "forge.repos.pulls.merge.delete": "the service asks for the permission to merge",
};

/**
 * Routes whose object the test does not create, or an earlier row deletes: 404 also means that the caller is admitted.
 */
const missing = new Set([
  "forge.pulls.reviews.get",
  "forge.pulls.reviews.comments",
  "forge.pulls.reviews.lines",
  "forge.repos.git.notes.get",
  "forge.repos.import.get",
  "forge.repos.import.cancel",
  "forge.repos.import.resume",
  "forge.repos.push_mirrors.get",
  "forge.repos.push_mirrors.delete",
  "forge.repos.actions.artifacts.get",
  "forge.repos.actions.artifacts.delete",
  "forge.repos.actions.artifacts.open",
  "forge.repos.actions.runs.rerun_job",
  "forge.repos.actions.jobs.logs",
  "forge.repos.actions.runners.get",
  "forge.repos.actions.runners.edit",
  "forge.repos.actions.runners.delete",
  "forge.repos.hooks.deliveries.get",
  "forge.repos.hooks.deliveries.redeliver",
  "forge.repos.watch.get",
  "forge.repos.teams.get",
  "forge.issues.blocks.remove",
  "forge.repos.commits.pull",
  "forge.repos.pulls.merge.get",
  "forge.repos.pulls.merge.delete",
]);

/** Routes without a row, and why; other tests have their refusals. */
const others: Readonly<Record<string, string>> = {
  "forge.git.push":
    "who may read may push for review; agit.test.ts and git-http.test.ts have its refusals",
  "forge.pulls.reviews.create": "every reader reviews; reviews.test.ts has its refusals",
  "forge.pulls.reviews.submit": "only for the author of the review",
  "forge.pulls.reviews.delete": "only for the author of the review",
  "forge.pulls.reviews.dismiss": "only for administrators; reviews.test.ts has its refusals",
  "forge.pulls.reviews.undismiss": "only for administrators; reviews.test.ts has its refusals",
  "forge.pulls.requested_reviewers.add": "readers who are collaborators may ask",
  "forge.pulls.requested_reviewers.remove": "readers who are collaborators may ask",
  "forge.pulls.suggestions.apply":
    "needs the permission on the head; review-lines.test.ts has its refusals",
  "forge.pulls.review_lines.reply": "every reader answers",
  "forge.pulls.review_lines.resolve": "only for those in the conversation",
  "forge.pulls.review_lines.unresolve": "only for those in the conversation",
  "forge.repos.signing_key.gpg": "404 to everyone",
  "forge.repos.signing_key.ssh": "404 to everyone",
  "forge.repos.generate": "the repository is no template",
  "forge.repos.forks.create": "each caller has one fork; forks.test.ts has its refusals",
  "forge.repos.transfer.accept": "only for the recipient of an offer",
  "forge.repos.transfer.reject": "only for the recipient of an offer",
  "forge.repos.collaborators.permission": "everyone may read their own",
  "forge.repos.times.user": "everyone may read their own",
  "forge.repos.pulls.create":
    "needs more than a permission on the base; pulls.test.ts has its refusals",
  "forge.repos.pulls.update":
    "needs the permission on the head; pull-update.test.ts has its refusals",
  "forge.repos.pulls.revert": "needs the permission to push; pull-revert.test.ts has its refusals",
  "forge.issues.times.reset": "only for times of the caller",
  "forge.issues.times.delete": "only for times of the caller",
  "forge.issues.subscriptions.add": "only for the caller",
  "forge.issues.subscriptions.remove": "only for the caller",
};

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;
let parameters: Readonly<Record<string, string>>;
const tokens: Record<string, string> = {};
const path = "/repos/works/hut";

/** The callers, by their level on each part. `coder` and `helper` are in teams of the organization. */
const callers: Readonly<Record<string, Readonly<Record<Unit, Level>>>> = {
  outsider: everywhere("none"),
  restricted: everywhere("none"),
  "public-only": everywhere("none"),
  reader: everywhere("read"),
  writer: everywhere("write"),
  administrator: everywhere("admin"),
  coder: { ...everywhere("none"), code: "write", any: "read" },
  // All issues of the paths are issues.
  helper: { ...everywhere("none"), issues: "write", issues_or_pulls: "write", any: "read" },
  owner: everywhere("owner"),
};

function everywhere(level: Level): Readonly<Record<Unit, Level>> {
  return {
    code: level,
    issues: level,
    pulls: level,
    issues_or_pulls: level,
    releases: level,
    wiki: level,
    actions: level,
    any: level,
  };
}

const routes = (allEndpoints as readonly Endpoint[]).filter(
  ({ name, path: at }) =>
    at.startsWith("/api/v1/repos/:owner/:repo") || /^forge\.(?:git|releases)\./.test(name),
);
const named = routes.map((each) => [each.name, each] as const);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of Object.keys(callers))
    if (name !== "public-only")
      await people.newUser(name, name === "restricted" ? { restricted: true } : {});
  for (const name of Object.keys(callers))
    tokens[name] =
      name === "public-only"
        ? await people.newToken("owner", ["public-only", "all"])
        : people.tokenOf(name);
  parameters = await makeObjects();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Makes a private repository of an organization with an object of every kind. */
async function makeObjects(): Promise<Record<string, string>> {
  const made = async (method: string, at: string, json?: unknown) => {
    const answer = await by("owner", method, at, json);
    if (answer.status >= 300) throw new Error(`${method} ${at}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
  await made("POST", "/orgs", { username: "works" });
  await made("POST", "/orgs/works/repos", { name: "hut", private: true, auto_init: true });
  for (const user of ["guest", "mira"]) await people.newUser(user);
  for (const [user, permission] of [
    ["guest", "read"],
    ["reader", "read"],
    ["writer", "write"],
    ["administrator", "admin"],
  ])
    await made("PUT", `${path}/collaborators/${user}`, { permission });
  for (const [user, unit] of [
    ["coder", "repo.code"],
    ["helper", "repo.issues"],
  ]) {
    const team = await made("POST", "/orgs/works/teams", {
      name: user,
      units_map: { [unit ?? ""]: "write" },
    });
    await made("PUT", `/teams/${team.id}/repos/works/hut`);
    await made("PUT", `/teams/${team.id}/members/${user}`);
  }
  const workflow =
    "on: [push, workflow_dispatch]\njobs:\n  one:\n    runs-on: x\n    steps:\n      - run: echo\n";
  await made("POST", `${path}/contents/.gitea/workflows/w.yml`, {
    content: Buffer.from(workflow).toString("base64"),
  });
  await made("POST", `${path}/contents/.editorconfig`, {
    content: Buffer.from("[*]\nindent_size = 2\n").toString("base64"),
  });
  const readme = await made("GET", `${path}/contents/README.md`);
  const sha = (await made("GET", `${path}/branches/main`)).commit.id;
  await made("POST", `${path}/tags`, { tag_name: "v1", message: "first" });
  const tag = await made("GET", `${path}/git/refs/tags/v1`);
  await made("POST", `${path}/branches`, { new_branch_name: "next" });
  const text = { title: "text", body: "text" };
  const issue = await made("POST", `${path}/issues`, text);
  const other = await made("POST", `${path}/issues`, text);
  const at = `${path}/issues/${issue.number}`;
  const comment = await made("POST", `${at}/comments`, text);
  const secondComment = await made("POST", `${at}/comments`, text);
  const time = await made("POST", `${at}/times`, { time: 60 });
  await made("POST", `${path}/contents/pull.txt`, { content: "", new_branch: "pull" });
  const pull = await made("POST", `${path}/pulls`, { title: "text", head: "pull", base: "main" });
  const label = await made("POST", `${path}/labels`, { name: "bug", color: "ff0000" });
  const milestone = await made("POST", `${path}/milestones`, text);
  await made("POST", `${at}/labels`, { labels: [label.id] });
  await made("POST", `${at}/dependencies`, { index: other.number });
  const key = await made("POST", `${path}/keys`, { title: "key", key: DEPLOY_KEYS[0] });
  const hook = await made("POST", `${path}/hooks`, {
    type: "gitea",
    config: { url: "http://127.0.0.1:9/", content_type: "json" },
  });
  await made("PUT", `${path}/topics/topic`);
  await made("PUT", `${path}/actions/secrets/KEY`, { data: "x" });
  await made("POST", `${path}/actions/variables/AREA`, { value: "x" });
  await made("POST", `${path}/branch_protections`, { rule_name: "kept" });
  const tagRule = await made("POST", `${path}/tag_protections`, {
    name_pattern: "kept",
    whitelist_usernames: ["owner"],
  });
  const form = new FormData();
  form.append("attachment", new File(["text"], "text.txt"));
  const token = tokens["owner"] ?? "";
  const attach = (to: string) =>
    daemon.request(`/api/v1${to}/assets`, { method: "POST", body: form, token });
  const file = (await attach(at)).json;
  const release = await made("POST", `${path}/releases`, { tag_name: "r1" });
  await made("POST", `${path}/releases`, { tag_name: "r2" });
  const releaseFile = (await attach(`${path}/releases/${release.id}`)).json;
  await made("POST", `${path}/wiki/new`, { title: "Home", content_base64: "" });
  const commentFile = (await attach(`${path}/issues/comments/${comment.id}`)).json;
  let run: { readonly id: number } | undefined;
  while (run === undefined) {
    [run] = (await made("GET", `${path}/actions/runs`)).workflow_runs;
    if (run === undefined) await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const [job] = (await made("GET", `${path}/actions/runs/${run.id}/jobs`)).jobs;
  return {
    owner: "works",
    repo: "hut",
    index: String(issue.number),
    pull: String(pull.number),
    base: "main",
    head: "pull",
    comment: String(comment.id),
    attachment: String(file.id),
    commentAttachment: String(commentFile.id),
    release: String(release.id),
    releaseTag: "r2",
    releaseFile: String(releaseFile.id),
    file: "r1/text.txt",
    name: "Home",
    wikiFile: "Home.md",
    label: String(label.id),
    milestone: String(milestone.id),
    time: String(time.id),
    deployKey: String(key.id),
    hook: String(hook.id),
    assignee: "writer",
    secondComment: String(secondComment.id),
    collaborator: "guest",
    user: "owner",
    topic: "topic",
    secretname: "KEY",
    variablename: "AREA",
    rule: "kept",
    tagRule: String(tagRule.id),
    team: "coder",
    branch: "next",
    tag: "v1",
    tagObject: tag.object.sha,
    ref: "main",
    fullRef: "heads/main",
    blob: readme.sha,
    sha,
    basehead: "main...next",
    filepath: "README.md",
    archive: "main.zip",
    run: String(run.id),
    job_id: String(job.id),
    attempt: "1",
    workflow_id: "w.yml",
    position: "1",
  };
}

function pathOf({ name, path: at }: Endpoint): string {
  const filled = at.replace(/\*{0,2}:(\w+)/g, (_, parameter: string) =>
    encodeURIComponent(parameters[toParameter(at, parameter)] ?? "1"),
  );
  return filled + (QUERIES[name] ?? "");
}

/** `id` means another thing in every group of routes. */
function toParameter(at: string, name: string): string {
  if (name === "sha" && at.endsWith("/git/tags/:sha")) return "tagObject";
  if (name === "attachment" && at.includes("/comments/")) return "commentAttachment";
  if (name === "attachment" && at.includes("/releases/")) return "releaseFile";
  if (name === "tag" && at.includes("/releases/")) return "releaseTag";
  if (name === "file" && at.includes("/wiki/")) return "wikiFile";
  if (name === "sha" && at.includes("/git/blobs/")) return "blob";
  if (name === "ref" && at.includes("/git/refs/")) return "fullRef";
  if (name === "index" && at.includes("/pulls/")) return "pull";
  if (name !== "id") return name;
  if (at.includes("/issues/:index/comments/:id")) return "secondComment";
  if (at.includes("/hooks/")) return "hook";
  if (at.includes("/:repo/keys/")) return "deployKey";
  if (at.includes("/tag_protections/")) return "tagRule";
  if (at.includes("/labels/")) return "label";
  if (at.includes("/milestones/")) return "milestone";
  if (at.includes("/releases/")) return "release";
  if (at.includes("/times/")) return "time";
  return "comment";
}

async function statusOf(declared: Endpoint, caller: string): Promise<number> {
  const hasBody = declared.method !== "GET" && declared.body !== undefined;
  const answer = await daemon.request(pathOf(declared), {
    method: declared.method,
    token: tokens[caller] ?? "",
    ...(hasBody ? toBody(declared) : {}),
  });
  expect(answer.status, answer.text).toBeLessThan(500);
  return answer.status;
}

/** Returns the part and the level that a route needs: those that it declares. The objects of the paths are the owner's. */
function toRow({ name, on }: Endpoint): readonly [Unit, Level] | undefined {
  if (others[name] !== undefined) return undefined;
  return on?.kind === "repository" ? [on.part, on.level] : undeclared[name];
}

test("each route below a repository declares a permission, or has a reason why not", () => {
  const open = routes.filter(
    (each) => toRow(each) === undefined && others[each.name] === undefined,
  );
  expect(open.map(({ name }) => name)).toEqual([]);
  const known = new Set(routes.map(({ name }) => name));
  const reasons = [others, undeclared, readersMay].flatMap((each) => Object.keys(each));
  expect(reasons.filter((name) => !known.has(name))).toEqual([]);
});

test("a change needs more than the permission to read, or has a reason why not", () => {
  const open = routes.filter(
    ({ method, on }) =>
      method !== "GET" &&
      on?.kind === "repository" &&
      on.level === "read" &&
      on.checkedBy !== "service",
  );
  expect(open.map(({ name }) => name).toSorted()).toEqual(Object.keys(readersMay).toSorted());
});

const withRows = named.flatMap(([name, declared]) => {
  const row = toRow(declared);
  return row === undefined ? [] : [[name, declared, row] as const];
});

describe("callers below the level of a route", () => {
  test.each(withRows)("%s refuses them", async (_name, declared, [unit, needed]) => {
    for (const [caller, has] of Object.entries(callers)) {
      if (reaches(has[unit], needed)) continue;
      expect([caller, await statusOf(declared, caller)]).toEqual([
        caller,
        expect.toBeOneOf([403, 404]),
      ]);
    }
  });
});

/** Reads first, then changes, then deletions from the inside out, so that the objects exist for all. */
const place = ({ name, method, path: at }: Endpoint) => {
  if (name === "forge.repos.transfer.start") return 950;
  if (name === "forge.repos.delete") return 951;
  // These operations lock or disable things, so the later ones would be refused.
  if (name === "forge.issues.lock" || name === "forge.repos.actions.workflows.disable") return 2;
  if (name === "forge.issues.unlock") return 3;
  if (method === "GET") return 0;
  return method === "DELETE" ? 900 - at.split("/").length : 1;
};
const inOrder = withRows.toSorted(([, one], [, other]) => place(one) - place(other));

describe("callers of the level of a route", () => {
  test.each(inOrder)("%s lets them in", async (name, declared, [unit, needed]) => {
    const lowest = Object.entries(callers).filter(([, has]) => has[unit] === needed);
    let isFirst = true;
    for (const [caller] of lowest) {
      const status = await statusOf(declared, caller);
      expect([caller, status]).not.toEqual([caller, expect.toBeOneOf([401, 403])]);
      // The first one may have deleted the object.
      if (!missing.has(name) && (isFirst || declared.method === "GET"))
        expect([caller, status]).not.toEqual([caller, 404]);
      isFirst = false;
    }
  });
});
