/** A file with the job `a`, and the settings that a runner receives for it. */
export interface SettingCase {
  readonly title: string;
  /** Lines above `jobs`. */
  readonly top?: string;
  /** Lines of the job. */
  readonly job: string;
  /** Members of the first job; `payload` is the job in the file that the runner gets. */
  readonly is: Readonly<Record<string, unknown>>;
  /** Members of the whole file that the runner gets. */
  readonly file?: Readonly<Record<string, unknown>>;
}

const matrix = "strategy: { matrix: { os: [linux, mac] } }\n";

export const settingCorpus: readonly SettingCase[] = [
  {
    title: "what holds without any setting",
    job: "",
    is: {
      failFast: true,
      maxParallel: 0,
      timeoutMinutes: 0,
      continueOnError: false,
      concurrencyGroup: "",
      cancelsGroup: false,
    },
  },
  {
    title: "fail-fast and max-parallel",
    job: "strategy: { fail-fast: false, max-parallel: 2, matrix: { v: [1, 2, 3] } }",
    is: { failFast: false, maxParallel: 2 },
  },
  {
    title: "fail-fast and max-parallel by expressions",
    job: "strategy: { fail-fast: \"${{ github.ref_name != 'main' }}\", max-parallel: '${{ inputs.level }}', matrix: { v: [1] } }",
    is: { failFast: false, maxParallel: 3 },
  },
  { title: "a time limit", job: "timeout-minutes: 7", is: { timeoutMinutes: 7 } },
  { title: "part of a minute", job: "timeout-minutes: 0.5", is: { timeoutMinutes: 0.5 } },
  {
    title: "a time limit by an expression",
    job: "timeout-minutes: ${{ fromJSON('90') }}",
    is: { timeoutMinutes: 90 },
  },
  { title: "continue-on-error", job: "continue-on-error: true", is: { continueOnError: true } },
  {
    title: "continue-on-error by a value of the matrix",
    job: "continue-on-error: ${{ matrix.experimental }}\nstrategy: { matrix: { include: [{ experimental: true }, { experimental: false }] } }",
    is: { continueOnError: true },
  },
  {
    title: "a concurrency group as a text",
    job: "concurrency: deploy-${{ github.ref_name }}",
    is: { concurrencyGroup: "deploy-main", cancelsGroup: false },
  },
  {
    title: "a concurrency group that cancels, by values of the matrix",
    job: `${matrix}concurrency: { group: 'os-\${{ matrix.os }}', cancel-in-progress: "\${{ matrix.os == 'linux' }}" }`,
    is: { concurrencyGroup: "os-linux", cancelsGroup: true },
  },
  {
    title: "a runner chosen by the matrix",
    job: `${matrix}runs-on: ["\${{ matrix.os }}", big]`,
    is: { labels: ["linux", "big"], name: "a (linux)" },
  },
  {
    title: "a list of labels in the matrix",
    job: "strategy: { matrix: { on: [[x, y]] } }\nruns-on: ${{ matrix.on }}",
    is: { labels: ["x", "y"] },
  },
  {
    title: "outputs, environment and steps are handed on as they are",
    job: "env: { LEVEL: '${{ vars.RUNNER }}' }\noutputs: { tag: '${{ steps.a.outputs.tag }}' }\ndefaults: { run: { shell: sh } }",
    is: {
      payload: {
        env: { LEVEL: "${{ vars.RUNNER }}" },
        outputs: { tag: "${{ steps.a.outputs.tag }}" },
        defaults: { run: { shell: "sh" } },
      },
    },
  },
  {
    title: "environment, defaults and permissions of the file",
    top: "env: { A: one, B: 2 }\ndefaults: { run: { working-directory: src } }\npermissions: read-all\n",
    job: "env: { A: two }",
    is: { payload: { env: { A: "two" } } },
    file: {
      env: { A: "one", B: 2 },
      defaults: { run: { "working-directory": "src" } },
      permissions: "read-all",
    },
  },
  {
    title: "permissions of a job",
    job: "permissions: { contents: read, issues: write, actions: none }",
    is: { payload: { permissions: { contents: "read", issues: "write", actions: "none" } } },
  },
  {
    title: "containers, services and an environment are handed on",
    job: "container: { image: 'node:22' }\nservices: { db: { image: postgres } }\nenvironment: production",
    is: {
      payload: {
        container: { image: "node:22" },
        services: { db: { image: "postgres" } },
        environment: "production",
      },
    },
  },
  {
    title: "local actions and actions of the forge are handed on",
    job: "steps: [{ uses: ./actions/greet, with: { who: mira } }, { uses: 'mira/tool/sub@v1' }]",
    is: {
      payload: {
        steps: [{ uses: "./actions/greet", with: { who: "mira" } }, { uses: "mira/tool/sub@v1" }],
      },
    },
  },
  {
    title: "steps keep conditions, names, ids, shells and time limits",
    job: "steps: [{ id: one, name: First, if: always(), run: make, shell: bash, working-directory: src, continue-on-error: true, timeout-minutes: 1, env: { A: b } }]",
    is: {
      payload: {
        steps: [
          {
            id: "one",
            name: "First",
            if: "always()",
            run: "make",
            shell: "bash",
            "working-directory": "src",
            "continue-on-error": true,
            "timeout-minutes": 1,
            env: { A: "b" },
          },
        ],
      },
    },
  },
  {
    title: "a script of several lines",
    job: "steps:\n  - run: |\n      one\n      two\n  - run: >-\n      three\n      four",
    is: { payload: { steps: [{ run: "one\ntwo\n" }, { run: "three four" }] } },
  },
  {
    title: "words that YAML 1.1 took for booleans stay texts",
    job: "env: { A: on, B: yes, C: off, D: 'true', E: 010 }",
    is: { payload: { env: { A: "on", B: "yes", C: "off", D: "true", E: 10 } } },
  },
];
