import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  createCommandFiles,
  parseValues,
  readCommandFiles,
} from "../../../cli/runner/job/command-files.ts";
import { temporaryHome } from "../support/run-cli.ts";

test("reads single lines, heredocs and values with signs of their own", () => {
  const text = "one=1\ntwo<<END\nfirst\nsecond=2\nEND\nthree=a=b<<c\nempty=\n";
  expect(parseValues(text, "F")).toEqual({
    one: "1",
    two: "first\nsecond=2",
    three: "a=b<<c",
    empty: "",
  });
});

test.each([
  ["a line without a sign", "nothing", 'F: invalid line "nothing"'],
  ["a heredoc that is not closed", "a<<END\nx\n", 'F: the value of a is not closed by "END"'],
  ["a value without a name", "=x", 'F: invalid line "=x"'],
])("refuses %s", (_, text, message) => {
  expect(() => parseValues(text, "F")).toThrow(message);
});

test("reads the values of a step, and refuses variables that change every later step", async () => {
  await using home = await temporaryHome();
  const files = await createCommandFiles(home.path, "step-1");
  await writeFile(files.output, "a=1\n");
  await writeFile(files.path, "/first\n/second\n");
  await writeFile(files.state, "s=2\n");
  expect(await readCommandFiles(files)).toEqual({
    outputs: { a: "1" },
    env: {},
    path: ["/first", "/second"],
    state: { s: "2" },
  });
  await writeFile(files.env, "NODE_OPTIONS=--require=x\n");
  await expect(readCommandFiles(files)).rejects.toThrow("GITHUB_ENV may not set NODE_OPTIONS");
});
