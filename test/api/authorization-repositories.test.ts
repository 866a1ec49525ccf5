import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../daemon/contract/all.ts";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { DEPLOY_KEYS, QUERIES, toBody } from "../support/forge/route-requests.ts";

// The part of the authorization matrix about the levels of permission on a repository: each route below a repository has a
// row that names the level it needs, and is called by everyone. A route without a row fails.

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

/** Rows: the part and the level that a route needs. The objects of the paths are the owner's. */
const rows: Readonly<Record<string, readonly [Unit, Level]>> = {
  "forge.repos.branches.list": ["code", "read"],
  "forge.repos.branches.get": ["code", "read"],
  "forge.repos.commits.list": ["code", "read"],
  "forge.repos.git.commits.get": ["code", "read"],
  "forge.repos.git.commits.diff": ["code", "read"],
  "forge.repos.git.commits.patch": ["code", "read"],
  "forge.repos.compare": ["code", "read"],
  "forge.repos.contents.root": ["code", "read"],
  "forge.repos.contents.get": ["code", "read"],
  "forge.repos.contents_ext.root": ["code", "read"],
  "forge.repos.contents_ext.get": ["code", "read"],
  "forge.repos.raw": ["code", "read"],
  "forge.repos.media": ["code", "read"],
  "forge.repos.archive": ["code", "read"],
  "forge.repos.issue_templates.list": ["code", "read"],
  "forge.repos.issue_config.get": ["code", "read"],
  "forge.repos.issue_config.validate": ["code", "read"],
  "forge.repos.git.refs.list": ["code", "read"],
  "forge.repos.git.refs.get": ["code", "read"],
  "forge.repos.git.trees.get": ["code", "read"],
  "forge.repos.git.blobs.get": ["code", "read"],
  "forge.repos.files.get": ["code", "read"],
  "forge.repos.files.read": ["code", "read"],
  "forge.repos.editorconfig.get": ["code", "read"],
  "forge.repos.tags.list": ["code", "read"],
  "forge.repos.tags.get": ["code", "read"],
  "forge.repos.git.tags.get": ["code", "read"],
  "forge.repos.languages": ["code", "read"],
  "forge.repos.git.refs.names": ["code", "read"],
  "forge.repos.blame": ["code", "read"],
  "forge.repos.code.search": ["code", "read"],
  "forge.repos.code.find": ["code", "read"],
  "forge.repos.contributors.list": ["code", "read"],
  "forge.repos.branches.divergence": ["code", "read"],
  "forge.repos.statuses.list": ["code", "read"],
  "forge.repos.commits.statuses": ["code", "read"],
  "forge.repos.commits.status": ["code", "read"],
  "forge.repos.branches.create": ["code", "write"],
  "forge.repos.branches.update": ["code", "write"],
  "forge.repos.branches.rename": ["code", "write"],
  "forge.repos.branches.delete": ["code", "write"],
  "forge.repos.contents.create": ["code", "write"],
  "forge.repos.contents.update": ["code", "write"],
  "forge.repos.contents.delete": ["code", "write"],
  "forge.repos.contents.change": ["code", "write"],
  "forge.repos.tags.create": ["code", "write"],
  "forge.repos.tags.delete": ["code", "write"],
  "forge.repos.statuses.create": ["code", "write"],
  "forge.repos.reviewers.list": ["code", "write"],
  "forge.repos.protections.list": ["code", "admin"],
  "forge.repos.protections.get": ["code", "admin"],
  "forge.repos.protections.create": ["code", "admin"],
  "forge.repos.protections.edit": ["code", "admin"],
  "forge.repos.protections.delete": ["code", "admin"],
  "forge.repos.protections.order": ["code", "admin"],
  "forge.repos.actions.secrets.list": ["actions", "owner"],
  "forge.repos.actions.secrets.put": ["actions", "owner"],
  "forge.repos.actions.secrets.delete": ["actions", "owner"],
  "forge.repos.actions.variables.list": ["actions", "owner"],
  "forge.repos.actions.variables.get": ["actions", "owner"],
  "forge.repos.actions.variables.create": ["actions", "owner"],
  "forge.repos.actions.variables.edit": ["actions", "owner"],
  "forge.repos.actions.variables.delete": ["actions", "owner"],
  "forge.repos.actions.runners.list": ["actions", "owner"],
  "forge.repos.actions.runners.token": ["actions", "owner"],
  "forge.repos.actions.artifacts.list": ["actions", "read"],
  "forge.repos.actions.runs.artifacts": ["actions", "read"],
  "forge.repos.actions.runs.list": ["actions", "read"],
  "forge.repos.actions.runs.get": ["actions", "read"],
  "forge.repos.actions.runs.summary": ["actions", "read"],
  "forge.repos.actions.runs.attempts.get": ["actions", "read"],
  "forge.repos.actions.runs.attempts.jobs": ["actions", "read"],
  "forge.repos.actions.runs.jobs": ["actions", "read"],
  "forge.repos.actions.jobs.list": ["actions", "read"],
  "forge.repos.actions.tasks.list": ["actions", "read"],
  "forge.repos.actions.jobs.get": ["actions", "read"],
  "forge.repos.actions.workflows.list": ["actions", "read"],
  "forge.repos.actions.workflows.get": ["actions", "read"],
  "forge.repos.actions.workflows.inputs": ["actions", "read"],
  "forge.repos.actions.workflows.runs": ["actions", "read"],
  "forge.repos.actions.runs.delete": ["actions", "write"],
  "forge.repos.actions.runs.approve": ["actions", "write"],
  "forge.repos.actions.runs.cancel": ["actions", "write"],
  "forge.repos.actions.runs.rerun": ["actions", "write"],
  "forge.repos.actions.runs.rerun_failed": ["actions", "write"],
  "forge.repos.actions.workflows.enable": ["actions", "write"],
  "forge.repos.actions.workflows.disable": ["actions", "write"],
  "forge.repos.actions.workflows.dispatch": ["actions", "write"],
  "forge.repos.get": ["any", "read"],
  "forge.repos.assignees.list": ["any", "read"],
  "forge.repos.assignees.check": ["any", "read"],
  "forge.repos.watch.add": ["any", "read"],
  "forge.repos.watch.remove": ["any", "read"],
  "forge.repos.collaborators.list": ["any", "read"],
  "forge.repos.collaborators.get": ["any", "read"],
  "forge.repos.teams.list": ["any", "read"],
  "forge.repos.activities.list": ["any", "read"],
  "forge.repos.stargazers.list": ["any", "read"],
  "forge.repos.subscribers.list": ["any", "read"],
  "forge.repos.topics.list": ["any", "read"],
  "forge.repos.forks.list": ["code", "read"],
  "forge.repos.notifications.list": ["any", "read"],
  "forge.repos.notifications.mark": ["any", "read"],
  "forge.repos.merge_upstream": ["code", "write"],
  "forge.repos.import.get": ["any", "read"],
  "forge.repos.import.cancel": ["any", "admin"],
  "forge.repos.import.resume": ["any", "admin"],
  "forge.repos.mirror.get": ["code", "admin"],
  "forge.repos.mirror.delete": ["code", "admin"],
  "forge.repos.mirror_sync": ["code", "write"],
  "forge.repos.push_mirrors.list": ["code", "admin"],
  "forge.repos.push_mirrors.get": ["code", "admin"],
  "forge.repos.push_mirrors.create": ["code", "admin"],
  "forge.repos.push_mirrors.delete": ["code", "admin"],
  "forge.repos.push_mirrors_sync": ["code", "admin"],
  "forge.repos.tag_protections.list": ["code", "admin"],
  "forge.repos.tag_protections.create": ["code", "admin"],
  "forge.repos.tag_protections.get": ["code", "admin"],
  "forge.repos.tag_protections.edit": ["code", "admin"],
  "forge.repos.tag_protections.delete": ["code", "admin"],
  "forge.repos.edit": ["any", "admin"],
  "forge.repos.hooks.list": ["any", "admin"],
  "forge.repos.hooks.create": ["any", "admin"],
  "forge.repos.hooks.get": ["any", "admin"],
  "forge.repos.hooks.edit": ["any", "admin"],
  "forge.repos.hooks.delete": ["any", "admin"],
  "forge.repos.hooks.deliveries.list": ["any", "admin"],
  "forge.repos.hooks.test": ["any", "admin"],
  "forge.repos.collaborators.put": ["any", "admin"],
  "forge.repos.collaborators.delete": ["any", "admin"],
  "forge.repos.keys.list": ["any", "admin"],
  "forge.repos.keys.get": ["any", "admin"],
  "forge.repos.keys.add": ["any", "admin"],
  "forge.repos.keys.delete": ["any", "admin"],
  "forge.repos.teams.put": ["any", "owner"],
  "forge.repos.teams.delete": ["any", "owner"],
  "forge.repos.topics.replace": ["any", "admin"],
  "forge.repos.topics.add": ["any", "admin"],
  "forge.repos.topics.delete": ["any", "admin"],
  "forge.repos.delete": ["any", "owner"],
  "forge.repos.transfer.start": ["any", "owner"],
  "forge.repos.labels.list": ["issues_or_pulls", "read"],
  "forge.repos.labels.get": ["issues_or_pulls", "read"],
  "forge.repos.milestones.list": ["issues_or_pulls", "read"],
  "forge.repos.milestones.get": ["issues_or_pulls", "read"],
  "forge.repos.comments.list": ["issues_or_pulls", "read"],
  "forge.repos.times.list": ["issues", "read"],
  "forge.repos.labels.create": ["issues_or_pulls", "write"],
  "forge.repos.labels.edit": ["issues_or_pulls", "write"],
  "forge.repos.labels.delete": ["issues_or_pulls", "write"],
  "forge.repos.milestones.create": ["issues_or_pulls", "write"],
  "forge.repos.milestones.edit": ["issues_or_pulls", "write"],
  "forge.repos.milestones.delete": ["issues_or_pulls", "write"],
  "forge.issues.assignees.check": ["issues_or_pulls", "read"],
  "forge.issues.dependencies.list": ["issues_or_pulls", "read"],
  "forge.issues.blocks.list": ["issues_or_pulls", "read"],
  "forge.repos.pulls.list": ["pulls", "read"],
  "forge.repos.pulls.get": ["pulls", "read"],
  "forge.repos.pulls.pinned": ["pulls", "read"],
  "forge.repos.pulls.of_branches": ["pulls", "read"],
  "forge.repos.pulls.merge.get": ["pulls", "read"],
  "forge.repos.pulls.merge.create": ["pulls", "read"],
  "forge.repos.pulls.merge.delete": ["pulls", "read"],
  "forge.pulls.reviews.list": ["pulls", "read"],
  "forge.pulls.reviews.get": ["pulls", "read"],
  "forge.pulls.reviews.comments": ["pulls", "read"],
  "forge.repos.commits.pull": ["pulls", "read"],
  "forge.repos.pulls.commits": ["pulls", "read"],
  "forge.repos.pulls.files": ["pulls", "read"],
  "forge.repos.pulls.diff": ["pulls", "read"],
  "forge.repos.pulls.patch": ["pulls", "read"],
  "forge.repos.pulls.edit": ["pulls", "write"],
  "forge.issues.pins.list": ["issues", "read"],
  "forge.issues.pins.allowed": ["issues_or_pulls", "read"],
  "forge.issues.timeline.list": ["issues_or_pulls", "read"],
  "forge.issues.list": ["issues_or_pulls", "read"],
  "forge.issues.create": ["issues", "read"],
  "forge.issues.get": ["issues_or_pulls", "read"],
  "forge.issues.comments.list": ["issues_or_pulls", "read"],
  "forge.issues.comments.create": ["issues_or_pulls", "read"],
  "forge.issues.comments.get": ["issues_or_pulls", "read"],
  "forge.issues.subscriptions.list": ["issues_or_pulls", "read"],
  "forge.issues.subscriptions.check": ["issues_or_pulls", "read"],
  "forge.issues.labels.list": ["issues_or_pulls", "read"],
  "forge.issues.reactions.list": ["issues_or_pulls", "read"],
  "forge.issues.reactions.add": ["issues_or_pulls", "read"],
  "forge.issues.reactions.remove": ["issues_or_pulls", "read"],
  "forge.issues.comments.reactions.list": ["issues_or_pulls", "read"],
  "forge.issues.comments.reactions.add": ["issues_or_pulls", "read"],
  "forge.issues.comments.reactions.remove": ["issues_or_pulls", "read"],
  "forge.issues.times.list": ["issues_or_pulls", "read"],
  "forge.issues.attachments.list": ["issues_or_pulls", "read"],
  "forge.issues.attachments.get": ["issues_or_pulls", "read"],
  "forge.issues.comments.attachments.list": ["issues_or_pulls", "read"],
  "forge.issues.comments.attachments.get": ["issues_or_pulls", "read"],
  "forge.issues.assignees.add": ["issues_or_pulls", "write"],
  "forge.issues.assignees.remove": ["issues_or_pulls", "write"],
  "forge.issues.dependencies.add": ["issues_or_pulls", "write"],
  "forge.issues.dependencies.remove": ["issues_or_pulls", "write"],
  "forge.issues.blocks.add": ["issues_or_pulls", "write"],
  "forge.issues.blocks.remove": ["issues_or_pulls", "write"],
  "forge.issues.deadline.set": ["issues_or_pulls", "write"],
  "forge.issues.lock": ["issues_or_pulls", "admin"],
  "forge.issues.unlock": ["issues_or_pulls", "admin"],
  "forge.issues.comments.delete": ["issues_or_pulls", "write"],
  "forge.issues.comments.edit_of_issue": ["issues_or_pulls", "write"],
  "forge.issues.comments.delete_of_issue": ["issues_or_pulls", "write"],
  "forge.issues.edit": ["issues_or_pulls", "write"],
  "forge.issues.comments.edit": ["issues_or_pulls", "write"],
  "forge.issues.labels.add": ["issues_or_pulls", "write"],
  "forge.issues.labels.replace": ["issues_or_pulls", "write"],
  "forge.issues.labels.clear": ["issues_or_pulls", "write"],
  "forge.issues.labels.remove": ["issues_or_pulls", "write"],
  "forge.issues.times.add": ["issues_or_pulls", "write"],
  "forge.issues.attachments.create": ["issues_or_pulls", "write"],
  "forge.issues.attachments.edit": ["issues_or_pulls", "write"],
  "forge.issues.attachments.delete": ["issues_or_pulls", "write"],
  "forge.issues.comments.attachments.create": ["issues_or_pulls", "write"],
  "forge.issues.comments.attachments.edit": ["issues_or_pulls", "write"],
  "forge.issues.comments.attachments.delete": ["issues_or_pulls", "write"],
  "forge.issues.stopwatch.start": ["issues_or_pulls", "write"],
  "forge.issues.stopwatch.stop": ["issues_or_pulls", "write"],
  "forge.issues.stopwatch.cancel": ["issues_or_pulls", "write"],
  "forge.issues.delete": ["issues_or_pulls", "admin"],
  "forge.issues.pin": ["issues_or_pulls", "admin"],
  "forge.issues.unpin": ["issues_or_pulls", "admin"],
  "forge.issues.pin.move": ["issues_or_pulls", "admin"],
  "forge.repos.releases.list": ["releases", "read"],
  "forge.repos.releases.get": ["releases", "read"],
  "forge.repos.releases.latest": ["releases", "read"],
  "forge.repos.releases.by_tag": ["releases", "read"],
  "forge.repos.releases.create": ["releases", "write"],
  "forge.repos.releases.edit": ["releases", "write"],
  "forge.repos.releases.generate_notes": ["releases", "write"],
  "forge.repos.releases.delete": ["releases", "write"],
  "forge.repos.releases.delete_by_tag": ["releases", "write"],
  "forge.repos.releases.assets.list": ["releases", "read"],
  "forge.repos.releases.assets.get": ["releases", "read"],
  "forge.repos.releases.assets.create": ["releases", "write"],
  "forge.repos.releases.assets.edit": ["releases", "write"],
  "forge.repos.releases.assets.delete": ["releases", "write"],
  "forge.releases.download": ["releases", "read"],
  "forge.repos.avatar.set": ["any", "admin"],
  "forge.repos.avatar.delete": ["any", "admin"],
  "forge.repos.licenses.list": ["code", "read"],
  "forge.repos.apply_patch": ["code", "write"],
  "forge.repos.wiki.list": ["wiki", "read"],
  "forge.repos.wiki.get": ["wiki", "read"],
  "forge.repos.wiki.revisions": ["wiki", "read"],
  "forge.repos.wiki.raw": ["wiki", "read"],
  "forge.repos.wiki.create": ["wiki", "write"],
  "forge.repos.wiki.edit": ["wiki", "write"],
  "forge.repos.wiki.delete": ["wiki", "write"],
  "forge.repos.git.notes.get": ["code", "read"],
  "forge.repos.actions.artifacts.get": ["actions", "read"],
  "forge.repos.actions.artifacts.delete": ["actions", "write"],
  "forge.repos.actions.artifacts.open": ["actions", "read"],
  "forge.repos.actions.runs.rerun_job": ["actions", "write"],
  "forge.repos.actions.jobs.logs": ["actions", "read"],
  "forge.repos.actions.runners.get": ["actions", "owner"],
  "forge.repos.actions.runners.edit": ["actions", "owner"],
  "forge.repos.actions.runners.delete": ["actions", "owner"],
  "forge.repos.hooks.deliveries.get": ["any", "admin"],
  "forge.repos.hooks.deliveries.redeliver": ["any", "admin"],
  "forge.repos.watch.get": ["any", "read"],
  "forge.repos.teams.get": ["any", "read"],
  "forge.git.refs": ["code", "read"],
  "forge.git.fetch": ["code", "read"],
};

/**
 * Routes whose object the test does not create, or an earlier row deletes: 404 also means that the caller is admitted.
 */
const missing = new Set([
  "forge.pulls.reviews.get",
  "forge.pulls.reviews.comments",
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

test("each route below a repository has a row", () => {
  const known = [...Object.keys(rows), ...Object.keys(others)];
  expect(known.toSorted()).toEqual(routes.map(({ name }) => name).toSorted());
});

test("a declared permission is that of the row", () => {
  const declared = routes.flatMap(({ name, on }) =>
    on?.kind === "repository" ? [[name, [on.part, on.level]] as const] : [],
  );
  for (const [name, permission] of declared)
    if (others[name] === undefined) expect([name, permission]).toEqual([name, rows[name]]);
});

const withRows = named.flatMap(([name, declared]) => {
  const row = rows[name];
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
