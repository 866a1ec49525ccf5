import { expect, test } from "vitest";
import { setUpWorkflows } from "../../support/forge/workflow-pushes.ts";
import { createRunnerStarter } from "../support/built-in-runner.ts";

// Workflows whose steps the built-in runner runs as the public documentation describes them.

const scene = setUpWorkflows();
const { people, workflows } = scene;
const startRunner = createRunnerStarter(() => scene.daemon, people);

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
        "::warning::the summary of the step was not kept: GITHUB_STEP_SUMMARY: larger than 1048576 bytes",
        "post last",
        '::error::GITHUB_ENV: invalid line "not a value"',
      ]),
    );
    // The files of the first action are gone, so its script fails, and the job still ends as usual.
    expect(log.join("\n")).toContain("Cannot find module");
    expect(await workflows.logOf("posts", id, "b")).toContain("output kept");
  },
);

const COMPOSITE = `inputs: { who: { default: nobody }, Need: { required: true }, at: { default: '\${{ github.job }}' } }
outputs: { said: { value: '\${{ steps.say.outputs.said }}' }, bad: { value: '\${{ steps.bad.outcome }}/\${{ steps.bad.conclusion }}' } }
runs:
  using: composite
  steps:
    - { id: say, shell: sh, run: 'echo "said=hi $WHO \${{ inputs.Need }} \${{ inputs.at }}" >> $GITHUB_OUTPUT; echo "CENV=$WHO" >> $GITHUB_ENV', env: { WHO: '\${{ inputs.who }}' } }
    - { id: bad, shell: sh, run: exit 2, continue-on-error: true }
    - { if: "steps.bad.outcome == 'failure'", shell: sh, run: 'echo "OUT inner $CENV $OUTER \${{ steps.outer.outputs.x }}|"' }
    - { if: failure(), shell: sh, run: echo OUT never }
    - { uses: ./acts/nested, with: { level: two } }
`;

const FILES = {
  "acts/comp/action.yml": COMPOSITE,
  "acts/nested/action.yaml":
    "inputs: { level: {} }\nruns: { using: composite, steps: [{ shell: sh, run: 'echo OUT nested ${{ inputs.level }}' }] }\n",
  "acts/slow/action.yml":
    "runs: { using: composite, steps: [{ shell: sh, run: sleep 60 }, { if: always(), shell: sh, run: echo OUT never }] }\n",
  "acts/fails/action.yml":
    "outputs: { v: { value: '${{ steps.a.outputs.v }}' } }\nruns: { using: composite, steps: [{ id: a, shell: sh, run: 'echo v=1 >> $GITHUB_OUTPUT; exit 3' }, { shell: sh, run: echo OUT skipped }, { if: failure(), shell: sh, run: echo OUT after }] }\n",
};

/** Jobs with the rows that their steps print after `OUT `. */
const JOBS: Readonly<Record<string, readonly [steps: string, rows: readonly string[]]>> = {
  environment: [
    `env: { A: job, D: '\${{ env.A }}' }
steps:
  - { run: 'echo "OUT $A $B $C $D \${{ env.C }}"', env: { C: step } }
  - run: |
      { echo "B=file"; echo "GITHUB_SHA=fake"; echo "RUNNER_OS=fake"; } >> $GITHUB_ENV
      printf 'MULTI<<EOF\\none\\n\\ntwo=2\\nEOFX\\nEOF\\n' >> $GITHUB_ENV
  - run: |
      echo "OUT $B \${#GITHUB_SHA} $(printf %s "$MULTI" | tr '\\n' '/')"
  - { run: 'echo "OUT $B"', env: { B: of-the-step } }`,
    ["job top step job step", "file 40 one//two=2/EOFX", "of-the-step"],
  ],
  folders: [
    `defaults: { run: { working-directory: src } }
steps:
  - { run: mkdir -p src/one three, working-directory: . }
  - { run: 'echo "OUT $(basename $PWD)"' }
  - { run: 'echo "OUT $(basename $PWD)"', working-directory: src/one }
  - { run: 'echo "OUT $(basename $PWD)"', working-directory: '\${{ github.workspace }}/three' }
  - { run: 'echo "OUT $(ps -o comm= -p $$)"' }`,
    ["src", "one", "three", "sh"],
  ],
  outputs: [
    `steps:
  - id: s
    run: |
      { echo 'm<<--x--'; echo l1; echo; echo EOF; echo --x--; echo 'eq=a=b'; echo 'sp= lead'; printf 'last=no line end'; } >> $GITHUB_OUTPUT
  - { env: { M: '\${{ steps.s.outputs.m }}' }, run: 'echo "OUT $(printf %s "$M" | tr "\\n" /) [\${{ steps.s.outputs.eq }}][\${{ steps.s.outputs.sp }}][\${{ steps.s.outputs.last }}][\${{ steps.s.outputs.none }}]"' }`,
    ["l1//EOF [a=b][ lead][no line end][]"],
  ],
  conditions: [
    `steps:
  - { id: one, run: exit 7, continue-on-error: '\${{ true }}' }
  - { if: "steps.one.outcome == 'failure' && steps.one.conclusion == 'success'", run: 'echo OUT continued \${{ job.status }}' }
  - { id: two, if: false, run: 'true' }
  - { run: 'echo "OUT [\${{ steps.two.outcome }}][\${{ steps.never.outcome }}]"' }
  - { id: three, run: exit 1 }
  - { run: echo OUT skipped }
  - { if: "failure() && steps.three.outcome == 'failure'", run: 'echo OUT failed \${{ job.status }}' }
  - { if: "always() && !cancelled()", run: echo OUT always }
  - { if: "!success()", run: echo OUT not a success }`,
    ["continued success", "[skipped][]", "failed failure", "always", "not a success"],
  ],
  paths: [
    `steps:
  - run: |
      for n in 1 2; do mkdir t$n; printf '#!/bin/sh\\necho tool %s' $n > t$n/tool; chmod +x t$n/tool; echo "$PWD/t$n" >> $GITHUB_PATH; done
  - { run: 'echo "OUT $(tool)"' }
  - { run: 'echo "$PWD/t1" >> $GITHUB_PATH' }
  - { run: 'echo "OUT $(tool)"' }`,
    ["tool 2", "tool 1"],
  ],
  composites: [
    `steps:
  - uses: actions/checkout@v4
  - { id: outer, run: 'echo x=1 >> $GITHUB_OUTPUT' }
  - { id: c, uses: ./acts/comp, with: { who: mira, need: 7 }, env: { OUTER: o } }
  - { run: 'echo "OUT \${{ steps.c.outputs.said }} \${{ steps.c.outputs.bad }} $CENV $OUTER|"' }
  - { id: d, uses: ./acts/fails, continue-on-error: true }
  - { run: 'echo "OUT \${{ steps.d.outcome }} \${{ steps.d.conclusion }} \${{ steps.d.outputs.v }}"' }`,
    [
      "inner mira o |",
      "nested two",
      "hi mira 7 composites failure/success mira |",
      "after",
      "failure success 1",
    ],
  ],
  timeouts: [
    `steps:
  - uses: actions/checkout@v4
  - { id: slow, uses: ./acts/slow, timeout-minutes: 0.005, continue-on-error: true }
  - { run: 'echo "OUT \${{ steps.slow.outcome }}"', timeout-minutes: 0 }`,
    ["failure"],
  ],
  checkouts: [
    `steps:
  - { run: 'mkdir -p .git; echo x > before' }
  - uses: actions/checkout@v4
  - { run: 'echo "OUT $(ls -A | tr "\\n" " ")"; echo x > extra; echo x > acts/extra; rm acts/comp/action.yml' }
  - { uses: actions/checkout@v4, with: { clean: false } }
  - { run: 'echo "OUT $(ls extra acts/extra acts/comp | tr "\\n" " ")"' }
  - uses: actions/checkout@v4
  - { run: 'echo "OUT $(ls . acts | tr "\\n" " ")"; cd /; rm -rf "$GITHUB_WORKSPACE"' }
  - { working-directory: /, run: 'echo "OUT [\${{ hashFiles(''**'') }}]"' }
  - uses: actions/checkout@v4
  - { run: 'git status --short; echo "OUT $(ls acts | tr "\\n" " ")"' }`,
    [
      ".git .gitea acts ",
      "acts/extra extra  acts/comp: action.yml ",
      ".: acts  acts: comp fails nested slow ",
      "[]",
      "comp fails nested slow ",
    ],
  ],
  data: [
    `env: \${{ fromJSON('{"A":"one","N":2}') }}
steps:
  - { run: 'echo "OUT $A $N $B"', env: "\${{ fromJSON('{\\"B\\":\\"three\\"}') }}" }`,
    ["one 2 three"],
  ],
  damage: [
    `steps:
  - { run: 'exec 1>&- 2>&-' }
  - { run: 'kill -9 $$', continue-on-error: true }
  - { shell: 'no-such-program {0}', run: x, continue-on-error: true }
  - { working-directory: nowhere, run: x, continue-on-error: true }
  - { run: 'rm $GITHUB_OUTPUT && mkdir $GITHUB_OUTPUT', continue-on-error: true }
  - { run: "echo '=x' >> $GITHUB_ENV", continue-on-error: true }
  - { shell: 'python3 {0}', run: 'print("OUT python")' }
  - { run: 'printf "OUT a\\rb"' }`,
    ["python", "a\rb"],
  ],
};

test(
  "steps run as the public documentation of workflows describes them",
  { timeout: 120_000 },
  async () => {
    await using _runner = await startRunner("kinds", ["--capacity", "2"]);
    const jobs = Object.entries(JOBS).map(
      ([name, [steps]]) => `  ${name}:\n    runs-on: kinds\n${steps.replaceAll(/^/gm, "    ")}\n`,
    );
    const top =
      "env: { A: top, B: top, C: top }\ndefaults: { run: { shell: sh, working-directory: . } }";
    const id = await workflows.push("kinds", {
      ...FILES,
      ...workflow(`${top}\njobs:\n${jobs.join("")}`),
    });
    const ends = await workflows.ended("kinds", id);
    const outputs: Record<string, readonly string[]> = {};
    for (const name of Object.keys(JOBS)) {
      const rows = await workflows.logOf("kinds", id, name);
      outputs[name] = rows.filter((row) => row.startsWith("OUT ")).map((row) => row.slice(4));
    }
    expect(outputs).toEqual(
      Object.fromEntries(Object.entries(JOBS).map(([name, [, rows]]) => [name, rows])),
    );
    expect(ends).toEqual({
      ...Object.fromEntries(Object.keys(JOBS).map((name) => [name, "success"])),
      conditions: "failure",
    });
  },
);
