import type { CorpusCase } from "./workflow-corpus.ts";

const matrix = (text: string) => `jobs:
  t:
    runs-on: linux
    steps: [{ run: 'true' }]
    strategy:
      matrix:
${text.replaceAll(/^/gm, "        ")}`;

const names = (...found: string[]) => found.map((name) => [`t (${name})`, "linux"] as const);

/** Matrices and the jobs that they make. Values in names follow the sorted keys. */
export const matrixCorpus: readonly CorpusCase[] = [
  {
    title: "three lists",
    file: matrix("a: [1, 2]\nb: [x]\nc: [true, false]"),
    jobs: names("1, x, true", "1, x, false", "2, x, true", "2, x, false"),
  },
  {
    title:
      "inclusions of the public documentation, where one without a key of the matrix extends all",
    file: matrix(
      "fruit: [apple, pear]\nanimal: [cat, dog]\ninclude:\n  - { color: green }\n  - { color: pink, animal: cat }\n  - { fruit: apple, shape: circle }\n  - { fruit: banana }\n  - { fruit: banana, animal: cat }",
    ),
    jobs: names(
      "cat, pink, apple, circle",
      "cat, pink, pear",
      "dog, green, apple, circle",
      "dog, green, pear",
      "banana",
      "cat, banana",
    ),
  },
  {
    title: "a later inclusion that overwrites what an earlier one added",
    file: matrix("a: [1]\ninclude: [{ a: 1, b: x }, { a: 1, b: y }]"),
    jobs: names("1, y"),
  },
  {
    title: "an inclusion that never changes a value of the matrix",
    file: matrix("a: [1, 2]\nb: [3]\ninclude: [{ a: 1, b: 4 }]"),
    jobs: names("1, 3", "2, 3", "1, 4"),
  },
  {
    title: "an inclusion that repeats a combination",
    file: matrix("a: [1, 2]\ninclude: [{ a: 1 }]"),
    jobs: names("1", "2"),
  },
  {
    title: "exclusions of several entries",
    file: matrix("os: [l, m]\nv: [1, 2, 3]\nexclude: [{ os: m, v: 1 }, { v: 3 }]"),
    jobs: names("l, 1", "l, 2", "m, 2"),
  },
  {
    title: "an exclusion that nothing fits",
    file: matrix("a: [1]\nexclude: [{ a: 9 }, { other: 1 }]"),
    jobs: names("1"),
  },
  {
    title: "an exclusion by type: the text 1 is not the number",
    file: matrix("a: [1, 2]\nexclude: [{ a: '1' }]"),
    jobs: names("1", "2"),
  },
  {
    title: "an exclusion of an object",
    file: matrix("v: [{ n: 1 }, { n: 2 }]\nexclude: [{ v: { n: 1 } }]"),
    jobs: names('{"n":2}'),
  },
  {
    title: "inclusions by an expression",
    file: matrix(`a: [1]\ninclude: '\${{ fromJSON(''[{"a": 1, "b": 5}, {"a": 7}]'') }}'`),
    jobs: names("1, 5", "7"),
  },
  {
    title: "values by expressions",
    file: matrix("a: ['${{ github.ref_name }}', '${{ 1 }}']"),
    jobs: names("main", "1"),
  },
  {
    title: "texts, numbers, null and lists",
    file: matrix("a: ['1.10', 1.10, null, [x, y]]"),
    jobs: names("1.10", "1.1", "null", '["x","y"]'),
  },
  { title: "a list without values", file: matrix("a: []\nb: [1]"), jobs: [] },
  {
    title: "everything excluded",
    file: matrix("a: [1, 2]\nexclude: [{ a: 1 }, { a: 2 }]"),
    jobs: [],
  },
  {
    title: "as many jobs as there may be",
    file: matrix(`a: [${Array.from({ length: 256 }, (_, index) => index).join(", ")}]`),
    jobs: names(...Array.from({ length: 256 }, (_, index) => String(index))),
  },
];
