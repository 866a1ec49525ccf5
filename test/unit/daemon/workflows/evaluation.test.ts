import { expect, test } from "vitest";
import { parse } from "yaml";
import {
  type EvaluationRequest,
  evaluateRequest,
} from "../../../../daemon/workflows/evaluation.ts";
import { toExpandable } from "../../../../daemon/workflows/expand-job.ts";
import { createWork, WorkExceeded } from "../../../../daemon/workflows/expressions/work.ts";
import type { Mapping } from "../../../../daemon/workflows/mapping.ts";
import { expandMatrix } from "../../../../daemon/workflows/matrix.ts";
import { toOwnParts, toPayload } from "../../../../daemon/workflows/payload.ts";
import { parseWorkflow } from "../../../../daemon/workflows/workflow.ts";

/** The evaluation of a job with a condition, which needs a job with one output. */
function requestOf(condition: string, output: string, rest = ""): EvaluationRequest {
  const workflow = parseWorkflow(`on: push
jobs:
  a: { runs-on: x, steps: [{ run: x }] }
  b: { needs: a, runs-on: x, if: ${JSON.stringify(condition)}, steps: [{ run: x }]${rest} }
`);
  const [, definition] = workflow.jobs;
  if (definition === undefined) throw new Error("the workflow lacks a job");
  return {
    kind: "job",
    job: toExpandable(definition),
    contexts: { github: {}, inputs: {}, vars: {} },
    needs: [{ key: "a", result: "success", outputs: [JSON.stringify({ big: output })] }],
    state: "success",
    called: undefined,
  };
}

const big = JSON.stringify(Array.from({ length: 100_000 }, (_, at) => at));

test.each([
  ["decodes a large text", "fromJSON(needs.a.outputs.big)[1] == 1", big],
  ["joins a large list", "join(fromJSON(needs.a.outputs.big)) != ''", big],
  [
    "compares long texts",
    `${Array(40).fill("needs.a.outputs.big == 'x'").join(" || ")}`,
    "y".repeat(50_000),
  ],
  ["searches a long text", `contains(needs.a.outputs.big, 'x')`, "y".repeat(300_000)],
  [
    "builds a long text",
    `${Array(40)
      .fill(`${"format('{0}{0}', ".repeat(12)}'12345678'${")".repeat(12)} == 'x'`)
      .join(" || ")}`,
    "",
  ],
  ["lists the members of an object", "fromJSON(needs.a.outputs.big).*.x == ''", big],
])(
  "an expression that %s exceeds a small budget and not a large one",
  (_title, condition, output) => {
    const request = requestOf(condition, output);
    expect(() => evaluateRequest(request, createWork(200_000))).toThrow(WorkExceeded);
    expect(["skipped", "expanded"]).toContain(evaluateRequest(request, createWork()).kind);
  },
);

test("a text is decoded once for all evaluations that share a budget", () => {
  const request = requestOf("fromJSON(needs.a.outputs.big)[1] == 1", big);
  const decoding = 6 * big.length;
  const work = createWork(4 * decoding);
  for (let count = 0; count < 20; count += 1)
    expect(evaluateRequest(request, work).kind).toBe("expanded");
});

test.each([
  ["exclude", (entries: Mapping[]): Mapping => ({ a: [1, 2], exclude: entries })],
  ["include", (entries: Mapping[]): Mapping => ({ a: [1, 2], include: entries })],
])("a matrix with 60,000 entries of %s is refused at once", (_name, toMatrix) => {
  const entries = Array.from({ length: 60_000 }, (_, at) => ({ a: at, b: at }));
  expect(expandMatrix(toMatrix(entries))).toBe(
    "matrix.include and matrix.exclude have at most 1000 entries each",
  );
});

test("inclusions that extend every combination with ever more keys are refused", () => {
  const include = Array.from({ length: 1_000 }, (_, at) => ({ [`key${at}`]: at }));
  expect(expandMatrix({ a: [1, 2], include })).toBe(
    "a combination of a matrix has at most 256 keys",
  );
});

test("an inclusion extends every combination of whose values it overwrites none, or is one of its own", () => {
  const fruits = {
    fruit: ["apple", "pear"],
    animal: ["cat", "dog"],
    include: [
      { color: "green" },
      { color: "pink", animal: "cat" },
      { fruit: "apple", shape: "circle" },
      { fruit: "banana" },
      { fruit: "banana", animal: "cat" },
    ],
  };
  expect(expandMatrix(fruits)).toEqual([
    { fruit: "apple", animal: "cat", color: "pink", shape: "circle" },
    { fruit: "pear", animal: "cat", color: "pink" },
    { fruit: "apple", animal: "dog", color: "green", shape: "circle" },
    { fruit: "pear", animal: "dog", color: "green" },
    { fruit: "banana" },
    { fruit: "banana", animal: "cat" },
  ]);
});

test("a payload is YAML for every character of a step, and one that was stored whole stays", () => {
  const text =
    "tab\t del\u007f c1\u0085\u009f ls\u2028\u2029 bom\ufeff \u{1f600} \"quotes\" 'x' \\ \0end\n";
  const workflow = parseWorkflow(
    `on: push\njobs: { a: { runs-on: x, steps: [{ run: ${JSON.stringify("echo")} }] } }`,
  );
  const [job] = workflow.jobs;
  if (job === undefined) throw new Error("the workflow lacks a job");
  const definition = { ...job, source: { ...job.source, steps: [{ run: text }] } };
  const source = { workflow, definition, github: {}, inputs: {} };
  const own = toOwnParts({ name: "a (1)", labels: ["x"], strategy: { matrix: { v: [1] } } });
  const payload = toPayload(source, own, "push");
  expect(parse(payload).jobs.a).toEqual({
    "runs-on": ["x"],
    name: "a (1)",
    if: "always()",
    strategy: { matrix: { v: [1] } },
    steps: [{ run: text }],
  });
  // Characters that YAML allows in quotes only as escapes.
  expect(payload).not.toMatch(/[\0\u007f-\u009f\u2028\u2029\ufeff]/);
  expect(toPayload(source, "name: whole\n", "push")).toBe("name: whole\n");
});
