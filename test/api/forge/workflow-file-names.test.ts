import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const workflow = (paths: string) =>
  `on: { push: { paths: ${paths} } }\njobs: { a: { runs-on: lines, steps: [{ run: x }] } }\n`;

test("file names with line breaks are matched by filters as one name, and can name a workflow", async () => {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "lines");
  await repository.create();
  await repository.push({
    "first.yml": "on: workflow_dispatch\njobs: { a: { runs-on: x, steps: [{ run: x }] } }\n",
  });
  await mkdir(join(git.folder, "lines/src"), { recursive: true });
  await writeFile(join(git.folder, "lines/src/one\n.gitea\ntwo.txt"), "text");
  await repository.push({
    "two\nlines.yml": workflow("['src/**']"),
    "only-gitea.yml": workflow("['.gitea']"),
    "only-two.yml": workflow("['two.txt']"),
  });
  const run = await repository.waitForRuns(1);
  expect(run["path"]).toBe("two\nlines.yml@refs/heads/main");
  expect(await repository.runs()).toHaveLength(1);
  expect(await repository.work("SUCCESS")).toBe("a");
  expect(await repository.statesOf(run.id)).toEqual({ a: "success" });
  const { json } = await people.api(
    "GET",
    `/repos/mira/lines/commits/${String(run["head_sha"])}/statuses`,
  );
  expect(json[0].context).toBe("two\nlines.yml / a (push)");
});

test("filters of paths look at what a push changed as a whole, of a new branch since it left the default branch", async () => {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "wholes");
  await repository.create();
  const commit = async (...args: string[]) => {
    for (const change of args) {
      if (change.startsWith("-")) await git.in("wholes", "rm", "-q", change.slice(1));
      else await writeFile(join(git.folder, "wholes", change), change);
      await git.in("wholes", "add", ".");
      await git.in("wholes", "commit", "-q", "-m", change);
    }
  };
  await repository.push({
    "added.yml": workflow("['a.txt']").replace("lines", "wholes"),
    "other.yml": workflow("['a.txt', b.txt]").replace("paths", "paths-ignore"),
    "end.yml": workflow("['b.txt']"),
  });
  await repository.waitForRuns(1);
  // What came and went within one push is no change.
  await commit("a.txt", "-a.txt", "b.txt");
  await git.in("wholes", "push", "-q", "origin", "main");
  const names = async (count: number) => {
    await repository.waitForRuns(count);
    const all = await repository.runs();
    return all.map(({ path }) => String(path)).toReversed();
  };
  expect(await names(2)).toEqual(["other.yml@refs/heads/main", "end.yml@refs/heads/main"]);
  // A new branch is compared with the commit where it left the default branch, not with that branch of today.
  await git.in("wholes", "checkout", "-q", "-b", "topic");
  await commit("a.txt", "c.txt", "-c.txt");
  await git.in("wholes", "checkout", "-q", "main");
  await commit("d.txt");
  await git.in("wholes", "push", "-q", "origin", "main");
  expect((await names(3)).at(-1)).toBe("other.yml@refs/heads/main");
  await git.in("wholes", "push", "-q", "origin", "topic");
  expect((await names(4)).at(-1)).toBe("added.yml@refs/heads/topic");
  // A forced push back is a change, although it brings no commit.
  await git.in("wholes", "push", "-q", "-f", "origin", "topic~3:topic");
  expect((await names(5)).at(-1)).toBe("added.yml@refs/heads/topic");
  expect(await repository.runs()).toHaveLength(5);
});

test("a push of sixty workflows starts sixty runs, and files beyond the maximum have a failed run that says so", async () => {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "many");
  await repository.create();
  const toFile = (index: number): [string, string] => [
    `w${String(index).padStart(3, "0")}.yml`,
    workflow(index < 60 ? "['**']" : "['none']").replace(
      "on: {",
      index === 100 ? "on: { issues: , " : "on: {",
    ),
  ];
  await repository.push(
    Object.fromEntries(Array.from({ length: 202 }, (_, index) => toFile(index))),
  );
  // The failed run is made last, so it is on the first page.
  const last = await vi.waitUntil(
    async () => (await repository.runs()).find(({ conclusion }) => conclusion === "failure"),
    { timeout: 60_000 },
  );
  expect(last["path"]).toBe("w200.yml@refs/heads/main");
  expect((await repository.get("/runs?limit=1")).total_count).toBe(61);
  const page = await fetch(`${daemon.url}/mira/many/actions/runs/${last.id}`);
  expect(await page.text()).toContain(
    ".gitea/workflows has more than 200 workflow files: w200.yml and those after it by name do not run",
  );
  // Another event says it as well, and reading the files without a push does.
  const failedFor = async (event: string) => {
    const runs = (await repository.get("/runs?status=failure&limit=50")).workflow_runs;
    const found: { readonly event: string; readonly path: string }[] = runs;
    return found.filter((each) => each.event === event && each.path.startsWith("w200.yml")).length;
  };
  await people.api("POST", "/repos/mira/many/issues", { title: "One" });
  await vi.waitUntil(async () => (await failedFor("issues")) === 1, { timeout: 60_000 });
  for (const has_actions of [false, true])
    await people.api("PATCH", "/repos/mira/many", { has_actions });
  await vi.waitUntil(async () => (await failedFor("push")) === 2, { timeout: 60_000 });
});
