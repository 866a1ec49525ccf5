import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
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
