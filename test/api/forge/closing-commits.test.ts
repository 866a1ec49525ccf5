import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

async function newRepository(owner: string, issues: number, fields: object = {}): Promise<string> {
  const name = await people.newRepository(owner, { auto_init: true, ...fields });
  const path = `/repos/${owner}/${name}`;
  for (let count = 0; count < issues; count += 1)
    await by(owner, "POST", `${path}/issues`, { title: `Issue ${count + 1}` });
  return path;
}

async function clone(user: string, path: string, folder: string): Promise<void> {
  const address = daemon.url.replace("://", `://${user}:${people.tokenOf(user)}@`);
  const cloned = await git.run(
    "clone",
    "-q",
    `${address}${path.replace("/repos", "")}.git`,
    folder,
  );
  expect(cloned.exitCode).toBe(0);
}

async function commit(folder: string, message: string, ...refs: string[]): Promise<string> {
  await git.in(folder, "commit", "-q", "--allow-empty", "-m", message);
  const pushed = await git.in(folder, "push", "-q", "origin", ...refs);
  expect(pushed.errors.replace(/^remote:.*\n/gm, "")).toBe("");
  return (await git.in(folder, "rev-parse", "HEAD")).output.trim();
}

const states = async (path: string) =>
  (await by("mira", "GET", `${path}/issues?state=all`)).json
    .toSorted((a: { number: number }, b: { number: number }) => a.number - b.number)
    .map(({ state }: { state: string }) => state);
const timeline = async (path: string, number: number) =>
  (await by("mira", "GET", `${path}/issues/${number}/timeline`)).json.map(
    (entry: { type: string; ref_commit_sha: string }) => [entry.type, entry.ref_commit_sha],
  );

test("a commit on the default branch closes and reopens the issues that its message says, and appears in each that it names", async () => {
  const path = await newRepository("mira", 4);
  await clone("mira", path, "closing");
  await by("mira", "PATCH", `${path}/issues/3`, { state: "closed" });
  const id = await commit(
    "closing",
    "Fix <it>\n\nCloses #1, fixes: #2; reopens #3. See #4.",
    "main",
  );
  await expect
    .poll(() => states(path), { interval: 20 })
    .toEqual(["closed", "closed", "open", "open"]);
  await expect.poll(() => timeline(path, 4), { interval: 20 }).toEqual([["commit_ref", id]]);
  expect(await timeline(path, 1)).toEqual([
    ["commit_ref", id],
    ["close", id],
  ]);
  const [entry] = (await by("mira", "GET", `${path}/issues/1/timeline`)).json;
  expect(entry).toMatchObject({
    user: { login: "mira" },
    body: `<a href="${path.replace("/repos", "")}/commit/${id}">Fix &lt;it&gt;</a>`,
  });
  const page = await daemon.request(`${path.replace("/repos", "")}/issues/1`, {
    headers: { accept: "text/html" },
  });
  expect(page.text).toContain(`${path.replace("/repos", "")}/commit/${id}`);
});

test("a commit on another branch is recorded, and closes an issue when a merge brings it to the default branch", async () => {
  const path = await newRepository("mira", 2);
  await clone("mira", path, "merging");
  await git.in("merging", "checkout", "-q", "-b", "side");
  const id = await commit("merging", "Resolves #1", "side");
  await expect.poll(() => timeline(path, 1), { interval: 20 }).toEqual([["commit_ref", id]]);
  expect(await states(path)).toEqual(["open", "open"]);
  await git.in("merging", "checkout", "-q", "main");
  await git.in("merging", "merge", "-q", "--no-ff", "-m", "Merge side", "side");
  await git.in("merging", "push", "-q", "origin", "main");
  await expect.poll(() => states(path), { interval: 20 }).toEqual(["closed", "open"]);
  expect(await timeline(path, 1)).toEqual([
    ["commit_ref", id],
    ["close", id],
  ]);
});

test("an issue of another repository is closed by users who may write there, and named by its readers", async () => {
  const path = await newRepository("otto", 0, { private: true });
  const target = await newRepository("mira", 2);
  const name = target.replace("/repos/", "");
  await clone("otto", path, "across");
  const id = await commit("across", `Secret title, fixes ${name}#1`, "main");
  await expect.poll(() => timeline(target, 1), { interval: 20 }).toEqual([["commit_ref", id]]);
  expect(await states(target)).toEqual(["open", "open"]);
  const [entry] = (await by("mira", "GET", `${target}/issues/1/timeline`)).json;
  expect(entry.body).not.toContain("Secret");
  await by("mira", "PUT", `${target}/collaborators/otto`, { permission: "write" });
  const second = await commit("across", `fixes ${name}#2`, "main");
  await expect.poll(() => states(target), { interval: 20 }).toEqual(["open", "closed"]);
  expect(await timeline(target, 2)).toEqual([
    ["commit_ref", second],
    ["close", second],
  ]);
});

test("an issue with open dependencies stays open", async () => {
  const path = await newRepository("mira", 2);
  const [owner, repo] = path.split("/").slice(2);
  await by("mira", "POST", `${path}/issues/1/dependencies`, { owner, repo, index: 2 });
  await clone("mira", path, "blocked");
  const id = await commit("blocked", "closes #1", "main");
  await expect
    .poll(async () => (await timeline(path, 1)).at(-1), { interval: 20 })
    .toEqual(["commit_ref", id]);
  expect(await states(path)).toEqual(["open", "open"]);
});
