import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const workflow = (label: string) =>
  `on: [push, workflow_dispatch]\njobs: { a: { runs-on: ${label}, steps: [{ run: "true" }] } }\n`;

/** A repository of a new person with one workflow, and a second person who may write to it. */
async function newRepository(name: string) {
  const [owner, helper] = [await people.newUser(), await people.newUser()];
  const repository = createWorkflowRepository({ daemon, people, git }, owner, name);
  await repository.create();
  await people.by(owner, "PUT", `/repos/${owner}/${name}/collaborators/${helper}`, {
    permission: "write",
  });
  const readInbox = async (who: string) => {
    const { json } = await people.by(who, "GET", "/notifications");
    await people.by(who, "PUT", "/notifications");
    return json
      .filter((each: { subject: { type: string } }) => each.subject.type === "Commit")
      .map((each: { subject: { title: string } }) => each.subject.title);
  };
  /** Pushes a commit and ends its run. Returns the commit. */
  const runPushed = async (count: number, result: string): Promise<unknown> => {
    await repository.push({ "ci.yml": workflow(name) }, `change ${count}`);
    const run = await repository.waitForRuns(count);
    await repository.work(result);
    return run["head_sha"];
  };
  return { owner, helper, repository, readInbox, runPushed };
}

describe("the user who started a run", () => {
  test("the user who started a run is notified of a failure and of the next success on the branch only", async () => {
    const { owner, helper, readInbox, runPushed } = await newRepository("recovery");
    await runPushed(1, "SUCCESS");
    expect(await readInbox(owner)).toEqual([]);
    const failed = await runPushed(2, "FAILURE");
    expect(await readInbox(owner)).toEqual([failed]);
    const again = await runPushed(3, "FAILURE");
    expect(await readInbox(owner)).toEqual([again]);
    await runPushed(4, "CANCELLED");
    expect(await readInbox(owner)).toEqual([]);
    const mended = await runPushed(5, "SUCCESS");
    expect(await readInbox(owner)).toEqual([mended]);
    await runPushed(6, "SUCCESS");
    expect(await readInbox(owner)).toEqual([]);
    expect(await readInbox(helper)).toEqual([]);
  });

  test("a second failure of the same commit sends no notification, and a success does", async () => {
    const { owner, readInbox, runPushed, repository } = await newRepository("attempts");
    const commit = await runPushed(1, "FAILURE");
    expect(await readInbox(owner)).toEqual([commit]);
    const [run] = await repository.runs();
    await people.by(owner, "POST", `${repository.api}/runs/${run?.id}/rerun`);
    await repository.work("FAILURE");
    expect(await readInbox(owner)).toEqual([]);
    await people.by(owner, "POST", `${repository.api}/runs/${run?.id}/rerun`);
    await repository.work("SUCCESS");
    expect(await readInbox(owner)).toEqual([commit]);
  });

  test("the user who started a failed run is notified when another user's run fixes the workflow", async () => {
    const { owner, helper, readInbox, runPushed, repository } = await newRepository("helped");
    const commit = await runPushed(1, "FAILURE");
    expect(await readInbox(owner)).toEqual([commit]);
    const dispatched = await people.by(
      helper,
      "POST",
      `${repository.api}/workflows/ci.yml/dispatches`,
      { ref: "main" },
    );
    expect(dispatched.status).toBe(204);
    await repository.work("SUCCESS");
    expect(await readInbox(owner)).toEqual([commit]);
    expect(await readInbox(helper)).toEqual([commit]);
  });

  test("the pusher of an invalid workflow file is notified", async () => {
    const { owner, readInbox, repository } = await newRepository("invalid");
    await repository.push({ "ci.yml": "on: push\njobs: 3\n" });
    const { head_sha: commit } = await repository.waitForRuns(1);
    expect(await readInbox(owner)).toEqual([commit]);
  });
});
