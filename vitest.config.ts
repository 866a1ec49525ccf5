import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { createResultsReporter } from "./test/support/reporter.ts";

const resultsFile = process.env["CROFT_TEST_RESULTS"];
const oneMinuteMs = 60_000;
/** The limit of most tests. It ends what hangs; a machine that others use too may be ten times slower. */
const usualLimitMs = 2 * oneMinuteMs;

/**
 * Threads and processes that a test starts load the sources themselves. Node keeps them compiled here, so that only the first
 * thread of each kind translates them from TypeScript: the others start in a third of its time.
 */
const compiled = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules", ".cache", "compiled"),
};

/** For layers whose daemons render pages: the functions of React for development take three times as long. */
const production = { ...compiled, NODE_ENV: "production" };

/**
 * Files of a process of their own: some replace a module, which in a shared process other files have loaded already, one counts
 * the blocks of code that run, which V8 does exactly only for functions compiled after the counting began, one counts open files
 * and runs the garbage collector.
 */
const isolated = [
  "test/unit/storage/objects/file-objects.test.ts",
  "test/unit/daemon/rendering/growth.test.ts",
  "test/unit/storage/faults.test.ts",
  "test/api/resets.test.ts",
  "test/api/busy-database.test.ts",
  "test/api/faults-everywhere.test.ts",
];

/** Files that read the SQLite file of a home, which a run on PostgreSQL does not have. */
const ofDatabaseFile =
  process.env["CROFT_TEST_ENGINE"] === "postgres"
    ? [
        "test/api/authorization-narrow-callers.test.ts",
        "test/api/forge/repositories-crash.test.ts",
        "test/api/key-rotation.test.ts",
        "test/api/start-up.test.ts",
      ]
    : [];

/** The layers of the suite; each is its own project so that `vitest --project unit` runs one of them. */
export default defineConfig({
  // As in the built daemon, whose pages are rendered by React's functions for production.
  oxc: { jsx: { runtime: "automatic", development: false } },
  test: {
    exclude: ["node_modules/**", "dist/**"],
    // Processes, not threads: native addons (better-sqlite3, argon2) and signals belong to a process.
    pool: "forks",
    // One more than there are processors: a test waits for other processes, clocks and disks about a third of its time.
    maxWorkers: availableParallelism() + 1,
    slowTestThreshold: 1_000,
    globalSetup: "test/support/storage/postgres-server.ts",
    expect: { poll: { timeout: oneMinuteMs } },
    // The default reporter talks to the developer; the other one tells `npm test` what to count.
    reporters:
      resultsFile === undefined ? ["default"] : ["default", createResultsReporter(resultsFile)],
    projects: [
      // In processes of their own: the syntax trees of all sources take 800 MiB, which each collection of garbage visits.
      layer("architecture", ["test/architecture/**/*.test.ts"], usualLimitMs, { isolate: false }),
      layer("unit", ["test/unit/**/*.test.{ts,tsx}"], usualLimitMs, {
        isolate: false,
        exclude: isolated,
        env: compiled,
      }),
      layer("isolated", isolated, usualLimitMs),
      layer("api", ["test/api/**/*.test.ts", "test/conformance/**/*.test.ts"], usualLimitMs, {
        isolate: false,
        exclude: [...isolated, ...ofDatabaseFile],
        env: production,
      }),
      layer("property", ["test/property/**/*.test.ts"], 3 * oneMinuteMs, {
        isolate: false,
        env: compiled,
      }),
      layer("browser", ["test/browser/**/*.test.ts"], usualLimitMs, {
        isolate: false,
        env: production,
      }),
      layer("cli", ["test/cli/**/*.test.{ts,tsx}"], usualLimitMs, { isolate: false }),
      layer("e2e", ["test/e2e/**/*.test.ts"], 5 * oneMinuteMs),
      // Not part of `npm test`: it needs dist/croft, which takes longer to build than most of the suite to run.
      layer("executable", ["test/e2e/**/*.smoke.ts"], 5 * oneMinuteMs),
    ],
  },
});

interface LayerOptions {
  /**
   * False lets files share a process, because tests open what they use themselves and restore the clock. Loading the
   * modules again for each file takes two fifths of the processor time of the API's tests.
   */
  readonly isolate?: boolean;
  readonly exclude?: string[];
  readonly env?: Record<string, string>;
}

/** Time limits catch what hangs; they say nothing about speed, which `npm run bench` measures. */
function layer(
  name: string,
  include: string[],
  timeoutMs: number,
  { isolate = true, exclude = [], env = {} }: LayerOptions = {},
) {
  const hookTimeout = Math.max(timeoutMs, usualLimitMs);
  return {
    extends: true as const,
    test: { name, include, testTimeout: timeoutMs, hookTimeout, isolate, exclude, env },
  };
}
