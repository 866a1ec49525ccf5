import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunResults } from "../support/reporter.ts";

const root = join(import.meta.dirname, "..", "..");
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-reporter-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await writeFile(
    join(folder, "vitest.config.ts"),
    `import { createResultsReporter } from ${JSON.stringify(join(root, "test/support/reporter.ts"))};
     export default { test: { reporters: [createResultsReporter("results.json")] } };`,
  );
});

afterEach(() => rm(folder, { recursive: true }));

test("passed tests are counted, failed ones named with their reason", async () => {
  const results = await runSuite(`
    test("holds", () => {});
    describe("group", () => { test("breaks", () => { throw new Error("no"); }); });
  `);
  expect(results).toMatchObject({
    passed: 1,
    failures: ["suite.test.ts > group > breaks\n      no"],
    skipped: [],
  });
});

test("each layer is reported with its number of files and its time", async () => {
  const { layers } = await runSuite('test("holds", () => {});');
  expect(layers).toEqual([{ layer: "", files: 1, seconds: expect.any(Number) }]);
});

test("a skipped test keeps its reason, its own or that of its group", async () => {
  const { skipped, failures } = await runSuite(`
    skipUnless(false, "no server")("alone", () => {});
    skipUnless(false, "no browser").describe("group", () => { test("inside", () => {}); });
    test("by itself", (context) => context.skip("too cold"));
  `);
  expect(skipped).toEqual([
    { file: "suite.test.ts", name: "alone", reason: "no server" },
    { file: "suite.test.ts", name: "group > inside", reason: "no browser" },
    { file: "suite.test.ts", name: "by itself", reason: "too cold" },
  ]);
  expect(failures).toEqual([]);
});

test("a condition that holds skips nothing", async () => {
  const { passed, skipped } = await runSuite(`
    skipUnless(true, "unused")("alone", () => {});
    skipUnless(true, "unused").describe("group", () => { test("inside", () => {}); });
  `);
  expect({ passed, skipped }).toEqual({ passed: 2, skipped: [] });
});

test("skipping without a reason is a failure", async () => {
  const { failures } = await runSuite('const skip = test.skip; skip("quietly", () => {});');
  expect(failures).toEqual(["suite.test.ts > quietly: skipped without a reason"]);
});

test("tests that a name pattern leaves out are not counted", async () => {
  const results = await runSuite('test("one", () => {}); test("two", () => {});', "-t", "one");
  expect(results).toMatchObject({ passed: 1, failures: [], skipped: [] });
});

test.each([
  ["a file that does not load", 'throw new Error("broken file"); ', "suite.test.ts: broken file"],
  [
    "a hook that throws",
    'describe("group", () => { beforeAll(() => { throw new Error("broken hook"); }); test("inside", () => {}); });',
    "suite.test.ts > group: broken hook",
  ],
  [
    "an error outside of any test",
    'test("holds", () => { setTimeout(() => { throw new Error("stray error"); }); return new Promise((r) => setTimeout(r, 50)); });',
    "outside of any test: stray error",
  ],
])("%s is a failure", async (_, suite, failure) => {
  expect((await runSuite(suite)).failures).toContain(failure);
});

async function runSuite(body: string, ...args: readonly string[]): Promise<RunResults> {
  const skip = JSON.stringify(join(root, "test/support/skip.ts"));
  await writeFile(
    join(folder, "suite.test.ts"),
    `import { beforeAll, describe, test } from "vitest";\nimport { skipUnless } from ${skip};\n${body}`,
  );
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  await new Promise<void>((resolve) => {
    execFile(process.execPath, [vitest, "run", "--root", folder, ...args], { cwd: folder }, () =>
      resolve(),
    );
  });
  return JSON.parse(await readFile(join(folder, "results.json"), "utf8")) as RunResults;
}
