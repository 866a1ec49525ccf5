import { expect, test } from "vitest";
import { createEvaluation } from "../../../cli/runner/job/evaluation.ts";

const evaluation = createEvaluation({
  workspace: "/nowhere",
  stepPath: "/nowhere",
  sleep: () => new Promise(() => undefined),
  stopped: new AbortController().signal,
});

test("variables that an expression makes are data: expressions in them are not evaluated", async () => {
  const contexts = { github: { token: "of-the-job", event: { A: "${{ github.token }}", N: 1 } } };
  expect(await evaluation.texts("${{ github.event }}", contexts)).toEqual({
    A: "${{ github.token }}",
    N: "1",
  });
  expect(await evaluation.texts({ B: "${{ github.token }}" }, contexts)).toEqual({
    B: "of-the-job",
  });
  expect(await evaluation.texts("${{ github.missing }}", contexts)).toEqual({});
  await expect(evaluation.texts("${{ github.token }}", contexts)).rejects.toThrow("not a mapping");
});

test("a time limit of 0 is none, and one that is no number is refused", async () => {
  const minutes = (value: string | number) => evaluation.minutes(value, {});
  expect(await Promise.all([0, "0", "", 2, "0.5"].map(minutes))).toEqual([
    undefined,
    undefined,
    undefined,
    120_000,
    30_000,
  ]);
  for (const value of [-1, "soon"])
    await expect(minutes(value)).rejects.toThrow("timeout-minutes must be a number from 0 on");
});
