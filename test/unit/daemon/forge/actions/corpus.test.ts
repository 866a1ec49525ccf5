import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { expandJob } from "../../../../../daemon/forge/actions/workflows/expand-job.ts";
import { evaluateCondition } from "../../../../../daemon/forge/actions/workflows/expressions/evaluate.ts";
import { matchesPush } from "../../../../../daemon/forge/actions/workflows/triggers.ts";
import { parseWorkflow } from "../../../../../daemon/forge/actions/workflows/workflow.ts";
import {
  type EndedJob,
  toConditionState,
  toNeeds,
  toNeedsContext,
} from "../../../../../daemon/forge/actions/runs/run-contexts.ts";
import { matrixCorpus } from "./matrix-corpus.ts";
import { runCorpus, type RunCase } from "./run-corpus.ts";
import { settingCorpus } from "./setting-corpus.ts";
import { triggerCorpus } from "./trigger-corpus.ts";
import { valueCorpus } from "./value-corpus.ts";

const event = {
  head_commit: { message: "Deploy the docks" },
  commits: [{ id: "c1" }, { id: "c2" }],
  tree: { first: { name: "oak", size: [1] }, second: { name: "ash", size: [2] } },
  deep: { x: { list: [{ v: 1 }, { v: 2 }] }, y: { list: [{ v: 3 }] } },
};
const contexts = {
  github: { ref: "refs/heads/main", ref_name: "main", event_name: "push", actor: "mira", event },
  vars: { RUNNER: "fast", DEPLOY: "yes" },
  needs: {},
  inputs: { level: 3, verbose: false },
};

const STEPS = "steps: [{ run: 'true' }]";

function expand(file: string) {
  const workflow = parseWorkflow(file);
  return workflow.jobs.flatMap((job) => expandJob(workflow, job, { contexts }, { name: "push" }));
}

test.each(matrixCorpus)("a matrix makes $title", ({ file, jobs }) => {
  const found = expand(`on: push\n${file}`).map(({ name, labels }) => [name, labels.join(",")]);
  expect(found).toEqual(jobs);
});

test.each(valueCorpus)("the expression %s is %s", (expression, name) => {
  const text = JSON.stringify(`\${{ ${expression} }}`);
  // The key is the name of a job whose own name is empty.
  const [job] = expand(`on: push\njobs: { empty: { runs-on: x, name: ${text}, ${STEPS} } }`);
  expect(job?.name).toBe(name);
});

test.each(settingCorpus)("a runner gets $title", ({ top = "", job, is, file }) => {
  const lines = [
    ...(/^runs-on:/m.test(job) ? [] : ["runs-on: x"]),
    ...(/^steps:/m.test(job) ? [] : [STEPS]),
    ...job.trimEnd().split("\n"),
  ].map((line) => `    ${line}`);
  const [first] = expand(`on: push\n${top}jobs:\n  a:\n${lines.join("\n")}\n`);
  const payload = parse(first?.payload ?? "") as { jobs: { a: object } };
  expect({ ...first, payload: payload.jobs.a }).toMatchObject(is);
  expect(payload).toMatchObject({ on: "push", ...file });
});

describe("a run ends according to its conditions", () => {
  test.each(runCorpus)("ends a run according to its conditions: $title", (runCase) =>
    expect(endsOf(runCase)).toEqual(runCase.ends),
  );
});

/** Decides the jobs of a file one after the other, as the engine does when their needs have ended. */
function endsOf({ jobs, results = {}, outputs = {} }: RunCase): Record<string, string> {
  const lines = jobs.split("\n").map((line) => {
    const [, key = "", condition, needs] = /^(\w+)(?:: (.*?))?(?: <- (.*))?$/.exec(line) ?? [];
    const parts = [
      "runs-on: x",
      STEPS,
      ...(condition === undefined ? [] : [`if: ${toScalar(condition)}`]),
      ...(needs === undefined ? [] : [`needs: [${needs}]`]),
    ];
    return `  ${key}:\n${parts.map((part) => `    ${part}`).join("\n")}`;
  });
  const workflow = parseWorkflow(`on: push\njobs:\n${lines.join("\n")}\n`);
  const ended: EndedJob[] = [];
  for (const definition of workflow.jobs) {
    const { key, condition } = definition;
    const needs = toNeedsContext(toNeeds(definition, ended));
    const state = toConditionState(definition, workflow, ended);
    const runs = evaluateCondition(condition, { contexts: { ...contexts, needs }, state });
    const status = runs ? (results[key] ?? "success") : "skipped";
    ended.push({ key, status, continueOnError: false, outputs: outputs[key] ?? {} });
  }
  return Object.fromEntries(ended.map(({ key, status }) => [key, status]));
}

/** Quotes a text that YAML would not read as a string. */
function toScalar(condition: string): string {
  return /^["']|^(?:true|false|null|\d+)$/.test(condition) ? condition : JSON.stringify(condition);
}

test.each(triggerCorpus)("the workflow %s on %s with %j starts: %j", (on, ref, paths, starts) => {
  const { triggers } = parseWorkflow(`on: ${on}\njobs: { a: { runs-on: x, ${STEPS} } }`);
  expect(matchesPush(triggers["push"] ?? {}, { ref, paths })).toBe(starts);
});

test("the corpus has at least eighty files", () => {
  const all = [matrixCorpus, valueCorpus, settingCorpus, runCorpus, triggerCorpus];
  expect(all.reduce((sum, each) => sum + each.length, 0)).toBeGreaterThanOrEqual(80);
});
