import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";
import { createSshClient, type SshClient } from "../../support/forge/ssh-client.ts";

let daemon: TestDaemon;
let git: GitClient;
let ssh: SshClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const pulls = createPullRepositories(
  () => daemon,
  people,
  () => git,
);
const { create, open, headOf, expectPull } = pulls;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  ssh = await createSshClient(() => daemon.sshPort ?? 0);
  for (const name of ["mira", "otto", "rita", "zoe"]) await people.newUser(name);
});
afterAll(async () => {
  await ssh[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

let forks = 0;

/**
 * Forks a repository of mira for otto, with the branches `topic` and `other`, and opens pull request 1 from `topic`. rita may
 * write to the base, zoe may read it.
 */
async function newFork(fields: object = {}) {
  const path = await create([]);
  for (const [user, permission] of [
    ["rita", "write"],
    ["zoe", "read"],
  ])
    await by("mira", "PUT", `${path}/collaborators/${user}`, { permission });
  const name = `fork${(forks += 1)}`;
  await by("otto", "POST", `${path}/forks`, { name });
  const fork = `/repos/otto/${name}`;
  for (const branch of ["topic", "other"])
    await by("otto", "POST", `${fork}/contents/${branch}.txt`, { content: "", new_branch: branch });
  expect((await open(path, "otto:topic", fields, "otto")).status).toBe(201);
  return { path, fork, name };
}

/** Commits in a clone and pushes; returns what git says. */
async function push(folder: string, ...refs: string[]) {
  await git.in(folder, "commit", "-q", "--allow-empty", "-m", `Edit ${folder}`);
  return git.in(folder, "push", "origin", ...refs);
}

const OTHERS = "you may not push to this repository";

test("who may write the base pushes to the head of an open pull request by HTTP, SSH and the API, to no other branch", async () => {
  const { path, fork, name } = await newFork();
  await pulls.clone(fork, name, "topic", "rita");
  const pushed = await push(name, "topic");
  expect(pushed.errors).not.toContain("rejected");
  expect(pushed.exitCode).toBe(0);
  const tip = (await git.in(name, "rev-parse", "HEAD")).output.trim();
  expect(await headOf(fork, "topic")).toBe(tip);
  await expectPull(path, 1, { head: { sha: tip } });
  await git.in(name, "commit", "-q", "--allow-empty", "--amend", "-m", "Rewritten");
  expect((await git.in(name, "push", "-f", "origin", "topic")).exitCode).toBe(0);

  for (const refs of [
    ["topic:other"],
    ["topic:new"],
    ["topic", "topic:other"],
    ["HEAD:refs/tags/v1"],
  ]) {
    const refused = await push(name, "-f", ...refs);
    expect(refused.exitCode).not.toBe(0);
    expect(refused.errors).toContain(OTHERS);
  }
  const deleted = await git.in(name, "push", "origin", ":topic");
  expect(deleted.errors).toContain(OTHERS);

  const key = await ssh.newKey("rita");
  expect((await by("rita", "POST", "/user/keys", { title: "key", key })).status).toBe(201);
  const address = `ssh://git@127.0.0.1:${daemon.sshPort}/otto/${name}.git`;
  const cloned = await ssh.git("rita", "clone", "-q", "-b", "topic", address, "over-ssh");
  expect(cloned.exitCode).toBe(0);
  const over = (...words: string[]) => ssh.git("rita", "-C", "over-ssh", ...words);
  const person = ["-c", "user.name=Rita", "-c", "user.email=rita@example.org"];
  await over(...person, "commit", "-q", "--allow-empty", "-m", "By SSH");
  expect((await over("push", "-f", "origin", "topic:other")).stderr).toContain(OTHERS);
  expect((await over("push", "origin", "topic")).exitCode).toBe(0);

  const file = { content: "", branch: "topic" };
  expect((await by("rita", "POST", `${fork}/contents/api.txt`, file)).status).toBe(201);
  const refusals = [
    { content: "", branch: "other" },
    { content: "" },
    { content: "", branch: "topic", new_branch: "another" },
  ];
  for (const body of refusals)
    expect((await by("rita", "POST", `${fork}/contents/no.txt`, body)).status).toBe(403);
  expect((await by("zoe", "POST", `${fork}/contents/no.txt`, file)).status).toBe(403);
  expect((await by("rita", "DELETE", `${fork}/branches/topic`)).status).toBe(403);
  expect((await by("rita", "POST", `${path}/pulls/1/update`)).status).toBe(200);
});

test("nobody edits a head when the author forbids it, the pull request is closed, or a repository is archived", async () => {
  const { path, fork, name } = await newFork({ allow_maintainer_edit: false });
  await pulls.clone(fork, name, "topic", "rita");
  const refuses = async (text = OTHERS) => {
    const { exitCode, errors } = await push(name, "topic");
    expect(exitCode).not.toBe(0);
    expect(errors).toContain(text);
    const file = { content: "", branch: "topic" };
    expect((await by("rita", "POST", `${fork}/contents/no.txt`, file)).status).toBeOneOf([
      403, 423,
    ]);
  };
  await refuses();
  await by("otto", "PATCH", `${path}/pulls/1`, { allow_maintainer_edit: true });
  expect((await push(name, "topic")).exitCode).toBe(0);
  const key = await ssh.newKey("deploy");
  const made = await by("mira", "POST", `${path}/keys`, { title: "key", key, read_only: false });
  expect(made.status).toBe(201);
  const address = `ssh://git@127.0.0.1:${daemon.sshPort}/otto/${name}.git`;
  expect((await ssh.git("deploy", "clone", "-q", address, "deploy")).exitCode).not.toBe(0);

  const rule = { rule_name: "topic", enable_push: true, enable_push_whitelist: true };
  await by("otto", "POST", `${fork}/branch_protections`, {
    ...rule,
    push_whitelist_usernames: ["otto"],
  });
  await refuses("not allowed to push to protected branch topic");
  await by("otto", "DELETE", `${fork}/branch_protections/topic`);
  await by("otto", "PATCH", fork, { archived: true });
  await refuses("the repository is archived");
  await by("otto", "PATCH", fork, { archived: false });
  await by("mira", "PATCH", path, { archived: true });
  await refuses();
  await by("mira", "PATCH", path, { archived: false });
  await by("mira", "PUT", `${path}/collaborators/rita`, { permission: "read" });
  await refuses();
  await by("mira", "PUT", `${path}/collaborators/rita`, { permission: "write" });
  await by("otto", "PATCH", `${path}/pulls/1`, { state: "closed" });
  await refuses();
});

test("nobody pushes to a branch of others by a pull request from it into a repository of their own", async () => {
  const path = await create(["topic"]);
  const name = `taken${(forks += 1)}`;
  expect((await by("zoe", "POST", `${path}/forks`, { name })).status).toBe(202);
  const own = `/repos/zoe/${name}`;
  await by("zoe", "POST", `${own}/contents/own.txt`, { content: "", branch: "main" });
  const opened = await open(own, "mira:topic", { allow_maintainer_edit: true }, "zoe");
  expect(opened.status).toBe(201);

  const write = async (number: number) => {
    const file = { content: "", branch: "topic" };
    const written = await by("zoe", "POST", `${path}/contents/by-zoe.txt`, file);
    const updated = await by("zoe", "POST", `${own}/pulls/${number}/update`);
    return [written.status, updated.status];
  };
  expect(await write(1)).toEqual([403, 403]);
  await pulls.clone(path, name, "topic", "zoe");
  const pushed = await push(name, "topic");
  expect(pushed.exitCode).not.toBe(0);
  expect(pushed.errors).toContain(OTHERS);

  // The right of the author is that of now.
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  await by("zoe", "PATCH", `${own}/pulls/1`, { state: "closed" });
  expect((await open(own, "mira:topic", {}, "otto")).status).toBe(201);
  expect(await write(2)).toEqual([201, 200]);
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "read" });
  expect(await write(2)).toEqual([403, 403]);
});
