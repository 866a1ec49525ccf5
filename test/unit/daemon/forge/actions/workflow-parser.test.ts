import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createWorkflowParser,
  type WorkflowParser,
} from "../../../../../daemon/forge/actions/runs/workflow-parser.ts";
import { WORKFLOW_BYTES_MAX } from "../../../../../daemon/forge/actions/workflows/yaml-source.ts";
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

test("parses a file in a thread", async () => {
  expect(await parse("ci.yml", valid)).toMatchObject({ name: "CI", jobs: [{ key: "a" }] });
});

test("names file and line of an invalid file, also when the same text has another name", async () => {
  const invalid = "on: push\njobs:\n  a: { steps: [{ run: x }] }\n";
  expect(await parse("one.yml", invalid)).toBe("one.yml:3: jobs.a.runs-on is missing");
  expect(await parse("two.yml", invalid)).toBe("two.yml:3: jobs.a.runs-on is missing");
});

test("refuses times that a schedule cannot have, and files that are too large", async () => {
  const scheduled = valid.replace("on: push", 'on: { schedule: [{ cron: "61 * * * *" }] }');
  expect(await parse("ci.yml", scheduled)).toBe(
    'ci.yml:1: on.schedule has the invalid time "61 * * * *"',
  );
  expect(await parse("ci.yml", undefined)).toBe(
    `ci.yml:1: a workflow has at most ${WORKFLOW_BYTES_MAX} bytes`,
  );
});

test("a file that exceeds its processor time is invalid, and the next one is parsed", async () => {
  const strict = createWorkflowParser(1);
  try {
    const answer = await strict.parse({ file: "ci.yml", text: heavy, ownerId: toUserId(1) });
    expect(answer).toBe("ci.yml:1: the file takes too long to parse");
  } finally {
    await strict.close();
  }
  expect(await parse("ci.yml", heavy)).toMatchObject({ name: "CI" });
});

test("refuses to parse while too many files of one owner wait, and after the end", async () => {
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
