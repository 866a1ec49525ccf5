import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { expandJob, toExpandable } from "../../../../daemon/workflows/expand-job.ts";
import { toPayload } from "../../../../daemon/workflows/payload.ts";
import { matchesPush } from "../../../../daemon/workflows/triggers.ts";
import { parseWorkflow } from "../../../../daemon/workflows/workflow.ts";
import { WorkflowError } from "../../../../daemon/workflows/yaml-source.ts";
import { corpus, refused } from "./workflow-corpus.ts";

const contexts = {
  github: { ref: "refs/heads/main", ref_name: "main" },
  vars: { RUNNER: "fast" },
  needs: {},
  inputs: {},
};

const expand = (file: string) => {
  const workflow = parseWorkflow(file);
  const { github, inputs } = contexts;
  return workflow.jobs.flatMap((job) =>
    expandJob(toExpandable(job), { contexts }).map((expanded) => ({
      job,
      expanded,
      payload: toPayload({ workflow, definition: job, github, inputs }, expanded.payload, "push"),
    })),
  );
};

test.each(corpus)("a workflow file expands to the jobs of $title", ({ file, jobs }) => {
  const found = expand(`on: push\n${file}`).map(({ job, expanded }) => ({
    name: expanded.name,
    labels: expanded.labels.join(","),
    needs: job.needs.join(","),
  }));
  expect(found).toEqual(jobs.map(([name, labels, needs = ""]) => ({ name, labels, needs })));
});

test.each(refused)(
  "a workflow file with %s is refused with its line",
  (_title, file, line, message) => {
    const error = catchError(() => parseWorkflow(file));
    expect(error).toBeInstanceOf(WorkflowError);
    expect({
      line: (error as WorkflowError).line,
      message: (error as WorkflowError).message,
    }).toEqual({
      line,
      message: expect.stringContaining(message),
    });
  },
);

test.each([
  [
    "a fraction of jobs at a time",
    "strategy: { max-parallel: 1.5, matrix: { v: [1] } }",
    "whole number",
  ],
  ["a NUL in its name", `name: "\${{ fromJSON('\\"a\\\\u0000\\"') }}"`, "name has a NUL"],
  [
    "a NUL in a value of its matrix",
    `strategy: { matrix: "\${{ fromJSON('{\\"v\\":[\\"\\\\u0000\\"]}') }}" }`,
    "name has a NUL",
  ],
  [
    "a NUL in its group",
    `concurrency: "\${{ fromJSON('\\"a\\\\u0000\\"') }}"`,
    "concurrency has a NUL",
  ],
])("a job with %s, which no database stores, is refused", (_title, part, message) => {
  const file = `on: push\njobs:\n  a:\n    runs-on: x\n    ${part}\n    steps: [{ run: x }]\n`;
  expect(() => expand(file)).toThrow(message);
});

test("a time limit beyond a year is a year", () => {
  const file =
    "on: push\njobs: { a: { runs-on: x, timeout-minutes: 1e300, steps: [{ run: x }] } }\n";
  expect(expand(file)[0]?.expanded.timeoutMinutes).toBe(527_040);
});

test("the payload of one job of a matrix has its values and no needs", () => {
  const file = `
name: CI
on: push
env: { A: "1" }
defaults: { run: { shell: sh } }
jobs:
  a: { runs-on: x, steps: [{ run: "echo" }] }
  t:
    needs: a
    runs-on: \${{ matrix.os }}
    if: failure()
    timeout-minutes: 5
    strategy: { fail-fast: false, max-parallel: 2, matrix: { os: [x, y] } }
    steps: [{ run: "echo \${{ matrix.os }}" }]`;
  const second = expand(file)[2];
  expect(second?.expanded).toMatchObject({ failFast: false, maxParallel: 2, timeoutMinutes: 5 });
  expect(parse(second?.payload ?? "")).toEqual({
    name: "CI",
    on: "push",
    env: { A: "1" },
    defaults: { run: { shell: "sh" } },
    jobs: {
      t: {
        name: "t (y)",
        "runs-on": ["y"],
        if: "always()",
        "timeout-minutes": 5,
        strategy: { "fail-fast": false, "max-parallel": 2, matrix: { os: ["y"] } },
        steps: [{ run: "echo ${{ matrix.os }}" }],
      },
    },
  });
});

describe("hostile files", () => {
  const job = "jobs: { a: { runs-on: x, steps: [{ run: x }] } }";
  test("refuses aliases that expand to more than the file", () => {
    const levels = Array.from({ length: 9 }, (_, level) =>
      level === 0
        ? "l0: &l0 [x,x,x,x,x,x,x,x,x]"
        : `l${level}: &l${level} [${`*l${level - 1},`.repeat(9)}]`,
    );
    expect(() => parseWorkflow(`${levels.join("\n")}\non: push\n${job}`)).toThrow(
      "too many aliases",
    );
  });
  test("refuses a megabyte of aliases", () => {
    const file = `a: &a x\nb: [${"*a,".repeat(350_000)}]\non: push\n${job}`;
    expect(() => parseWorkflow(file)).toThrow("at most 128 KiB");
  });
  test("refuses nesting that would overflow the stack", () => {
    for (const depth of [100, 60_000]) {
      const file = `a: ${"[".repeat(depth)}${"]".repeat(depth)}\non: push\n${job}`;
      expect(() => parseWorkflow(file)).toThrow(/nested/);
    }
  });
  test("refuses thousands of quotation marks in an expression that is not closed, without trying all their pairs", () => {
    const file = `on: push\njobs: { a: { runs-on: x, steps: [{ run: "\${{ ${"'' ".repeat(20_000)}" }] } }`;
    expect(() => parseWorkflow(file)).toThrow("not closed");
  });
  test("refuses a matrix of more than 256 jobs before it is made", () => {
    const list = `[${Array.from({ length: 100 }, (_, index) => index).join(",")}]`;
    const file = `on: push\njobs: { a: { runs-on: x, steps: [{ run: x }], strategy: { matrix: { a: ${list}, b: ${list}, c: ${list} } } } }`;
    expect(() => expand(file)).toThrow("at most 256 jobs");
  });
  test("refuses more than 256 jobs in a file", () => {
    const jobs = Array.from(
      { length: 257 },
      (_, index) => `  j${index}: { runs-on: x, steps: [{ run: x }] }`,
    );
    expect(() => parseWorkflow(`on: push\njobs:\n${jobs.join("\n")}`)).toThrow("at most 256 jobs");
  });
});

describe("triggers", () => {
  const filtersOf = (text: string) =>
    parseWorkflow(`on: ${text}\njobs: { a: { runs-on: x, steps: [{ run: x }] } }`).triggers[
      "push"
    ] ?? {};
  test.each([
    ["push", "refs/heads/main", ["a"], true],
    ["push", "refs/tags/v1", ["a"], true],
    ["[push, pull_request]", "refs/heads/main", ["a"], true],
    ["{ push: { branches: [main] } }", "refs/heads/main", ["a"], true],
    ["{ push: { branches: main } }", "refs/heads/dev", ["a"], false],
    ["{ push: { branches: [main] } }", "refs/tags/main", ["a"], false],
    ["{ push: { tags: ['v*'] } }", "refs/tags/v1", ["a"], true],
    ["{ push: { tags: ['v*'] } }", "refs/heads/v1", ["a"], false],
    ["{ push: { branches: [main], tags: ['v*'] } }", "refs/tags/v1", ["a"], true],
    ["{ push: { branches-ignore: ['dev/**'] } }", "refs/heads/dev/a/b", ["a"], false],
    ["{ push: { branches-ignore: ['dev/**'] } }", "refs/heads/main", ["a"], true],
    ["{ push: { paths: ['**.js'] } }", "refs/heads/main", ["src/a.js", "b.md"], true],
    ["{ push: { paths: ['**.js'] } }", "refs/heads/main", ["b.md"], false],
    ["{ push: { paths: ['**.js', '!lib/**'] } }", "refs/heads/main", ["lib/a.js"], false],
    ["{ push: { paths: ['**.js'] } }", "refs/tags/v1", ["b.md"], true],
    ["{ push: { paths: ['**.js'] } }", "refs/heads/main", undefined, true],
    ["{ push: { paths-ignore: ['docs/**'] } }", "refs/heads/main", ["docs/a"], false],
    ["{ push: { paths-ignore: ['docs/**'] } }", "refs/heads/main", ["docs/a", "b"], true],
    ["push", "refs/notes/x", [], false],
  ])("the event %s on %s with %j starts: %j %j", (text, ref, paths, starts) => {
    expect(matchesPush(filtersOf(text), { ref, paths })).toBe(starts);
  });
});

function catchError(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}
