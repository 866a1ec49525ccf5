// test: the suite, laid out like the source. unit/, api/, conformance/, cli/ and e2e/ are its layers, architecture/ its rules.
// A test may import anything of the project; nothing imports a test.
// Start here: this is `npm test`. `npm test -- test/unit/storage` runs a part, without the checks of format, types and lint;
// `npm run test:executable` builds the single executable and runs the main job on it.
import { spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { allEndpoints } from "../daemon/contract/all.ts";
import type { Endpoint } from "../daemon/contract/endpoint.ts";
import { findGaps, readAnswers, UNSEEN_MAX } from "./support/answers.ts";
import type { RunResults } from "./support/reporter.ts";
import { findMemoryDisk } from "./support/small-disk.ts";

interface Check {
  readonly name: string;
  readonly command: readonly string[];
  /** The command to run when the check fails. */
  readonly remedy?: string;
}

/** They run beside the tests, which leave a processor idle now and then. */
const checksOfTheText: readonly Check[] = [
  { name: "format", command: ["oxfmt", "--check"], remedy: "npm run format" },
  // Both need the types of all sources, so that one program reads them once. The errors of types are those of `tsc --noEmit`.
  {
    name: "types and lint",
    command: ["oxlint", "--type-check", "--deny-warnings"],
    remedy: "npm run lint -- --fix",
  },
];

/** The tests need a build of the sources as they are. */
const buildCheck: Check = {
  name: "build",
  command: ["node", "bin/build.ts", "--if-stale", "--no-executable"],
};

const executableCheck: Check = {
  name: "executable",
  command: ["node", "bin/build.ts", "--if-stale"],
};

/** How many skipped tests of one file are named one by one. */
const namedMax = 5;

const root = join(import.meta.dirname, "..");
const environment = testEnvironment(process.env);

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const onExecutable = args.includes("--executable");
  const filters = args.filter((arg) => arg !== "--executable");
  const isWhole = !onExecutable && filters.length === 0;
  const built = await runCheck(onExecutable ? executableCheck : buildCheck);
  const [checked, tests] = await Promise.all([
    runChecks(isWhole ? checksOfTheText : []),
    runTests(["--project", onExecutable ? "executable" : "!executable", ...filters], isWhole),
  ]);
  const checks = [built, ...checked];
  printSkipped(tests);
  printLayers(tests);
  if (isWhole) console.log(`\n${checks.map(({ text }) => text).join("\n")}`);
  const failures = [
    ...checks.filter((check) => !check.isPassed).map(({ name }) => name),
    ...tests.failures,
  ];
  if (failures.length > 0)
    console.log(`\nFailed:\n${failures.map((name) => `  ${name}`).join("\n")}`);
  const passed = tests.passed + checks.filter((check) => check.isPassed).length;
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  // .ci/run reads the last line.
  console.log(`\nTook ${minutes} min.`);
  console.log(`${passed} passed, ${failures.length} failed, ${tests.skipped.length} skipped`);
  return failures.length === 0 ? 0 : 1;
}

interface CheckResult {
  readonly name: string;
  readonly isPassed: boolean;
  /** A line with the result, with the output of a failed check below it. */
  readonly text: string;
}

async function runChecks(checks: readonly Check[]): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of checks) results.push(await runCheck(check));
  return results;
}

/** Prints the result at once: a wrong format is known before the tests end. */
async function runCheck({ name, command, remedy }: Check): Promise<CheckResult> {
  const startedAt = performance.now();
  const { code, output } = await run(command, "collect");
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const lines = [`${code === 0 ? "✓" : "✗"} ${name} (${seconds} s)`];
  if (code !== 0) lines.push(output.trimEnd());
  if (code !== 0 && remedy !== undefined) lines.push(`  \`${remedy}\` may help.`);
  const text = lines.join("\n");
  console.log(text);
  return { name, isPassed: code === 0, text };
}

/**
 * A run that ends without results (a crash, a missing file) is one failure. A run of all tests also fails for operations
 * that none of them has seen succeed.
 */
async function runTests(args: readonly string[], isWhole: boolean): Promise<RunResults> {
  const folder = await mkdtemp(join((await findMemoryDisk()) ?? tmpdir(), "croft-test-"));
  try {
    const resultsFile = join(folder, "results.json");
    environment["CROFT_TEST_RESULTS"] = resultsFile;
    const answersFile = join(folder, "answers");
    environment["CROFT_TEST_ANSWERS"] = answersFile;
    environment["TMPDIR"] = folder;
    // Servers of the tests run as users of their own.
    await chmod(folder, 0o755);
    const { code } = await run(["vitest", "run", ...args], "show");
    const text = await readFile(resultsFile, "utf8").catch(() => undefined);
    if (text === undefined) {
      const failures = [`vitest ended early, with exit code ${code}`];
      return { passed: 0, failures, skipped: [], layers: [], slowest: [] };
    }
    const results: RunResults = JSON.parse(text);
    const unexplained = code !== 0 && results.failures.length === 0;
    const failures = unexplained ? [`vitest: exit code ${code}`] : results.failures;
    const gaps = isWhole && code === 0 ? await checkAnswers(answersFile) : [];
    return { ...results, failures: [...failures, ...gaps] };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Compares the answers of all tests with the contract. Returns the failures. */
async function checkAnswers(file: string): Promise<readonly string[]> {
  const gaps = findGaps(allEndpoints as readonly Endpoint[], await readAnswers(file));
  const { unseen } = gaps;
  const byStatus = Map.groupBy(unseen, (answer) => answer.split(" ")[1]);
  const counts = [...byStatus].toSorted().map(([status, all]) => `${status}: ${all.length}`);
  console.log(
    `\n${gaps.declared - unseen.length} of ${gaps.declared} declared answers of operations were seen. ` +
      `${unseen.length} were not, at most ${UNSEEN_MAX} may be (${counts.join(", ")}).`,
  );
  return [
    ...(unseen.length > UNSEEN_MAX
      ? [
          `${unseen.length} declared answers were not seen, ${UNSEEN_MAX} may be: ${unseen.join(", ")}`,
        ]
      : []),
    ...gaps.uncalled.map((name) => `no test calls ${name}`),
    ...gaps.unsuccessful.map((name) => `no test sees ${name} succeed`),
    ...gaps.undeclared.map((answer) => `the contract does not declare ${answer}`),
  ];
}

/** Reasons are printed once each, with the tests that they hold back; many of one file only as their number. */
function printSkipped({ skipped }: RunResults): void {
  if (skipped.length === 0) return;
  console.log("\nSkipped:");
  for (const [reason, tests] of Map.groupBy(skipped, (test) => test.reason)) {
    console.log(`  ${reason}`);
    for (const [file, names] of Map.groupBy(tests, (test) => test.file)) {
      if (names.length > namedMax) console.log(`    ${file}: ${names.length} tests`);
      else for (const { name } of names) console.log(`    ${file} > ${name}`);
    }
  }
}

/** The workers run side by side, so the sum of the layers is longer than the run. */
function printLayers({ layers, slowest }: RunResults): void {
  if (layers.length === 0) return;
  console.log("\nTime of the workers:");
  for (const { layer, files, seconds } of layers)
    console.log(`  ${layer.padEnd(10)} ${seconds.toFixed(0).padStart(5)} s  ${files} files`);
  console.log("\nThe slowest files:");
  for (const { file, seconds } of slowest)
    console.log(`  ${seconds.toFixed(0).padStart(5)} s  ${file}`);
}

async function run(
  [command = "", ...args]: readonly string[],
  output: "show" | "collect",
): Promise<{ code: number; output: string }> {
  const child = spawn(command, args, {
    cwd: root,
    env: environment,
    stdio: [
      "ignore",
      output === "show" ? "inherit" : "pipe",
      output === "show" ? "inherit" : "pipe",
    ],
  });
  const stop = (signal: NodeJS.Signals) => {
    child.kill(signal);
    process.exitCode = 1;
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  let text = "";
  const collect = (chunk: Buffer) => (text += chunk.toString());
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode) => resolve(exitCode ?? 1));
  });
  process.off("SIGINT", stop).off("SIGTERM", stop);
  return { code, output: text };
}

/** The tools of the project come first, and no setting of the developer's own croft reaches a test. */
function testEnvironment(parent: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const entries = Object.entries(parent).filter(
    ([name]) => !name.startsWith("CROFT_") || name.startsWith("CROFT_TEST_"),
  );
  const path = [join(root, "node_modules", ".bin"), parent["PATH"] ?? ""].join(delimiter);
  return { ...Object.fromEntries(entries), PATH: path };
}
