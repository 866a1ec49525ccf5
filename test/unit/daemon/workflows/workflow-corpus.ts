/** A workflow file and the jobs that it makes: name, labels and needs. */
export interface CorpusCase {
  readonly title: string;
  /** The file without `on`, which is `push`. */
  readonly file: string;
  readonly jobs: readonly (readonly [name: string, labels: string, needs?: string])[];
}

const steps = "steps: [{ run: 'true' }]";
const job = (rest: string) => `jobs:\n  a:\n    runs-on: linux\n    ${steps}\n${rest}`;
const matrix = (text: string) => `jobs:
  t:
    runs-on: \${{ matrix.os || 'linux' }}
    ${steps}
    strategy:
      matrix:
${text.replaceAll(/^/gm, "        ")}`;

export const corpus: readonly CorpusCase[] = [
  { title: "one job", file: job(""), jobs: [["a", "linux"]] },
  { title: "a job with a name", file: job("    name: Build it"), jobs: [["Build it", "linux"]] },
  {
    title: "a name with an expression",
    file: job("    name: Build ${{ github.ref_name }}"),
    jobs: [["Build main", "linux"]],
  },
  {
    title: "labels as a flow list",
    file: `jobs: { a: { runs-on: [self-hosted, linux], ${steps} } }`,
    jobs: [["a", "self-hosted,linux"]],
  },
  {
    title: "labels as a block list with a repeated label",
    file: `jobs:\n  a:\n    runs-on:\n      - x\n      - y\n      - x\n    ${steps}`,
    jobs: [["a", "x,y"]],
  },
  {
    title: "labels below `labels`",
    file: `jobs: { a: { runs-on: { group: g, labels: [x] }, ${steps} } }`,
    jobs: [["a", "x"]],
  },
  {
    title: "labels by an expression that gives a list",
    file: `jobs: { a: { runs-on: "\${{ fromJSON('[\\"x\\", \\"y\\"]') }}", ${steps} } }`,
    jobs: [["a", "x,y"]],
  },
  {
    title: "labels by a condition",
    file: `jobs: { a: { runs-on: "\${{ github.ref == 'refs/heads/main' && 'big' || 'small' }}", ${steps} } }`,
    jobs: [["a", "big"]],
  },
  {
    title: "labels by a variable",
    file: `jobs: { a: { runs-on: "\${{ vars.RUNNER }}", ${steps} } }`,
    jobs: [["a", "fast"]],
  },
  {
    title: "needs as a text and as a list",
    file: `${job("")}
  b: { runs-on: linux, needs: a, ${steps} }
  c: { runs-on: linux, needs: [a, b, a], ${steps} }`,
    jobs: [
      ["a", "linux"],
      ["b", "linux", "a"],
      ["c", "linux", "a,b"],
    ],
  },
  {
    title: "a matrix of one list",
    file: matrix("os: [linux, mac]"),
    jobs: [
      ["t (linux)", "linux"],
      ["t (mac)", "mac"],
    ],
  },
  {
    title: "a matrix whose keys are sorted in names",
    file: matrix("version: [1, 2]\nos: [x]"),
    jobs: [
      ["t (x, 1)", "x"],
      ["t (x, 2)", "x"],
    ],
  },
  {
    title: "an exclusion by all keys",
    file: matrix("a: [1, 2]\nb: [1, 2]\nexclude: [{ a: 1, b: 2 }]"),
    jobs: [
      ["t (1, 1)", "linux"],
      ["t (2, 1)", "linux"],
      ["t (2, 2)", "linux"],
    ],
  },
  {
    title: "an exclusion by one key",
    file: matrix("a: [1, 2]\nb: [1, 2]\nexclude: [{ a: 1 }]"),
    jobs: [
      ["t (2, 1)", "linux"],
      ["t (2, 2)", "linux"],
    ],
  },
  {
    title: "an inclusion that extends one combination",
    file: matrix("a: [1, 2]\ninclude: [{ a: 2, os: mac }]"),
    jobs: [
      ["t (1)", "linux"],
      ["t (2, mac)", "mac"],
    ],
  },
  {
    title: "an inclusion of another value as a job of its own",
    file: matrix("a: [1]\ninclude: [{ a: 3, os: mac }]"),
    jobs: [
      ["t (1)", "linux"],
      ["t (3, mac)", "mac"],
    ],
  },
  {
    title: "an inclusion without a key of the matrix, which extends every job",
    file: matrix("a: [1, 2]\ninclude: [{ os: mac }]"),
    jobs: [
      ["t (1, mac)", "mac"],
      ["t (2, mac)", "mac"],
    ],
  },
  {
    title: "a matrix of inclusions only",
    file: matrix("include: [{ os: x }, { os: y }]"),
    jobs: [
      ["t (x)", "x"],
      ["t (y)", "y"],
    ],
  },
  {
    title: "an inclusion that extends a combination that is excluded becomes a job",
    file: matrix("a: [1, 2]\nexclude: [{ a: 2 }]\ninclude: [{ a: 2, os: mac }]"),
    jobs: [
      ["t (1)", "linux"],
      ["t (2, mac)", "mac"],
    ],
  },
  {
    title: "a matrix of objects and booleans",
    file: matrix("node: [{ v: 1 }]\nflag: [true]"),
    jobs: [['t (true, {"v":1})', "linux"]],
  },
  {
    title: "a matrix by an expression",
    file: `jobs: { t: { runs-on: x, ${steps}, strategy: { matrix: "\${{ fromJSON('{\\"v\\": [1, 2]}') }}" } } }`,
    jobs: [
      ["t (1)", "x"],
      ["t (2)", "x"],
    ],
  },
  {
    title: "a list of a matrix by an expression",
    file: matrix("v: ${{ fromJSON('[3, 4]') }}"),
    jobs: [
      ["t (3)", "linux"],
      ["t (4)", "linux"],
    ],
  },
  {
    title: "a name with a matrix value",
    file: `jobs: { t: { runs-on: x, name: "on \${{ matrix.v }}", ${steps}, strategy: { matrix: { v: [1] } } } }`,
    jobs: [["on 1", "x"]],
  },
  {
    title: "a name beside a matrix",
    file: `jobs: { t: { runs-on: x, name: test, ${steps}, strategy: { matrix: { v: [1] } } } }`,
    jobs: [["test (1)", "x"]],
  },
  {
    title: "the position in the matrix",
    file: `jobs: { t: { runs-on: x, name: "\${{ strategy.job-index }} of \${{ strategy.job-total }}", ${steps}, strategy: { matrix: { v: [a, b] } } } }`,
    jobs: [
      ["0 of 2", "x"],
      ["1 of 2", "x"],
    ],
  },
  {
    title: "anchors, aliases and merge keys",
    file: `x: &base { runs-on: linux, ${steps} }
jobs:
  a: *base
  b: { <<: *base, needs: a }`,
    jobs: [
      ["a", "linux"],
      ["b", "linux", "a"],
    ],
  },
  { title: "CRLF line ends", file: job("").replaceAll("\n", "\r\n"), jobs: [["a", "linux"]] },
  {
    title: "unknown keys beside the known ones",
    file: `permissions: { contents: read }\n${job("    environment: production\n    services: {}")}`,
    jobs: [["a", "linux"]],
  },
];

/** Files that are refused, with the line and the words of the message. */
export const refused: readonly (readonly [
  title: string,
  file: string,
  line: number,
  message: string,
])[] = [
  ["no mapping", "just text", 1, "a workflow is a mapping"],
  ["an empty file", "", 1, "a workflow is a mapping"],
  ["no jobs", "on: push\n", 1, "at least one job"],
  ["an empty mapping of jobs", "on: push\njobs: {}\n", 2, "at least one job"],
  ["no events", job(""), 1, "`on` is missing"],
  ["an unknown event", `on:\n  pusch:\n${job("")}`, 2, 'unknown event "pusch"'],
  ["a NUL", `on: push\nname: a\0b\n${job("")}`, 2, "has a NUL character"],
  ["an escaped NUL", `on: push\nname: "a\\0b"\n${job("")}`, 2, "has a NUL character"],
  [
    "an escaped NUL in a key",
    `on: push\nenv: { "a\\0b": x }\n${job("")}`,
    2,
    "has a NUL character",
  ],
  ["invalid YAML", "on: push\njobs:\n  a: [\n", 4, "invalid YAML"],
  ["a repeated key", `on: push\non: push\n${job("")}`, 2, "invalid YAML"],
  ["a tab as indentation", "on: push\njobs:\n\ta: 1\n", 3, "invalid YAML"],
  ["a job without a label", `on: push\njobs:\n  a:\n    ${steps}\n`, 4, "runs-on is missing"],
  ["a job without steps", "on: push\njobs:\n  a:\n    runs-on: x\n", 4, "steps must be a list"],
  [
    "a step without work",
    "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - name: n\n",
    6,
    "either `run` or `uses`",
  ],
  [
    "a step with too much",
    "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: x\n      - { run: x, uses: y }\n",
    7,
    "either `run` or `uses`",
  ],
  [
    "a job that needs an unknown one",
    `on: push\n${job("    needs: [b]")}`,
    6,
    'needs the unknown job "b"',
  ],
  [
    "a cycle",
    `on: push\njobs:\n  a: { runs-on: x, needs: b, ${steps} }\n  b: { runs-on: x, needs: c, ${steps} }\n  c: { runs-on: x, needs: a, ${steps} }`,
    3,
    "a → b → c → a",
  ],
  ["a job that needs itself", `on: push\n${job("    needs: a")}`, 6, "a → a"],
  ["a broken condition", `on: push\n${job("    if: github.ref ==")}`, 6, "jobs.a.if"],
  [
    "a broken expression in a step",
    "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo ${{ 1 + }}\n",
    6,
    "unexpected character",
  ],
  ["a bad id of a job", `on: push\njobs:\n  1a: { runs-on: x, ${steps} }`, 3, "not an id of a job"],
  [
    "a call with steps",
    `on: push\njobs:\n  a:\n    uses: ./x.yml\n    ${steps}\n`,
    5,
    "both `uses` and `steps`",
  ],
  [
    "a call with a list as input",
    "on: push\njobs:\n  a:\n    uses: ./x.yml\n    with:\n      x: [1]\n",
    6,
    "must be a single value",
  ],
  [
    "a call that passes more than the name of a secret",
    "on: push\njobs:\n  a:\n    uses: ./x.yml\n    secrets:\n      x: a ${{ secrets.B }}\n",
    6,
    "must have the form ${{ secrets.NAME }}",
  ],
  [
    "an input of a call without a type",
    `on:\n  workflow_call:\n    inputs:\n      x: { required: true }\n${job("")}`,
    4,
    "must be string, boolean or number",
  ],
  [
    "a broken output of a call",
    `on:\n  workflow_call:\n    outputs:\n      x: { value: "\${{ jobs.a. }}" }\n${job("")}`,
    4,
    "on.workflow_call.outputs.x.value",
  ],
  [
    "both kinds of a filter",
    `on:\n  push:\n    branches: [a]\n    branches-ignore: [b]\n${job("")}`,
    4,
    "both branches and branches-ignore",
  ],
  ["an invalid pattern", `on:\n  push:\n    branches: ['[']\n${job("")}`, 3, "invalid pattern"],
  ["a schedule without lines", `on:\n  schedule: daily\n${job("")}`, 2, "on.schedule"],
  [
    "a matrix of a number",
    `on: push\n${job("    strategy: { matrix: 3 }")}`,
    6,
    "must be a mapping",
  ],
  [
    "a text of a condition that YAML takes for a tag",
    `on: push\n${job("    if: !cancelled()")}`,
    6,
    "must be in quotes",
  ],
  [
    "an expression that is not closed",
    `on: push\n${job("    name: a ${{ github.ref")}`,
    6,
    "not closed",
  ],
  ["an unknown context", `on: push\n${job("    name: ${{ githb.ref }}")}`, 6, "unknown name"],
  ["an unknown function", `on: push\n${job("    name: ${{ shout('x') }}")}`, 6, "unknown function"],
  [
    "a broken condition of a step",
    "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: x\n        if: wat ==\n",
    7,
    "jobs.a.steps.0.if",
  ],
  ["permissions of another word", `on: push\npermissions: all\n${job("")}`, 2, "read-all"],
  [
    "a permission of another level",
    `on: push\npermissions: { contents: admin }\n${job("")}`,
    2,
    "permissions.contents must be read, write or none",
  ],
  ["a list as the environment", `on: push\nenv: [a]\n${job("")}`, 2, "env must be a mapping"],
  ["a mapping as a name", `on: push\nname: { a: b }\n${job("")}`, 2, "name must be a text"],
  ["jobs as a list", "on: push\njobs: [a, b]\n", 2, "at least one job"],
  ["a job that is a text", "on: push\njobs:\n  a: build\n", 3, "jobs.a must be a mapping"],
  [
    "steps as a mapping",
    "on: push\njobs:\n  a:\n    runs-on: x\n    steps: { run: x }\n",
    5,
    "list",
  ],
  ["an empty list of events", `on: []\n${job("")}`, 1, "names no event"],
  ["an event that is a mapping of a text", `on:\n  push: main\n${job("")}`, 2, "must be a mapping"],
  [
    "both kinds of paths",
    `on:\n  push: { paths: [a], paths-ignore: [b] }\n${job("")}`,
    2,
    "both paths",
  ],
  [
    "a pattern that is a mapping",
    `on:\n  push:\n    tags: [{ a: b }]\n${job("")}`,
    3,
    "list of texts",
  ],
  ["two documents", `on: push\n${job("")}---\nb: 1\n`, 6, "invalid YAML"],
  ["an alias without an anchor", `on: push\nenv: *missing\n${job("")}`, 2, "invalid YAML"],
  ["a concurrency without a group", `on: push\nconcurrency: {}\n${job("")}`, 2, "needs a group"],
];
