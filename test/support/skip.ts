// test/support: the helpers of the tests. Test doubles, the in-process daemon, fixtures, and how a test is skipped or
// reported.
// Start here for skips, reporter.ts for the output of a run, then the doubles one by one.
import { describe, test } from "vitest";
import type { TestContext } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** Why a test is skipped; the run prints it. */
    skipReason?: string;
  }
}

type Body = (context: TestContext) => unknown;

/** A `test` that also offers `describe`, both bound to one condition. */
export interface ConditionalTests {
  (name: string, body: Body, timeoutMs?: number): void;
  readonly test: (name: string, body: Body, timeoutMs?: number) => void;
  readonly describe: (name: string, body: () => void) => void;
}

/**
 * `skipUnless(hasNginx, "nginx is not installed")("serves a range", body)` runs the test when the condition holds,
 * otherwise counts it as skipped and makes the run name it with the reason. A bare `test.skip` fails the run.
 */
export function skipUnless(condition: unknown, reason: string): ConditionalTests {
  const options = condition ? {} : { skip: true, meta: { skipReason: reason } };
  const conditionalTest = (name: string, body: Body, timeoutMs?: number): void => {
    test(name, timeoutMs === undefined ? options : { ...options, timeout: timeoutMs }, body);
  };
  const conditionalDescribe = (name: string, body: () => void): void => {
    describe(name, options, body);
  };
  return Object.assign(conditionalTest, { test: conditionalTest, describe: conditionalDescribe });
}

/** For tests about one daemon: files of objects, its own address, and bounds on what it holds open. */
export const withOneDaemon = skipUnless(
  process.env["CROFT_TEST_DAEMONS"] === undefined,
  "the test is about one daemon, and CROFT_TEST_DAEMONS starts two",
);

/** Whether the database of a home is a file in it. */
export const hasDatabaseFile = process.env["CROFT_TEST_ENGINE"] !== "postgres";

/** For tests that open the file of the database. */
export const withDatabaseFile = skipUnless(
  hasDatabaseFile,
  "the database is on a PostgreSQL server, and the test opens its file",
);
