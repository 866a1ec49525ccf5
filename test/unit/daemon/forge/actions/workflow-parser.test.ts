import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createWorkflowParser,
  type WorkflowParser,
} from "../../../../../daemon/forge/actions/runs/workflow-parser.ts";
import { WORKFLOW_BYTES_MAX } from "../../../../../daemon/workflows/yaml-source.ts";
import { AppError } from "../../../../../daemon/errors.ts";
import { toUserId } from "../../../../../storage/tables/forge/ids.ts";

const valid = "name: CI\non: push\njobs: { a: { runs-on: x, steps: [{ run: x }] } }\n";
/** A valid file that needs tens of milliseconds: aliases are expanded, and each key is compared. */
const heavy = `${valid}env:\n${Array.from({ length: 9_000 }, (_, at) => `  k${at}: v\n`).join("")}`;

let parser: WorkflowParser;
beforeAll(() => {
  parser = createWorkflowParser();
});
afterAll(() => parser.close());

const parse = (file: string, text: string | undefined) =>
  parser.parse({ file, text, ownerId: toUserId(1) });

test("a workflow file is parsed in a thread", async () => {
  expect(await parse("ci.yml", valid)).toMatchObject({ name: "CI", jobs: [{ key: "a" }] });
});

test("the error of an invalid workflow names file and line, even when the same text was cached under another name", async () => {
  const invalid = "on: push\njobs:\n  a: { steps: [{ run: x }] }\n";
  expect(await parse("one.yml", invalid)).toBe("one.yml:3: jobs.a.runs-on is missing");
  expect(await parse("two.yml", invalid)).toBe("two.yml:3: jobs.a.runs-on is missing");
});

test("invalid times of a schedule and workflow files that are too large are refused", async () => {
  const scheduled = valid.replace("on: push", 'on: { schedule: [{ cron: "61 * * * *" }] }');
  expect(await parse("ci.yml", scheduled)).toBe(
    'ci.yml:1: on.schedule has the invalid time "61 * * * *"',
  );
  expect(await parse("ci.yml", undefined)).toBe(
    `ci.yml:1: a workflow has at most ${WORKFLOW_BYTES_MAX} bytes`,
  );
});

test("a workflow file that exceeds its processor time is invalid, and the next one is parsed", async () => {
  const strict = createWorkflowParser(1);
  try {
    const answer = await strict.parse({ file: "ci.yml", text: heavy, ownerId: toUserId(1) });
    expect(answer).toBe("ci.yml:1: the file takes too long to parse");
  } finally {
    await strict.close();
  }
  expect(await parse("ci.yml", heavy)).toMatchObject({ name: "CI" });
});

test("parsing is refused while too many files of one owner wait, and after the parser was closed", async () => {
  const busy = createWorkflowParser();
  const many = Array.from({ length: 200 }, (_, at) =>
    busy.parse({ file: "ci.yml", text: `${heavy}# ${at}`, ownerId: toUserId(1) }),
  );
  const refused = (await Promise.race([Promise.allSettled(many), closeSoon(busy)])).filter(
    (each) => each.status === "rejected",
  );
  expect(refused.length).toBeGreaterThan(100);
  expect(refused.every(({ reason }) => reason instanceof Error)).toBe(true);
  const late = busy.parse({ file: "ci.yml", text: valid, ownerId: toUserId(1) });
  await expect(late).rejects.toBeInstanceOf(AppError);

  /** Closes the parser, which ends waiting calls, and returns the outcome of each. */
  async function closeSoon(open: WorkflowParser) {
    await expect(many.at(-1)).rejects.toMatchObject({ code: "unavailable" });
    await open.close();
    return Promise.allSettled(many);
  }
});
