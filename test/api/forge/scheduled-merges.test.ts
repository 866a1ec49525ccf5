import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createPageVisitor } from "../../support/forge/page-visitor.ts";
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
  for (const name of ["mira", "otto", "nora"]) await people.newUser(name);
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

test("a scheduled merge is cancelled by a button of those who may, also below a long conversation", async () => {
  const path = await pulls.create(["one"]);
  const home = `${path.replace("/repos", "")}/pulls/1`;
  for (const name of ["otto", "nora"])
    await api("PUT", `${path}/collaborators/${name}`, { permission: "write" });
  await api("POST", `${path}/branch_protections`, { rule_name: "main", required_approvals: 1 });
  await pulls.open(path, "one");
  await pulls.expectPull(path, 1, { mergeable: true });
  const visit = createPageVisitor(() => daemon);
  const [mira, otto, nora] = [
    await visit("mira", "user-password"),
    await visit("otto", "user-password"),
    await visit("nora", "user-password"),
  ];
  const button = "Cancel the scheduled merge";
  const wish = { do: "merge", merge_when_checks_succeed: true };
  const schedule = async () => {
    expect((await by("otto", "POST", `${path}/pulls/1/merge`, wish)).status).toBe(201);
  };
  const show = async ({ get }: typeof mira) => (await get(home)).text;
  expect(await show(otto)).not.toContain(button);
  // The page schedules it as well, for those who may merge.
  const offer = "Merge when checks succeed";
  expect((await daemon.request(home)).text).not.toContain(offer);
  const head = /name="head" value="([0-9a-f]+)"[^>]*><input[^>]*name="when"/.exec(await show(otto));
  expect(head?.[1]).toBe(await pulls.headOf(path, "one"));
  const wished = { style: "squash", when: "checks", head: head?.[1] ?? "" };
  expect((await otto.send(`${home}/merge`, { ...wished, head: "0".repeat(40) })).status).toBe(422);
  expect((await otto.send(`${home}/merge`, wished)).to).toBe(home);
  expect(await show(otto)).not.toContain(offer);
  expect((await nora.send(`${home}/merge`, wished)).text).toContain("already scheduled");
  expect((await otto.send(`${home}/cancel_auto_merge`, {})).to).toBe(home);
  expect(await show(otto)).toContain(offer);
  await schedule();
  for (const visitor of [otto, mira]) expect(await show(visitor)).toContain(button);
  expect(await show(nora)).toContain("as otto has scheduled");
  expect(await show(nora)).not.toContain(button);
  expect((await daemon.request(home)).text).not.toContain("has scheduled");
  const cancel = `${home}/cancel_auto_merge`;
  const refused = await nora.send(cancel, {});
  expect([refused.status, refused.text.includes("no permission to cancel")]).toEqual([422, true]);
  expect((await otto.send(cancel, { form_token: "" })).status).toBe(403);
  expect((await otto.send(cancel, {})).to).toBe(home);
  expect(await show(otto)).not.toContain("has scheduled");
  expect((await otto.send(cancel, {})).status).toBe(422);

  // The event is on the second page of the conversation, then on its first one.
  await schedule();
  for (let count = 0; count < 31; count += 1)
    await api("POST", `${path}/issues/1/comments`, { body: `Comment ${count}` });
  expect(await show(mira)).toContain(button);
  await api("PATCH", `${path}/pulls/1`, { state: "closed" });
  await api("PATCH", `${path}/pulls/1`, { state: "open" });
  expect(await show(mira)).not.toContain("has scheduled");
  await pulls.expectPull(path, 1, { mergeable: true });
  await schedule();
  expect(await show(mira)).toContain(button);
  expect((await mira.send(cancel, {})).to).toBe(home);
  expect((await api("GET", `${path}/pulls/1`)).json).toMatchObject({ merged: false });
});
