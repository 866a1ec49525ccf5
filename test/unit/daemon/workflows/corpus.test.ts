import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { evaluateRequest } from "../../../../daemon/workflows/evaluation.ts";
import { expandJob, toExpandable } from "../../../../daemon/workflows/expand-job.ts";
import { createWork } from "../../../../daemon/workflows/expressions/work.ts";
import { toPayload } from "../../../../daemon/workflows/payload.ts";
import { matchesPush } from "../../../../daemon/workflows/triggers.ts";
import { parseWorkflow } from "../../../../daemon/workflows/workflow.ts";
import {
  type EndedJob,
  toConditionState,
  toNeedResult,
} from "../../../../daemon/forge/actions/runs/run-contexts.ts";
import { toJobId } from "../../../../storage/tables/forge/ids.ts";
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
  const { github, inputs } = contexts;
  return workflow.jobs.flatMap((definition) =>
    expandJob(toExpandable(definition), { contexts }).map((job) => ({
      ...job,
      payload: toPayload({ workflow, definition, github, inputs }, job.payload, "push"),
    })),
  );
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
  for (const [at, definition] of workflow.jobs.entries()) {
    const { key } = definition;
    const needs = definition.needs.map((need) => ({
      key: need,
      result: toNeedResult(ended.filter((job) => job.key === need)),
      outputs: [JSON.stringify(outputs[need] ?? {})],
    }));
    const state = toConditionState(definition, workflow, ended);
    const job = toExpandable(definition);
    const { kind } = evaluateRequest(
      { kind: "job", job, contexts, needs, state, called: undefined },
      createWork(),
    );
    const status = kind === "expanded" ? (results[key] ?? "success") : "skipped";
    ended.push({ id: toJobId(at), key, status, continueOnError: false });
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
