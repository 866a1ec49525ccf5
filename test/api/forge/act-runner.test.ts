import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { type ActRunner, startActRunner } from "../../support/forge/act-runner.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { skipUnless } from "../../support/skip.ts";

// Runs Gitea's own runner program against a whole daemon, because a test client may misunderstand the protocol.

const program = process.env["CROFT_TEST_ACT_RUNNER"] ?? "";
const onRunner = skipUnless(program, "CROFT_TEST_ACT_RUNNER names no runner program of Gitea");

interface JobResult {
  readonly id: number;
  readonly name: string;
  readonly conclusion: string;
  readonly steps: readonly object[];
}

onRunner.describe("the runner program of Gitea", () => {
  let daemon: TestDaemon;
  let git: GitClient;
  let runner: ActRunner;
  const people = createForgePeople(() => daemon);

  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    git = await createGitClient();
    await people.newUser("mira");
    const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
    runner = await startActRunner(program, {
      url: daemon.url,
      token: json.token,
      labels: "host:host",
    });
  });
  afterAll(async () => {
    await runner[Symbol.asyncDispose]();
    await git[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
  });

  const get = async (path: string) => (await people.api("GET", path)).json;

  /** Pushes a workflow, and others that it calls, to a new private repository. Returns the path of its run. */
  async function pushWorkflow(
    name: string,
    workflow: string,
    called: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    // The repository may have been made before, for its secrets.
    await people.api("POST", "/admin/users/mira/repos", { name, private: true });
    await git.run("init", "-q", "-b", "main", name);
    const origin = daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
    await git.in(name, "remote", "add", "origin", `${origin}/mira/${name}.git`);
    await mkdir(join(git.folder, name, ".gitea/workflows"), { recursive: true });
    for (const [file, text] of Object.entries({ ...called, "ci.yml": workflow }))
      await writeFile(join(git.folder, name, ".gitea/workflows", file), text);
    await git.in(name, "add", ".");
    await git.in(name, "commit", "-q", "-m", "change");
    expect(await git.in(name, "push", "-q", "origin", "main")).toMatchObject({ exitCode: 0 });
    const run = await vi.waitUntil(
      async () => (await get(`/repos/mira/${name}/actions/runs`)).workflow_runs[0],
      { timeout: 60_000 },
    );
    return `/repos/mira/${name}/actions/runs/${run.id}`;
  }

  /** Waits for the end of a run. Returns its conclusion, its jobs by name, and a function that reads a log. */
  async function waitForEnd(run: string) {
    const ended = await vi.waitUntil(
      async () => {
        const current = await get(run);
        return current.status === "completed" && current;
      },
      { timeout: 45_000, interval: 200 },
    );
    const { jobs } = await get(`${run}/jobs`);
    const byName: Record<string, JobResult> = Object.fromEntries(
      (jobs as JobResult[]).map((job) => [job.name, job]),
    );
    const logOf = async (name: string) => {
      const repository = run.replace(/\/runs\/.*/, "");
      return (await people.api("GET", `${repository}/jobs/${byName[name]?.id}/logs`)).text;
    };
    /** The last lines arrive up to a second after the job has ended. */
    const waitForLog = (name: string, text: string) =>
      vi.waitUntil(async () => (await logOf(name)).includes(text), { timeout: 60_000 });
    return { conclusion: ended.conclusion, jobs: byName, logOf, waitForLog };
  }

  test("Gitea's runner runs steps, a matrix and needed jobs, and passes on outputs", async () => {
    const run = await pushWorkflow(
      "whole",
      `name: CI
on: push
env: { GREETING: hello }
defaults: { run: { shell: bash } }
jobs:
  first:
    runs-on: host
    outputs: { made: "\${{ steps.make.outputs.made }}" }
    steps:
      - run: echo "$GREETING from \${{ github.repository }}"
      - { id: make, name: Make, run: 'echo "made=cake" >> "$GITHUB_OUTPUT"' }
  grid:
    runs-on: host
    strategy: { matrix: { n: [1, 2] } }
    steps: [{ run: 'echo "number \${{ matrix.n }} of \${{ strategy.job-total }}"' }]
  last:
    runs-on: host
    needs: [first, grid]
    steps: [{ run: 'echo "got \${{ needs.first.outputs.made }} and \${{ needs.grid.result }}"' }]
`,
    );
    const { conclusion, jobs, waitForLog } = await waitForEnd(run);
    expect(conclusion, runner.output()).toBe("success");
    expect(Object.keys(jobs).toSorted()).toEqual(["first", "grid (1)", "grid (2)", "last"]);
    expect(jobs["first"]?.steps).toMatchObject([
      { conclusion: "success" },
      { name: "Make", conclusion: "success" },
    ]);
    await waitForLog("first", "hello from mira/whole");
    await waitForLog("grid (2)", "number 2 of");
    await waitForLog("last", "got cake and success");
  });

  test("Gitea's runner runs the jobs of a called workflow with its inputs and secrets, and reruns failed ones", async () => {
    await people.api("POST", "/admin/users/mira/repos", { name: "calls", private: true });
    await people.api("PUT", "/repos/mira/calls/actions/secrets/KEY", { data: "canary-of-a-call" });
    const run = await pushWorkflow(
      "calls",
      `on: push
jobs:
  build:
    uses: ./.gitea/workflows/build.yml
    with: { text: hello, count: 3, flag: true }
    secrets: { TOKEN: "\${{ secrets.KEY }}" }
  last:
    runs-on: host
    needs: build
    steps: [{ run: 'echo "got \${{ needs.build.outputs.made }}"' }]
`,
      {
        "build.yml": `on:
  workflow_call:
    inputs:
      text: { type: string }
      count: { type: number }
      flag: { type: boolean }
      off: { type: boolean }
    secrets: { TOKEN: { required: true } }
    outputs: { made: { value: "\${{ jobs.work.outputs.made }}" } }
jobs:
  work:
    runs-on: host
    outputs: { made: "\${{ steps.make.outputs.made }}" }
    steps:
      - run: echo "\${{ inputs.text }} \${{ inputs.count }} flag=\${{ inputs.flag }} off=\${{ inputs.off }}"
      - { if: inputs.flag, run: echo flagged }
      - { if: inputs.off, run: echo never }
      - { run: 'test -n "$T" && echo "key $T"', env: { T: "\${{ secrets.TOKEN }}" } }
      - { id: make, run: 'echo "made=pie" >> "$GITHUB_OUTPUT"' }
      - { if: github.run_attempt == '1', run: exit 1 }
`,
      },
    );
    const first = await waitForEnd(run);
    expect(first.conclusion, runner.output()).toBe("failure");
    expect(first.jobs["build"]).toMatchObject({ conclusion: "failure" });
    expect((await people.api("POST", `${run}/rerun-failed-jobs`)).status).toBe(201);
    const { conclusion, jobs, logOf, waitForLog } = await waitForEnd(run);
    expect(conclusion, await logOf("build / work")).toBe("success");
    expect(Object.keys(jobs).toSorted()).toEqual(["build", "build / work", "last"]);
    await waitForLog("build / work", "hello 3 flag=true off=false");
    await waitForLog("build / work", "flagged");
    await waitForLog("build / work", "key ***");
    expect(await logOf("build / work")).not.toContain("canary-of-a-call");
    await waitForLog("last", "got pie");
  });

  test("Gitea's runner reports a failed step, and runs a job for failures after it", async () => {
    const run = await pushWorkflow(
      "failing",
      `on: push
jobs:
  bad:
    runs-on: host
    steps: [{ run: exit 3 }, { run: echo never }]
  after: { runs-on: host, needs: bad, steps: [{ run: echo never }] }
  care: { runs-on: host, needs: bad, if: failure(), steps: [{ run: echo cared }] }
`,
    );
    const { conclusion, jobs, waitForLog } = await waitForEnd(run);
    expect(conclusion).toBe("failure");
    expect(jobs["bad"]).toMatchObject({
      conclusion: "failure",
      steps: [{ conclusion: "failure" }, { conclusion: "skipped" }],
    });
    expect(jobs["after"]).toMatchObject({ conclusion: "skipped" });
    expect(jobs["care"]).toMatchObject({ conclusion: "success" });
    await waitForLog("care", "cared");
  });

  test("Gitea's runner ends a running job that is cancelled", async () => {
    const run = await pushWorkflow(
      "cancelled",
      `on: push
jobs:
  long: { runs-on: host, steps: [{ run: "echo begun; sleep 300" }] }
`,
    );
    await vi.waitUntil(async () => (await get(run)).status === "in_progress", { timeout: 60_000 });
    expect((await people.api("POST", `${run}/cancel`)).status).toBe(204);
    const { conclusion, jobs } = await waitForEnd(run);
    expect(conclusion).toBe("cancelled");
    expect(jobs["long"]).toMatchObject({ conclusion: "cancelled" });
  });

  test("Gitea's runner gets secrets, variables and a token for git and the API, which expire with the job", async () => {
    await people.api("POST", "/admin/users/mira/repos", { name: "shared", private: true });
    await people.api("POST", "/admin/users/mira/repos", { name: "tokens", private: true });
    const variables = "actions/variables/AREA";
    await people.api("POST", `/admin/${variables}`, { value: "everywhere" });
    await people.api("POST", `/repos/mira/tokens/${variables}`, { value: "here" });
    const secret = { data: "canary-secret-value" };
    await people.api("PUT", "/repos/mira/tokens/actions/secrets/KEY", secret);
    const run = await pushWorkflow(
      "tokens",
      `on: push
permissions: { contents: write, statuses: write }
jobs:
  use:
    runs-on: host
    env:
      KEY: "\${{ secrets.KEY }}"
      TOKEN: "\${{ secrets.GITHUB_TOKEN }}"
    steps:
      - run: echo "area \${{ vars.AREA }}, key $KEY, base64 $(printf %s "$KEY" | base64), head \${KEY%value}"
      - run: |
          host="\${GITHUB_SERVER_URL#http://}"
          git clone -q "http://x:$TOKEN@\${host%/}/$GITHUB_REPOSITORY.git" copy
          cd copy
          test -f .gitea/workflows/ci.yml && echo cloned
          git -c user.name=job -c user.email=job@example.org commit -q --allow-empty -m "by the job"
          git push -q origin HEAD:refs/heads/from-job && echo pushed
      - run: |
          api() { curl -s -o /dev/null -w '%{http_code}' -H "Authorization: token $TOKEN" "$@"; }
          base="\${GITHUB_API_URL%/}"
          echo "own $(api "$base/repos/mira/tokens"), status $(api "$base/repos/mira/tokens/statuses/$GITHUB_SHA" -d '{"state":"success"}' -H 'Content-Type: application/json')"
          echo "other $(api "$base/repos/mira/shared"), user $(api "$base/user"), issues $(api "$base/repos/mira/tokens/issues")"
          echo "token-is $(printf %s "$TOKEN" | rev)"
`,
    );
    const { conclusion, logOf, waitForLog } = await waitForEnd(run);
    await waitForLog("use", "token-is");
    const log = await logOf("use");
    expect(conclusion, log).toBe("success");
    expect(log).toContain("area here, key ***, base64 ***");
    expect(log).not.toContain("canary-secret-value");
    expect(log).toContain("cloned");
    expect(log).toContain("pushed");
    expect(log).toContain("own 200, status 201");
    expect(log).toContain("other 404, user 403, issues 403");
    const [, reversed = ""] = /token-is ([0-9a-f]{40})/.exec(log) ?? [];
    const token = [...reversed].toReversed().join("");
    expect((await people.api("GET", "/repos/mira/tokens", undefined, token)).status).toBe(401);
    // The push of the job has arrived and has started no run.
    const runs = await get("/repos/mira/tokens/actions/runs");
    expect(runs.total_count).toBe(1);
    expect(await git.in("tokens", "ls-remote", "origin", "from-job")).toMatchObject({
      output: expect.stringContaining("refs/heads/from-job"),
    });
  });
});
