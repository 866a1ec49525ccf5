import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { SerializedError } from "vitest";
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

/** A test that did not run, and why. */
export interface SkippedTest {
  /** From the root of the project. */
  readonly file: string;
  readonly name: string;
  readonly reason: string;
}

/** The time that the workers spent on the files of a layer. */
export interface LayerTime {
  readonly layer: string;
  readonly files: number;
  readonly seconds: number;
}

/** The time that a worker spent on a file. */
export interface FileTime {
  readonly file: string;
  readonly seconds: number;
}

/** The result of one vitest run. `failures` has every failure with its reason, also those outside tests. */
export interface RunResults {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: readonly SkippedTest[];
  /** The layer that took longest comes first. */
  readonly layers: readonly LayerTime[];
  /** The files that took longest. */
  readonly slowest: readonly FileTime[];
}

const SLOWEST = 10;

const REASON_LINES = 20;
const REASON_WIDTH = 400;

/**
 * A vitest reporter that writes `RunResults` as JSON to `resultsFile` at the end of the run and prints nothing.
 * Besides failed tests it counts as a failure: a file that does not load, a hook that throws, an error outside of any
 * test, and a skipped test that gives no reason (tests left out by `-t` are not counted at all).
 */
export function createResultsReporter(resultsFile: string): Reporter {
  let namePattern: RegExp | undefined;
  return {
    onInit(vitest: Vitest) {
      namePattern = vitest.config.testNamePattern;
    },
    onTestRunEnd(modules, unhandledErrors) {
      const results = toRunResults(modules, unhandledErrors, namePattern !== undefined);
      writeFileSync(resultsFile, JSON.stringify(results));
    },
  };
}

function toRunResults(
  modules: readonly TestModule[],
  unhandledErrors: readonly SerializedError[],
  filtered: boolean,
): RunResults {
  let passed = 0;
  const failures: string[] = [];
  const skipped: SkippedTest[] = [];
  for (const module of modules) {
    failures.push(...setupFailures(module));
    for (const test of module.children.allTests()) {
      const name = `${module.relativeModuleId} > ${test.fullName}`;
      const result = test.result();
      const reason = result.state === "skipped" ? (result.note ?? skipReason(test)) : undefined;
      if (result.state === "passed") passed += 1;
      else if (reason !== undefined)
        skipped.push({ file: module.relativeModuleId, name: test.fullName, reason });
      else if (result.state === "skipped" && filtered) continue;
      else if (result.state === "skipped") failures.push(`${name}: skipped without a reason`);
      else failures.push(withReason(name, result.errors?.[0]));
    }
  }
  for (const error of unhandledErrors) failures.push(`outside of any test: ${error.message}`);
  return { passed, failures, skipped, layers: sumLayers(modules), slowest: findSlowest(modules) };
}

function findSlowest(modules: readonly TestModule[]): FileTime[] {
  return modules
    .map((module) => ({ file: module.relativeModuleId, seconds: sumSeconds([module]) }))
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST);
}

function sumLayers(modules: readonly TestModule[]): LayerTime[] {
  return [...Map.groupBy(modules, ({ project }) => project.name)]
    .map(([layer, files]) => ({ layer, files: files.length, seconds: sumSeconds(files) }))
    .toSorted((a, b) => b.seconds - a.seconds);
}

function sumSeconds(modules: readonly TestModule[]): number {
  const milliseconds = modules.map((module) => {
    const { duration, collectDuration, prepareDuration } = module.diagnostic();
    return duration + collectDuration + prepareDuration;
  });
  return milliseconds.reduce((sum, each) => sum + each, 0) / 1_000;
}

/** The closing lines are often all that is kept of a run: they say why, and where. */
function withReason(name: string, error: SerializedError | undefined): string {
  if (error === undefined) return name;
  const { file, line } = error.stacks?.find((frame) => frame.file.includes("/test/")) ?? {};
  const where = file === undefined ? "" : ` (${basename(file)}:${line})`;
  const reason = stripVTControlCharacters(
    `${error.message}\n${typeof error["diff"] === "string" ? error["diff"] : ""}`,
  );
  const lines = reason.split("\n").filter((line) => line.trim() !== "");
  const shown = lines.slice(0, REASON_LINES).map((line) => `      ${line.slice(0, REASON_WIDTH)}`);
  return [`${name}${where}`, ...shown].join("\n");
}

function setupFailures(module: TestModule): string[] {
  const suites: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
  return suites
    .filter((suite) => suite.errors().length > 0)
    .map((suite) => {
      const name = suite.type === "suite" ? ` > ${suite.fullName}` : "";
      return `${module.relativeModuleId}${name}: ${suite.errors()[0]?.message ?? "failed"}`;
    });
}

function skipReason(test: TestCase): string | undefined {
  let task: TestCase | TestSuite = test;
  while (task.meta().skipReason === undefined) {
    if (task.parent.type === "module") return undefined;
    task = task.parent;
  }
  return task.meta().skipReason;
}
