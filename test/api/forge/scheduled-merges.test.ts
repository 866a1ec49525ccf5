import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";

// A scheduled merge happens as soon as the last refusal is lifted, whatever lifts it.

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
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const api = (method: string, path: string, json?: object) => by("mira", method, path, json);

interface Case {
  /** What the rule of `main` requires. */
  readonly rule: object;
  /** Adds what refuses the merge beside the rule. */
  readonly block?: (path: string) => Promise<unknown>;
  /** Lifts the last refusal. */
  readonly lift: (path: string) => Promise<{ readonly status: number }>;
}

const rejection = async (path: string) => {
  const body = { event: "REQUEST_CHANGES", body: "no" };
  return (await by("otto", "POST", `${path}/pulls/1/reviews`, body)).json.id as number;
};
const status = async (path: string, context: string) =>
  api("POST", `${path}/statuses/${await pulls.headOf(path, "one")}`, { context, state: "success" });

const cases: Readonly<Record<string, Case>> = {
  "a rule that requires fewer approvals": {
    rule: { required_approvals: 1 },
    lift: (path) => api("PATCH", `${path}/branch_protections/main`, { required_approvals: 0 }),
  },
  "a rule with another pattern of checks": {
    rule: { enable_status_check: true, status_check_contexts: ["build/*"] },
    block: (path) => status(path, "ci"),
    lift: (path) =>
      api("PATCH", `${path}/branch_protections/main`, { status_check_contexts: ["c*"] }),
  },
  "the end of a rule": {
    rule: { required_approvals: 1 },
    lift: (path) => api("DELETE", `${path}/branch_protections/main`),
  },
  "the dismissal of a review": {
    rule: { block_on_rejected_reviews: true },
    block: rejection,
    async lift(path) {
      const [review] = (await api("GET", `${path}/pulls/1/reviews`)).json;
      return api("POST", `${path}/pulls/1/reviews/${review.id}/dismissals`, { message: "old" });
    },
  },
  "the deletion of a review": {
    rule: { block_on_rejected_reviews: true },
    block: rejection,
    async lift(path) {
      const [review] = (await api("GET", `${path}/pulls/1/reviews`)).json;
      return by("otto", "DELETE", `${path}/pulls/1/reviews/${review.id}`);
    },
  },
  "a request for review that is taken back": {
    rule: { block_on_official_review_requests: true },
    block: (path) => api("POST", `${path}/pulls/1/requested_reviewers`, { reviewers: ["otto"] }),
    lift: (path) => api("DELETE", `${path}/pulls/1/requested_reviewers`, { reviewers: ["otto"] }),
  },
  "a dependency that is removed": {
    rule: { enable_push: true },
    async block(path) {
      await api("POST", `${path}/issues`, { title: "First" });
      const [owner, repo] = path.split("/").slice(2);
      await api("POST", `${path}/issues/1/dependencies`, { owner, repo, index: 2 });
    },
    lift(path) {
      const [owner, repo] = path.split("/").slice(2);
      return api("DELETE", `${path}/issues/1/dependencies`, { owner, repo, index: 2 });
    },
  },
  "a blocking issue that is deleted": {
    rule: { enable_push: true },
    async block(path) {
      await api("POST", `${path}/issues`, { title: "First" });
      const [owner, repo] = path.split("/").slice(2);
      await api("POST", `${path}/issues/1/dependencies`, { owner, repo, index: 2 });
    },
    lift: (path) => api("DELETE", `${path}/issues/2`),
  },
};

test.each(Object.entries(cases))(
  "a scheduled merge happens after %s",
  async (_name, { rule, block, lift }) => {
    const path = await pulls.create(["one"]);
    await api("PUT", `${path}/collaborators/otto`, { permission: "write" });
    await api("POST", `${path}/branch_protections`, { rule_name: "main", ...rule });
    await pulls.open(path, "one");
    await block?.(path);
    await pulls.expectPull(path, 1, { mergeable: true });
    const wish = { do: "merge", merge_when_checks_succeed: true };
    expect((await api("POST", `${path}/pulls/1/merge`, wish)).status).toBe(201);
    expect((await api("GET", `${path}/pulls/1`)).json).toMatchObject({ merged: false });
    expect((await lift(path)).status).toBeLessThan(300);
    await pulls.expectPull(path, 1, { merged: true, merged_by: { login: "mira" } });
  },
  60_000,
);
