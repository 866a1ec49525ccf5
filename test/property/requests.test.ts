import { expect } from "vitest";
import { createFuzzHome } from "../support/fuzz/fuzz-home.ts";
import { fuzz } from "../support/fuzz/fuzz.ts";
import { cases } from "../support/property.ts";
import { withDatabaseFile } from "../support/skip.ts";

// Requests made from the contract for every operation: `npm run fuzz` sends ten times as many, with another seed.

/** Larger runs are not repeated as a whole: what they find names the request. */
const REPEATABLE_MAX = 20_000;

withDatabaseFile(
  "every operation answers valid and hostile requests as the contract says",
  async () => {
    const { seed, numRuns } = cases(2_000);
    await using home = await createFuzzHome();
    const minutes = Number(process.env["CROFT_FUZZ_MINUTES"] ?? Infinity);
    let shown = 0;
    const { sent, findings } = await fuzz(home, {
      requests: numRuns,
      seed,
      isSpreadByTime: numRuns > REPEATABLE_MAX,
      until: Date.now() + minutes * 60_000,
      onHome: (count, wrong, { operation, cpuMs }) => {
        if (numRuns <= 2_000) return;
        process.stdout.write(
          `seed ${seed}: ${count} requests sent, ${wrong.length} findings, slowest ${operation}: ${cpuMs} ms\n`,
        );
        // A long run that is stopped has told them.
        for (const finding of wrong.slice(shown))
          process.stdout.write(`${JSON.stringify(finding)}\n`);
        shown = wrong.length;
      },
    });
    expect(sent).toBeGreaterThan(0);
    expect(
      findings.map(
        ({ operation, wrong, request, times }) => `${operation} ${wrong} (${times}): ${request}`,
      ),
    ).toEqual([]);
  },
);
