import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { setUpWorkflows } from "../../support/forge/workflow-pushes.ts";
import { createRunnerStarter } from "../support/built-in-runner.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

const scene = setUpWorkflows();
const { people, workflows } = scene;
const startRunner = createRunnerStarter(() => scene.daemon, people);

const WORKFLOW = `name: ci
on: pull_request
jobs:
  test:
    runs-on: forked
    steps:
      - uses: actions/checkout@v4
      - run: 'echo "file: $(cat new.txt) key:\${{ secrets.KEY }}. $GITHUB_HEAD_REF into $GITHUB_BASE_REF"'
      - run: test "$(git rev-parse HEAD)" = "$GITHUB_SHA"
`;

test(
  "a fork's run checks out its head once it is approved, and its status lets a scheduled merge happen",
  { timeout: 120_000 },
  async () => {
    await using _runner = await startRunner("forked");
    await using home = await temporaryHome();
    await people.newUser("otto");
    const path = "/repos/mira/forked";
    const api = (method: string, rest: string, json?: object) =>
      people.api(method, `${path}${rest}`, json);
    // The first run proves that the repository has the workflow.
    await workflows.push("forked", {
      ".gitea/workflows/ci.yml": WORKFLOW.replace("on: pull_request", "on: [push, pull_request]"),
      "new.txt": "old\n",
    });
    await api("PUT", "/actions/secrets/KEY", { data: "of-mira" });
    await api("POST", "/branch_protections", {
      rule_name: "main",
      enable_status_check: true,
      status_check_contexts: ["ci / * (pull_request)"],
    });
    const forked = await people.by("otto", "POST", `${path}/forks`, {});
    expect(forked.status).toBe(202);
    const origin = scene.daemon.url.replace("://", `://otto:${people.tokenOf("otto")}@`);
    const { git } = scene;
    await git.run("clone", "-q", `${origin}/otto/forked.git`, "clone");
    await writeFile(join(git.folder, "clone", "new.txt"), "of the fork\n");
    await git.in("clone", "commit", "-q", "-a", "-m", "change");
    expect(await git.in("clone", "push", "-q", "origin", "HEAD:topic")).toMatchObject({
      exitCode: 0,
    });
    const opened = await people.by("otto", "POST", `${path}/pulls`, {
      head: "otto:topic",
      base: "main",
      title: "Change",
    });
    expect(opened.status).toBe(201);
    const wish = { do: "squash", merge_when_checks_succeed: true };
    await vi.waitUntil(async () => (await api("POST", "/pulls/1/merge", wish)).status === 201, {
      timeout: 60_000,
    });
    const run = await vi.waitUntil(
      async () =>
        (await api("GET", "/actions/runs?event=pull_request")).json.workflow_runs[0]?.id as
          | number
          | undefined,
      { timeout: 60_000 },
    );
    const options = {
      home: home.path,
      env: { CROFT_URL: scene.daemon.url, CROFT_FORGE_TOKEN: people.admin },
    };
    const shown = await runCli(["run", "list", "mira/forked", "--event", "pull_request"], options);
    expect(shown.out).toContain("needs approval");
    const approved = await runCli(["run", "approve", `mira/forked/${run}`, "--json"], options);
    expect(approved.code).toBe(0);
    expect(JSON.parse(approved.out)).toMatchObject({ id: run, event: "pull_request" });
    expect(await workflows.ended("forked", run)).toEqual({ test: "success" });
    expect(await workflows.logOf("forked", run, "test")).toContain(
      "file: of the fork key:. topic into main",
    );
    await vi.waitUntil(async () => (await api("GET", "/pulls/1")).json.merged === true, {
      timeout: 60_000,
    });
  },
);
