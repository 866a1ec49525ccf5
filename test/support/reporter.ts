import { writeFileSync } from "node:fs";
import type { SerializedError } from "vitest";
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

/** A test that did not run, and why. */
export interface SkippedTest {
  /** From the root of the project. */
  readonly file: string;
  readonly name: string;
  readonly reason: string;
}

/** What one vitest run came to. Everything that went wrong is in `failures`, tests or not. */
export interface RunResults {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: readonly SkippedTest[];
}

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
      else failures.push(name);
    }
  }
  for (const error of unhandledErrors) failures.push(`outside of any test: ${error.message}`);
  return { passed, failures, skipped };
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
