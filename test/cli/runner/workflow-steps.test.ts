import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createWorkflowPushes } from "../../support/forge/workflow-pushes.ts";
import { createRunnerStarter } from "../support/built-in-runner.ts";

// Workflows whose steps the built-in runner runs as the public documentation describes them.

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const startRunner = createRunnerStarter(() => daemon, people);
const workflows = createWorkflowPushes(
  () => daemon,
  people,
  () => git,
);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const workflow = (text: string) => ({ ".gitea/workflows/ci.yml": `on: push\n${text}` });

test(
  "every post script of an action runs, and a summary that is too large fails no step",
  { timeout: 60_000 },
  async () => {
    await using _runner = await startRunner("posts");
    const action = (post: string) => ({
      "action.yml": JSON.stringify({ runs: POSTED }),
      "p.js": post,
      "m.js": "",
    });
    const POSTED = { using: "node20", main: "m.js", post: "p.js" };
    const actions = {
      first: "console.log('post first')",
      broken: "require('fs').writeFileSync(process.env.GITHUB_ENV, 'not a value')",
      last: "console.log('post last'); require('fs').rmSync('first', { recursive: true })",
    };
    const files = Object.entries(actions).flatMap(([name, post]) =>
      Object.entries(action(post)).map(([file, text]) => [`${name}/${file}`, text]),
    );
    const id = await workflows.push("posts", {
      ...Object.fromEntries(files),
      ...workflow(`jobs:
  a:
    runs-on: posts
    outputs: { v: '\${{ steps.large.outputs.v }}' }
    steps:
      - uses: actions/checkout@v4
      - { id: large, run: 'head -c 1100000 /dev/zero >> $GITHUB_STEP_SUMMARY; echo v=kept >> $GITHUB_OUTPUT' }
      - uses: ./first
      - uses: ./broken
      - uses: ./last
  b: { needs: a, if: failure(), runs-on: posts, steps: [{ run: 'echo "output \${{ needs.a.outputs.v }}"' }] }
`),
    });
    expect(await workflows.ended("posts", id)).toEqual({ a: "failure", b: "success" });
    const log = await workflows.logOf("posts", id, "a");
    expect(log).toEqual(
      expect.arrayContaining([
        "::warning::the summary of the step was not kept: GITHUB_STEP_SUMMARY has at most 1048576 bytes",
        "post last",
        '::error::GITHUB_ENV: invalid line "not a value"',
      ]),
    );
    // The files of the first action are gone, so its script fails, and the job still ends as usual.
    expect(log.join("\n")).toContain("Cannot find module");
    expect(await workflows.logOf("posts", id, "b")).toContain("output kept");
  },
);
