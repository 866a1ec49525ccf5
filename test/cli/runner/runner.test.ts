import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { run } from "../../../cli/main.ts";
import { setUpWorkflows } from "../../support/forge/workflow-pushes.ts";
import { createRunnerStarter } from "../support/built-in-runner.ts";
import { fakeSystem, runCli, temporaryHome } from "../support/run-cli.ts";

const scene = setUpWorkflows();
const { people, workflows } = scene;
const startRunner = createRunnerStarter(() => scene.daemon, people);

const workflow = (text: string) => ({ ".gitea/workflows/ci.yml": `on: push\n${text}` });

test(
  "steps share variables, outputs, paths and actions of the repository",
  { timeout: 120_000 },
  async () => {
    await using _runner = await startRunner("steps");
    const id = await workflows.push("steps", {
      "act/comp/action.yml": [
        "inputs: { who: { default: all } }",
        "outputs: { said: { value: '${{ steps.say.outputs.said }}' } }",
        "runs:",
        "  using: composite",
        "  steps:",
        "    - { id: say, shell: sh, run: 'echo said=hello-$WHO >> $GITHUB_OUTPUT', env: { WHO: '${{ inputs.who }}' } }",
      ].join("\n"),
      "act/js/action.yml":
        "inputs: { with-dash: { default: '${{ github.ref_name }}' } }\nruns: { using: node20, main: main.js, post: post.js }\n",
      "act/js/main.js":
        "require('fs').appendFileSync(process.env.GITHUB_STATE, 's=kept\\n'); console.log('input', process.env['INPUT_WITH-DASH'])",
      "act/js/post.js": "console.log('post', process.env.STATE_s)",
      ...workflow(`name: Steps
env: { LEVEL: workflow, NAME: '\${{ github.ref_name }}', FROM: '\${{ env.LEVEL }}-up' }
jobs:
  a:
    runs-on: steps
    outputs: { said: '\${{ steps.comp.outputs.said }}' }
    env: { LEVEL: job }
    steps:
      - uses: actions/checkout@v4
      - run: 'echo "$LEVEL $NAME $(ls act | tr "\\n" " ")$(git rev-parse HEAD | head -c 7) secret=$RUNNER_SECRET"'
      - run: |
          echo ADDED=env >> $GITHUB_ENV
          mkdir bin; printf '#!/bin/sh\\necho tool' > bin/tool; chmod +x bin/tool
          echo "$PWD/bin" >> $GITHUB_PATH
      - { run: 'echo "$ADDED $LEVEL $(tool) \${{ env.ADDED }}"', env: { LEVEL: step } }
      - run: echo "from $FROM of $GITHUB_WORKFLOW"
      - { id: bad, run: 'exit 3', continue-on-error: true }
      - run: echo "\${{ steps.bad.outcome }} \${{ steps.bad.conclusion }} \${{ job.status }}"
      - { id: comp, uses: ./act/comp, with: { who: mira } }
      - { id: named, run: 'echo "$GITHUB_ACTION \${{ github.action }}"' }
      - run: echo "action $GITHUB_ACTION"
      - uses: ./act/js
      - { run: pwd, working-directory: act/js }
      - { if: failure(), run: echo never }
  b:
    needs: a
    if: github.workflow == 'Steps'
    runs-on: STEPS
    strategy: { matrix: { v: [x, y] } }
    steps: [{ run: 'echo "\${{ needs.a.outputs.said }} \${{ matrix.v }} \${{ strategy.job-index }} of \${{ strategy.job-total }}"' }]
`),
    });
    expect(await workflows.ended("steps", id)).toEqual({
      a: "success",
      "b (x)": "success",
      "b (y)": "success",
    });
    const log = await workflows.logOf("steps", id, "a");
    expect(log[0]).toContain("unconfined");
    expect(log).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^job main comp js [0-9a-f]{7} secret=$/),
        "env step tool env",
        "::error::Process completed with exit code 3.",
        "failure success success",
        'echo "failure success success"',
        "shell: bash --noprofile --norc -e -o pipefail {0}",
        "  LEVEL: step",
        "  who: mira",
        "from workflow-up of Steps",
        "named named",
        expect.stringMatching(/^action __run_\d$/),
        "input main",
        "post kept",
        expect.stringMatching(/workspace\/act\/js$/),
      ]),
    );
    expect(log).not.toContain("never");
    const { jobs } = (await people.api("GET", `/repos/mira/steps/actions/runs/${id}/jobs`)).json;
    // As Gitea's runner: a step that failed is shown as failed, also when the job continues.
    expect(jobs[0].steps[5]).toMatchObject({ name: "Run exit 3", conclusion: "failure" });
    expect(log.indexOf("post kept")).toBeGreaterThan(log.indexOf("input main"));
    expect(await workflows.logOf("steps", id, "b (y)")).toContain("hello-mira y 1 of 2");
  },
);

test(
  "checkout takes branches, folders, history and other repositories, and actions come from the forge",
  { timeout: 120_000 },
  async () => {
    await using _runner = await startRunner("checks");
    await workflows.push("tool", {
      "action.yml": [
        "inputs: { text: { required: true } }",
        "runs:",
        "  using: composite",
        "  steps: [{ shell: sh, run: 'echo tool says ${{ inputs.text }} in $(basename $GITHUB_ACTION_PATH)' }]",
      ].join("\n"),
      "deep/action.yml": "runs: { using: composite, steps: [{ shell: sh, run: echo deep tool }] }",
      ".gitea/workflows/none.yml":
        "on: push\njobs: { a: { runs-on: none, steps: [{ run: x }] } }\n",
    });
    await scene.git.in("tool", "checkout", "-q", "-b", "old");
    await scene.git.in("tool", "commit", "-q", "--allow-empty", "-m", "second");
    const origin = scene.daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
    expect(
      await scene.git.in("tool", "push", "-q", `${origin}/mira/tool.git`, "old"),
    ).toMatchObject({
      exitCode: 0,
    });
    const id = await workflows.push(
      "checks",
      workflow(`jobs:
  a:
    runs-on: checks
    steps:
      - uses: actions/checkout@v4
      - { uses: actions/checkout@v4, with: { repository: mira/tool, ref: old, path: other/tool, fetch-depth: 0 } }
      - run: 'echo "own=$(git rev-list --count HEAD) branch=$(git branch --show-current) tool=$(git -C other/tool rev-list --count HEAD)"'
      - { uses: mira/tool@main, with: { text: hello } }
      - { uses: mira/tool/deep@old }
      - { id: gone, uses: actions/checkout@v4, with: { ref: no-such }, continue-on-error: true }
      - { id: out, uses: actions/checkout@v4, with: { path: ../out }, continue-on-error: true }
      - run: echo "\${{ steps.gone.outcome }} \${{ steps.out.outcome }}"
`),
    );
    expect(await workflows.ended("checks", id)).toEqual({ a: "success" });
    const log = await workflows.logOf("checks", id, "a");
    expect(log).toEqual(
      expect.arrayContaining([
        "own=1 branch=main tool=2",
        "tool says hello in action-0",
        "deep tool",
        "failure failure",
        "::error::../out is outside of the workspace",
      ]),
    );
    expect(log.join("\n")).toContain("cannot fetch no-such of mira/checks");
  },
);

test(
  "a failed step skips the rest, except steps with failure() or always()",
  { timeout: 60_000 },
  async () => {
    await using runner = await startRunner("fails");
    const id = await workflows.push(
      "fails",
      workflow(`jobs:
  a:
    runs-on: fails
    steps:
      - { run: exit 1 }
      - { run: echo skipped }
      - { if: failure(), run: 'echo after \${{ job.status }}' }
      - { if: always(), uses: mira/nothing@v1 }
  b: { runs-on: fails, services: { db: { image: x } }, steps: [{ run: x }] }
  c: { runs-on: fails, steps: [{ run: sleep 60, timeout-minutes: 0.002 }] }
  e:
    runs-on: fails
    outputs: { big: '\${{ steps.s.outputs.big }}' }
    steps: [{ id: s, run: 'echo "big=$(head -c 1100000 /dev/zero | tr "\\0" x)" >> $GITHUB_OUTPUT' }]
  d: { runs-on: fails, timeout-minutes: 0.002, steps: [{ run: sleep 60 }, { if: always(), run: echo cleaned }] }
`),
    );
    expect(await workflows.ended("fails", id)).toEqual({
      a: "failure",
      b: "failure",
      c: "failure",
      d: "failure",
      e: "failure",
    });
    expect(await workflows.logOf("fails", id, "e")).toContain(
      "::error::the output big has 1100000 characters, more than 1048576; use an artifact",
    );
    const log = await workflows.logOf("fails", id, "a");
    expect(log).toContain("after failure");
    expect(log).not.toContain("skipped");
    expect(log.join("\n")).toContain("mira/nothing@v1 is not on this forge");
    expect(await workflows.logOf("fails", id, "b")).toContain(
      "::error::the built-in runner does not run services",
    );
    expect((await workflows.logOf("fails", id, "c")).join()).toContain("has run longer than");
    expect(await workflows.logOf("fails", id, "d")).toContain("cleaned");
    await expect.poll(() => readdir(join(runner.home, "state", "runner"))).toEqual(["lock.json"]);
  },
);

test(
  "processes that a step leaves end with the job, and a cancelled job ends its step",
  { timeout: 60_000 },
  async () => {
    await using _runner = await startRunner("stray", ["--capacity", "2"]);
    const id = await workflows.push(
      "stray",
      workflow(`jobs:
  a:
    runs-on: stray
    steps:
      - run: |
          setsid sh -c 'sleep 1000; :' >/dev/null 2>&1 &
          (trap '' TERM; sleep 1000) &
          echo "stray $! $(ps -o pid= --ppid $$ | tr '\\n' ' ')"
      - run: echo next step
  b:
    runs-on: stray
    steps:
      - run: "echo begun; trap '' TERM; sleep 1000"
      - { if: cancelled(), run: 'echo cleaning \${{ job.status }}' }
`),
    );
    await vi.waitUntil(async () => (await workflows.logOf("stray", id, "b")).includes("begun"), {
      timeout: 60_000,
    });
    const marked = async () => (await findMarked()).length;
    expect(await marked()).toBeGreaterThan(0);
    await vi.waitUntil(
      async () => (await workflows.jobsOf("stray", id))[0]?.status === "completed",
      {
        timeout: 60_000,
      },
    );
    expect(await workflows.logOf("stray", id, "a")).toContain("next step");
    expect((await workflows.cancel("stray", id)).status).toBe(204);
    expect(await workflows.ended("stray", id)).toEqual({ a: "success", b: "cancelled" });
    expect(await workflows.logOf("stray", id, "b")).toEqual(
      expect.arrayContaining(["The job was cancelled.", "cleaning cancelled"]),
    );
    await expect.poll(marked, { timeout: 60_000 }).toBe(0);
  },
);

test("a runner runs only what its owner allows", { timeout: 60_000 }, async () => {
  await using runner = await startRunner("picky", [], { allow: "jonas/other" });
  const id = await workflows.push(
    "picky",
    workflow("jobs: { a: { runs-on: picky, steps: [{ run: echo ran }] } }\n"),
  );
  expect(await workflows.ended("picky", id)).toEqual({ a: "failure" });
  expect((await workflows.logOf("picky", id, "a")).filter((row) => row !== "")).toEqual([
    "::error::the runner picky does not run jobs of mira/picky: its owner allows jonas/other",
  ]);
  expect(await runner.stop()).toBe(0);
});

test("an ephemeral runner runs one job and is forgotten", { timeout: 60_000 }, async () => {
  await using home = await temporaryHome();
  const env = {
    PATH: process.env["PATH"],
    CROFT_URL: scene.daemon.url,
    CROFT_FORGE_TOKEN: people.admin,
  };
  const options = { home: home.path, env };
  await runCli(["runner", "register", "--labels", "once:host", "--ephemeral"], options);
  const ended = run(["runner", "run"], fakeSystem({ ...options, hurried: false }));
  const id = await workflows.push(
    "once",
    workflow("jobs: { a: { runs-on: once, steps: [{ run: echo ran }] } }\n"),
  );
  expect(await ended).toBe(0);
  expect(await workflows.ended("once", id)).toEqual({ a: "success" });
  const again = await runCli(["runner", "run"], options);
  expect(again.code).toBe(6);
});

test(
  "serve --runner runs daemon and runner together, for the own repositories of the signed-in user",
  { timeout: 60_000 },
  async () => {
    await using home = await temporaryHome();
    const system = fakeSystem({
      home: home.path,
      env: { PATH: process.env["PATH"] },
      hurried: false,
    });
    const ended = run(["serve", "--runner", "--port", "0"], system);
    await vi.waitUntil(() => system.written.err().includes("waits for jobs"), { timeout: 40_000 });
    const state = JSON.parse(await readFile(join(home.path, "runner.json"), "utf8"));
    expect(state).toMatchObject({ url: null, ephemeral: false });
    expect(state.allow).not.toContain("*");
    expect(system.written.err()).toContain(`unconfined, as its user, for ${state.allow.join()}`);
    system.stops.send("SIGTERM");
    expect(await ended).toBe(0);
  },
);

/** Processes of jobs of this test's runners. */
async function findMarked(): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
    if (
      environment.includes("CROFT_JOB_MARK=") &&
      environment.includes("GITHUB_REPOSITORY=mira/stray")
    )
      found.push(name);
  }
  return found;
}

test(
  "summaries of steps are kept without secrets, and shown on the page of the run and by run view",
  { timeout: 60_000 },
  async () => {
    await using runner = await startRunner("summed");
    await people.api("POST", "/admin/users/mira/repos", { name: "summed" });
    const secret = { data: "canary-of-the-summary" };
    await people.api("PUT", "/repos/mira/summed/actions/secrets/KEY", secret);
    const id = await workflows.push("summed", {
      ...workflow(`jobs:
  a:
    name: 'job *one*'
    runs-on: summed
    env: { KEY: '\${{ secrets.KEY }}' }
    steps:
      - run: 'echo "**bold** $KEY" >> $GITHUB_STEP_SUMMARY'
      - run: echo nothing
      - run: 'echo "| a |\\n|---|\\n| <script>alert(1)</script>cell |" > $GITHUB_STEP_SUMMARY; exit 1'
`),
    });
    expect(Object.values(await workflows.ended("summed", id))).toEqual(["failure"]);
    const { text, headers } = await people.api(
      "GET",
      `/repos/mira/summed/actions/runs/${id}/summary`,
    );
    expect(headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(text).toMatch(/^## job \\\*one\\\*\n\n\*\*bold\*\* \*\*\*\n\n\| a \|/);
    expect(text).not.toContain("canary");
    const page = await scene.daemon.request(`/mira/summed/actions/runs/${id}`, {
      headers: { Accept: "text/html" },
    });
    expect(page.text).toContain("<strong>bold</strong>");
    expect(page.text).toContain("job *one*");
    expect(page.text).not.toContain("<script>alert");
    const env = { CROFT_URL: scene.daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
    const viewed = await runCli(["run", "view", `mira/summed/${id}`], { home: runner.home, env });
    expect(viewed.out).toContain("**bold** ***");
  },
);
