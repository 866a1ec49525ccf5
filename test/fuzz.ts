// `npm run fuzz`: the test of all operations by requests made from the contract, with many more requests than `npm test`
// sends. `npm run fuzz -- --requests 1000000 --minutes 20 --seed 7` sends as many as it can in that time.
// It prints each finding and the slowest request as it goes, so that a run may be stopped.
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "20000" },
    /** Another one each time, which the output names. */
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 30)) },
    /** No further requests are sent after this time. */
    minutes: { type: "string", default: "60" },
  },
});

process.stdout.write(`seed ${values.seed}\n`);
const timeoutMs = (Number(values.minutes) + 5) * 60_000;
const { status } = spawnSync(
  "vitest",
  ["run", "--project", "property", "--testTimeout", String(timeoutMs), "requests.test.ts"],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      CROFT_PROPERTY_RUNS: values.requests,
      CROFT_PROPERTY_SEED: values.seed,
      CROFT_FUZZ_MINUTES: values.minutes,
    },
  },
);
process.exitCode = status ?? 1;
